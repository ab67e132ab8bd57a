//! Every step of the V-cycle and of CG on every level: `cargo bench --bench kernels -- 104`.
//!
//! One block for each device and format, headed by the bandwidth that was measured just before:
//! what threads read on a CPU, what a copy reads and writes on a GPU. Then a line for each step of
//! `Backend` with three figures for each level:
//!
//! - `us`: microseconds of one call, by the wall clock until the device is idle; the median of
//!   batches, so the cost of a launch is in it and that of waiting hardly is.
//! - `GB/s`: the bytes that the backend counts for the call (`Work` in `src/meter.rs`) over that time.
//! - `share`: the same as a share of the bandwidth. Above 100 % the data come from caches, as they
//!   do on levels that fit them; what is far below on the finest level is worth a look.
//!
//! Then whole iterations, in double precision and `mixed`: GFLOP/s as HPCG counts flops, and `optimise`,
//! the seconds from the ordered problem to matrices and vectors on the device.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(
    non_snake_case,
    reason = "A and Ap are the names that the algorithm has"
)]

mod common {
    pub(crate) mod iterations;
    pub(crate) mod median;
}

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use cubie::cli::DeviceFlags;
use cubie::device::{Device, Job};
use cubie::machine::Machine;
use cubie::mg::System;
use cubie::model::{Counts, level_sizes};
use cubie::params::{DeviceChoice, Devices, Format};
use cubie::solver::Orderings;
use cubie::validate::kernels::hash_vector;
use cubie::{Backend, Error, Op, Precision};
use cubie_host::{Geometry, HaloExchange, Order, Ordered, Problem, Ranks};

use common::iterations::Iterations;
use common::median::median;

/// Times each step of the V-cycle and of CG on each level. Without --device: the CPU, and the best
/// GPU if there is one.
#[derive(Parser)]
struct Flags {
    /// Points of each side of the box, a multiple of 8
    #[arg(default_value = "64")]
    n: usize,
    /// split or ell28 [default: both]
    #[arg(long)]
    format: Option<Format>,
    #[command(flatten)]
    device: DeviceFlags,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

/// Time that a batch of calls takes at least, so that waiting for its end does not count.
const BATCH: Duration = Duration::from_millis(5);
/// Calls of a batch at most: each may need a scalar on the device, and those are limited.
const MOST_CALLS: u32 = 4096;
/// Batches of each step, of which the median counts.
const BATCHES: usize = 9;

/// Iterations of a set.
const ITERATIONS: usize = 10;
/// Time that sets take at least.
const SETS: Duration = Duration::from_secs(1);

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let geometry = Geometry::single([flags.n; 3])?;
    let start = Instant::now();
    let problem = Problem::new(&geometry);
    let setup = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let orderings = Orderings::new(&Order::COLOR8, &problem);
    let ordering = start.elapsed().as_secs_f64();
    println!(
        "{}³: set-up {setup:.3} s, ordering {ordering:.3} s",
        flags.n
    );
    let levels = orderings.view(&problem.levels);
    let machine = Machine::here();
    for choice in devices(&flags.device.device)? {
        for format in formats(flags.format) {
            let mut params = flags.device.params(&machine, Vec::new());
            params.device = choice.clone();
            params.format = Some(format);
            let device = Device::open(&params, 0)?;
            if choice == DeviceChoice::Auto && matches!(device, Device::Cpu { .. }) {
                continue;
            }
            measure(&device, params.precision, &problem, &levels)?;
        }
    }
    Ok(())
}

/// The devices to measure: the CPU and the best GPU, unless the user names some.
fn devices(named: &Devices) -> anyhow::Result<Vec<DeviceChoice>> {
    match named {
        Devices::Each(list) if list[..] == [DeviceChoice::Auto] => {
            Ok(vec![DeviceChoice::Cpu, DeviceChoice::Auto])
        }
        Devices::Each(list) => Ok(list.clone()),
        Devices::Together(_) => bail!("name devices with commas: each is measured alone"),
    }
}

fn formats(asked: Option<Format>) -> Vec<Format> {
    asked.map_or_else(|| vec![Format::Split, Format::Ell28], |format| vec![format])
}

