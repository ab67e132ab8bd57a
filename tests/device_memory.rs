//! A GPU's memory: what a solver says it holds there and, where a program plays the GPU, what the
//! operating system gave it. The only test of its process, so that nobody else allocates.

use cubie::cg::CgParams;
use cubie::device::{Device, Job};
use cubie::gpu::{self, Adapter, Kind, adapters};
use cubie::mg::System;
use cubie::model::level_sizes;
use cubie::params::Format;
use cubie::solver::{Orderings, Solver};
use cubie::{Backend, Error, Precision};
use cubie_host::{Geometry, Order, Ordered, Problem, Ranks};

/// Solves a little and tells what the device holds then.
struct Solve<'a> {
    problem: &'a Problem,
    level: &'a Ordered<'a>,
    /// What the process had before.
    before: Option<f64>,
}

/// Bytes.
#[derive(Clone, Copy)]
struct Held {
    /// On the device, as the backend says.
    said: f64,
    /// By which the process has grown; `None` where the operating system does not tell.
    grown: Option<f64>,
}

impl Job for Solve<'_> {
    type Output = Held;
    fn run<B: Backend, S: System<B>>(self, backend: B, system: S) -> Result<Held, Error> {
        let before = self.before;
        let b = &self.problem.b;
        let ranks = Ranks::serial();
        let mut solver = Solver::new(backend, &ranks, system, self.level, b, true)?;
        solver.solve(&CgParams {
            max_iter: 1,
            tolerance: 0.0,
            preconditioned: true,
        })?;
        solver.finish()?;
        Ok(Held {
            said: solver.allocated() as f64,
            grown: resident().zip(before).map(|(now, before)| now - before),
        })
    }
}

/// Bytes of this process that are in memory.
fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(1024.0 * kib)
}

/// What solving on a box of `n` points a side holds on the device.
fn solve(device: &gpu::Device, precision: Precision, format: Format, n: usize) -> Held {
    let device = Device::Gpu {
        device: device.clone(),
        format,
    };
    let problem = Problem::new(&Geometry::single([n; 3]).unwrap());
    let orderings = Orderings::new(&Order::COLOR8, &problem);
    let levels = orderings.view(&problem.levels);
    let job = Solve {
        problem: &problem,
        level: &levels[0],
        before: resident(),
    };
    device
        .run(precision, &levels, &Ranks::serial(), job)
        .unwrap()
}

#[test]
fn a_gpu_holds_little_more_than_matrices_and_vectors() {
    const N: usize = 64;
    let levels = level_sizes(&Geometry::single([N; 3]).unwrap());
    let nnz: f64 = levels.iter().map(|level| level.nnz as f64).sum();
    // b, x, r, z, p, Ap, and for each coarser level what the finer one leaves, rc and xc.
    let rows: Vec<f64> = levels.iter().map(|level| level.rows as f64).collect();
    let coarser: f64 = rows.windows(2).map(|pair| pair[0] + 2.0 * pair[1]).sum();
    let needed = 12.0 * nnz + 8.0 * (6.0 * rows[0] + coarser);

    let mut all = adapters();
    // A program with `f64` comes first: what it has freed once, it may keep.
    all.sort_by_key(|adapter| (adapter.kind != Kind::Software, !adapter.f64));
    let first = all
        .first()
        .expect("no GPU driver, so nothing was tested; tests/run.sh installs software ones");
    let device = first.open(None).unwrap();
    // A program that plays a GPU compiles at first, and keeps what it needs for that.
    solve(&device, double(first), Format::Split, 16);
    let small = solve(&device, double(first), Format::Split, 16);
    // Large, so that what the host converts piece by piece and its allocator keeps weighs little.
    let large = solve(&device, double(first), Format::Split, 112);
    if first.kind == Kind::Software
        && let (Some(before), Some(after)) = (small.grown, large.grown)
    {
        let ratio = (after - before) / (large.said - small.said);
        assert!(
            (0.95..1.2).contains(&ratio),
            "{}: {ratio:.3} of what it says",
            first.name
        );
    }

    for adapter in all {
        let device = adapter.open(None).unwrap();
        for format in [Format::Split, Format::Ell28] {
            let ratio = solve(&device, double(&adapter), format, N).said / needed;
            let name = &adapter.name;
            assert!((0.8..1.15).contains(&ratio), "{name} {format}: {ratio:.3}");
        }
    }
}

fn double(adapter: &Adapter) -> Precision {
    if adapter.f64 {
        Precision::F64
    } else {
        Precision::F32x2
    }
}