/// Measures the steps in one precision, and whole iterations also in `mixed` unless one is asked for.
fn measure(
    device: &Device,
    asked: Option<Precision>,
    problem: &Problem,
    levels: &[Ordered<'_>],
) -> anyhow::Result<()> {
    let ranks = Ranks::serial();
    let precision = device.precision(asked, &ranks)?;
    let bandwidth = device
        .bandwidth()
        .context("no room to measure its memory")?;
    let described = device.describe();
    let threads = match device {
        Device::Cpu { threads, .. } => format!("{threads} threads, "),
        Device::Gpu { .. } => String::new(),
    };
    let format = device.format();
    println!(
        "\n{} ({threads}{}), {format}: {:.1} GB/s",
        described.name,
        described.driver,
        bandwidth / 1e9
    );
    let job = Steps(levels);
    // `Steps` uploads one level after the other; the coarsest is there to have a system at all.
    let coarsest = &levels[levels.len() - 1..];
    let table = device.run(precision, coarsest, &ranks, job)?;
    let precision_of_steps = match precision {
        Precision::Mixed => "steps of CG's precision".to_owned(),
        alone => alone.to_string(),
    };
    println!("{}", heading(&precision_of_steps, levels));
    for row in &table {
        println!("{}", line(row, bandwidth));
    }
    let precisions = match asked {
        Some(_) => vec![precision],
        None => vec![precision, Precision::Mixed],
    };
    for precision in precisions {
        iterations(device, precision, problem, levels, bandwidth)?;
    }
    Ok(())
}

fn heading(precision: &str, levels: &[Ordered<'_>]) -> String {
    let sides = levels.iter().map(|level| {
        let side = format!("{}³ us", level.level.geometry.n[0]);
        format!(" | {side:>11} {:>6} {:>6}", "GB/s", "share")
    });
    format!("{precision:<22}{}", sides.collect::<String>())
}

fn line(row: &Row, bandwidth: f64) -> String {
    let levels = row.levels.iter().map(|call| match call {
        None => format!(" | {:>11} {:>6} {:>6}", "", "", ""),
        Some(Call { seconds, bytes }) => format!(
            " | {:>11.1} {:>6.1} {:>5.0}%",
            1e6 * seconds,
            bytes / seconds / 1e9,
            100.0 * bytes / seconds / bandwidth
        ),
    });
    format!("{:<22}{}", row.step, levels.collect::<String>())
}

fn iterations(
    device: &Device,
    precision: Precision,
    problem: &Problem,
    levels: &[Ordered<'_>],
    bandwidth: f64,
) -> anyhow::Result<()> {
    let job = Iterations {
        precision,
        problem,
        level: &levels[0],
        iterations: ITERATIONS,
        least: SETS,
        began: Instant::now(),
    };
    let measured = device.run(precision, levels, &Ranks::serial(), job)?;
    let geometry = &problem.levels[0].geometry;
    let flops = Counts::new(&level_sizes(geometry), 1, ITERATIONS as u64).flops;
    let rate = |op| measured.work.bytes[op] / measured.work.seconds[op] / 1e9;
    let all = measured.work.bytes.sum() / measured.seconds;
    println!(
        "iterations in {}: {:.2} GFLOP/s, {:.1} GB/s ({:.0} %), {:.0} bytes a row; WAXPBY {:.1}, SpMV {:.1}, MG {:.1} GB/s; residual {:.3e}; optimise {:.3} s",
        precision,
        flops.sum() / measured.set / 1e9,
        all / 1e9,
        100.0 * all / bandwidth,
        measured.work.bytes.sum() / (measured.iterations * problem.b.len()) as f64,
        rate(Op::Waxpby),
        rate(Op::Spmv),
        rate(Op::Mg),
        measured.residual,
        measured.optimise.as_secs_f64(),
    );
    Ok(())
}

/// A step on all levels.
struct Row {
    step: &'static str,
    levels: Vec<Option<Call>>,
}

/// One call of a step.
struct Call {
    seconds: f64,
    bytes: f64,
}

/// Times every step on these levels.
struct Steps<'a>(&'a [Ordered<'a>]);

impl Job for Steps<'_> {
    type Output = Vec<Row>;

    fn run<B: Backend, S: System<B>>(self, mut backend: B, _: S) -> Result<Vec<Row>, Error> {
        let mut rows: Vec<Row> = steps::<B>()
            .map(|(step, _)| Row {
                step,
                levels: Vec::new(),
            })
            .into();
        for level in self.0 {
            let mut place = Place::new(&mut backend, level)?;
            for (row, (_, step)) in rows.iter_mut().zip(steps()) {
                row.levels.push(time(&mut backend, &mut place, step)?);
            }
        }
        Ok(rows)
    }
}

/// One level on a device, and vectors to work on.
struct Place<B: Backend> {
    A: B::Matrix,
    halo: HaloExchange,
    /// Vectors with `ncol` elements.
    x: B::Vector,
    p: B::Vector,
    /// Vectors with `nrow` elements.
    r: B::Vector,
    Ap: B::Vector,
    coarse: Option<Coarse<B>>,
    alpha: Option<B::Scalar>,
}

/// What the steps to the next coarser level and back need.
struct Coarse<B: Backend> {
    work: B::Vector,
    rc: B::Vector,
    xc: B::Vector,
}

impl<B: Backend> Place<B> {
    fn new(b: &mut B, level: &Ordered<'_>) -> Result<Self, Error> {
        let (nrow, ncol) = (level.level.A.nrow, level.level.A.ncol);
        let mut vector = |len: usize| -> Result<B::Vector, Error> {
            let mut vector = b.vector(len)?;
            b.write(
                &mut vector,
                &hash_vector(&level.level.geometry)[..len.min(nrow)],
            );
            Ok(vector)
        };
        let coarse = match level.coarse {
            None => None,
            Some(coarse) => Some(Coarse {
                work: vector(nrow)?,
                rc: vector(coarse.perm.len())?,
                xc: vector(coarse.perm.len())?,
            }),
        };
        Ok(Self {
            x: vector(ncol)?,
            p: vector(ncol)?,
            r: vector(nrow)?,
            Ap: vector(nrow)?,
            coarse,
            A: b.matrix(level)?,
            halo: Ranks::serial().exchange(&level.level.halo, b.element())?,
            alpha: None,
        })
    }

    /// A number that keeps vectors bounded however often they are updated.
    fn alpha(&self) -> B::Scalar {
        self.alpha.expect("set before a batch")
    }
}

/// Calls a step; `None` where the level has no such step.
type Step<B> = fn(&mut B, &mut Place<B>) -> Result<Option<()>, Error>;

/// The steps of `Backend` by name.
fn steps<B: Backend>() -> [(&'static str, Step<B>); 12] {
    [
        ("spmv", |b, l| {
            b.spmv(&l.A, &l.p, &mut l.Ap);
            Ok(Some(()))
        }),
        ("spmv_dot", |b, l| {
            b.spmv_dot(&l.A, &mut l.halo, &mut l.p, &mut l.Ap)?;
            Ok(Some(()))
        }),
        ("smooth_from_zero", |b, l| {
            let work = l.coarse.as_mut().map(|coarse| &mut coarse.work);
            b.smooth_from_zero(&l.A, &l.r, &mut l.x, work);
            Ok(Some(()))
        }),
        ("restrict_residual", |b, l| {
            let Some(Coarse { work, rc, .. }) = &mut l.coarse else {
                return Ok(None);
            };
            b.restrict_residual(&l.A, &mut l.halo, &l.r, &mut l.x, work, rc)?;
            Ok(Some(()))
        }),
        ("correct_and_smooth", |b, l| {
            let Some(Coarse { work, xc, .. }) = &mut l.coarse else {
                return Ok(None);
            };
            b.correct_and_smooth(&l.A, &mut l.halo, xc, &l.r, &mut l.x, work)?;
            Ok(Some(()))
        }),
        ("correct_and_smooth_dot", |b, l| {
            let Some(Coarse { work, xc, .. }) = &mut l.coarse else {
                return Ok(None);
            };
            b.correct_and_smooth_dot(&l.A, &mut l.halo, xc, &l.r, &mut l.x, work)?;
            Ok(Some(()))
        }),
        ("symgs", |b, l| {
            b.symgs(&l.A, &l.r, &mut l.x);
            Ok(Some(()))
        }),
        ("restriction", |b, l| {
            let Some(Coarse { rc, .. }) = &mut l.coarse else {
                return Ok(None);
            };
            b.restriction(&l.A, &l.r, &l.Ap, rc);
            Ok(Some(()))
        }),
        ("prolongation", |b, l| {
            let Some(Coarse { xc, .. }) = &l.coarse else {
                return Ok(None);
            };
            b.prolongation(&l.A, xc, &mut l.x);
            Ok(Some(()))
        }),
        ("dot", |b, l| {
            b.dot(&l.r, &l.Ap);
            Ok(Some(()))
        }),
        ("waxpby", |b, l| {
            b.waxpby(l.alpha(), &l.r, l.alpha(), &mut l.p);
            Ok(Some(()))
        }),
        ("update_and_norm", |b, l| {
            b.update_and_norm(l.alpha(), &l.p, &l.Ap, &mut l.x, &mut l.r);
            Ok(Some(()))
        }),
    ]
}

/// The median call of a step.
fn time<B: Backend>(b: &mut B, place: &mut Place<B>, step: Step<B>) -> Result<Option<Call>, Error> {
    let mut batch = |calls: u32| -> Result<Option<(f64, f64)>, Error> {
        b.forget_scalars();
        place.alpha = Some(b.scalar(0.5));
        b.finish()?;
        let start = Instant::now();
        b.enter(Op::Mg);
        for _ in 0..calls {
            if step(b, place)?.is_none() {
                return Ok(None);
            }
        }
        let bytes = b.finish()?.bytes.sum();
        Ok(Some((start.elapsed().as_secs_f64(), bytes)))
    };
    // Drivers compile at the first call.
    if batch(1)?.is_none() {
        return Ok(None);
    }
    let mut calls = 1;
    while let Some((seconds, _)) = batch(calls)?
        && seconds < BATCH.as_secs_f64()
        && calls < MOST_CALLS
    {
        calls *= 2;
    }
    let mut seconds = Vec::with_capacity(BATCHES);
    let mut moved = 0.0;
    while seconds.len() < BATCHES {
        if let Some((took, bytes)) = batch(calls)? {
            seconds.push(took / f64::from(calls));
            moved = bytes / f64::from(calls);
        }
    }
    Ok(Some(Call {
        seconds: median(seconds),
        bytes: moved,
    }))
}
