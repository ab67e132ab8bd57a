//! Whole solutions: against the twin, on several ranks, and how long they take.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cubie::cg::{CgParams, Convergence};
use cubie::gpu::{Arithmetic, Device, Gpu};
use cubie::mg::{Mixed, Multigrid, System};
use cubie::params::{DeviceChoice, Format, Params};
use cubie::progress::Silent;
use cubie::reference::Reference;
use cubie::results::DeviceKind;
use cubie::solver::{Orderings, Solver};
use cubie::{Error, Op, Precision, benchmark, model};
use cubie_host::comm::{Reduce, Transport, threads};
use cubie_host::{Grid, Order, Problem, Ranks};

use super::*;

/// A problem's solver on a GPU, in one arithmetic or with a V-cycle in singles.
fn solve(
    device: &Device,
    outer: Arithmetic,
    mixed: bool,
    problem: &Problem,
    params: &CgParams,
) -> (Convergence, Vec<f64>) {
    let orderings = Orderings::new(&Order::COLOR8, problem);
    let levels = orderings.view(&problem.levels);
    let mut gpu = Gpu::new(device, outer, Format::Split).unwrap();
    let narrow = outer != Arithmetic::F64;
    fn run(
        gpu: Gpu,
        system: impl System<Gpu>,
        problem: &Problem,
        level: &cubie_host::Ordered<'_>,
        narrow: bool,
        params: &CgParams,
    ) -> (Convergence, Vec<f64>) {
        let mut solver =
            Solver::new(gpu, &Ranks::serial(), system, level, &problem.b, narrow).unwrap();
        let convergence = solver.solve(params).unwrap();
        let work = solver.finish().unwrap();
        for op in Op::ALL {
            assert!(work.bytes[op] > 0.0, "no bytes for {op:?}");
            assert!(work.seconds[op] > 0.0, "no time for {op:?}");
        }
        (convergence, solver.solution().unwrap())
    }
    if mixed {
        let inner = Gpu::new(device, Arithmetic::F32, Format::Split).unwrap();
        let system = Mixed::new(&mut gpu, inner, &levels, &Ranks::serial()).unwrap();
        run(gpu, system, problem, &levels[0], narrow, params)
    } else {
        let system = Multigrid::new(&mut gpu, &levels, &Ranks::serial()).unwrap();
        run(gpu, system, problem, &levels[0], narrow, params)
    }
}

fn reference(problem: &Problem, params: &CgParams) -> Convergence {
    let orderings = Orderings::new(&Order::COLOR8, problem);
    let levels = orderings.view(&problem.levels);
    let mut backend = Reference::new();
    let system = Multigrid::new(&mut backend, &levels, &Ranks::serial()).unwrap();
    let mut solver = Solver::new(
        backend,
        &Ranks::serial(),
        system,
        &levels[0],
        &problem.b,
        false,
    )
    .unwrap();
    solver.solve(params).unwrap()
}

#[test]
fn cg_converges_like_the_twin() {
    let problem = problem([32; 3]);
    let params = CgParams {
        max_iter: 18,
        tolerance: 0.0,
        preconditioned: true,
    };
    let truth = reference(&problem, &params);
    on_each(|device, arithmetic| {
        let mut runs = vec![(arithmetic, false, arithmetic.epsilon() * 4e5)];
        if arithmetic != Arithmetic::F32 {
            // The inner V-cycle is another preconditioner to within single precision.
            runs.push((arithmetic, true, 1e-3));
        }
        for (outer, mixed, bound) in runs {
            let (ours, x) = solve(device, outer, mixed, &problem, &params);
            let again = solve(device, outer, mixed, &problem, &params);
            assert_eq!(
                (&ours, &x),
                (&again.0, &again.1),
                "the same bits every time"
            );
            let error = (ours.normr0 / truth.normr0 - 1.0).abs();
            assert!(
                error <= bound,
                "normr0 {} not {}",
                ours.normr0,
                truth.normr0
            );
            for (k, (ours, truth)) in ours
                .scaled_residuals
                .iter()
                .zip(&truth.scaled_residuals)
                .enumerate()
            {
                assert!(
                    (ours / truth - 1.0).abs() <= bound,
                    "{} (mixed: {mixed}) after {} iterations: {ours:e}, not {truth:e}",
                    outer.name(),
                    k + 1
                );
            }
        }
    });
}

/// Ranks as threads, each on a GPU or all on CPUs: the residuals of the optimised CG.
fn on_ranks(
    grid: &Grid,
    device: &DeviceChoice,
    precision: Precision,
    format: Format,
    overlap: bool,
) -> Vec<f64> {
    let params = Params {
        grid: grid.clone(),
        seconds: 0,
        device: device.clone(),
        hybrid: None,
        precision: Some(precision),
        order: Order::COLOR8,
        format: Some(format),
        threads: 1,
        binding_limit: None,
        device_memory: None,
        notices: Vec::new(),
    };
    let results = threads::run(grid.size(), |comm| {
        let comm = Box::new(comm);
        let ranks = Ranks::overlapping(comm, Transport::Isend, Reduce::Ordered, overlap);
        let device = cubie::device::Device::open(&params, 0)?;
        let stop = AtomicBool::new(false);
        benchmark::run(&params, &device, &ranks, &mut Silent, &stop)
    });
    let results = results.unwrap_or_else(|error: Error| panic!("{error}"));
    assert_eq!(results[0].not_valid_because(), Vec::<String>::new());
    results[0].optimised.scaled_residuals[..18].to_vec()
}

#[test]
fn ranks_on_gpus_equal_ranks_on_cpus() {
    let grid = Grid::uniform([1, 2, 1], [16; 3]);
    let truth = on_ranks(
        &grid,
        &DeviceChoice::Cpu,
        Precision::F64,
        Format::Split,
        false,
    );
    for adapter in devices() {
        let (precision, bound) = match adapter.f64 {
            true => (Precision::F64, 1e-10),
            false => (Precision::F32x2, 1e-7),
        };
        for format in FORMATS {
            let device = DeviceChoice::Index(adapter.index);
            let ours = on_ranks(&grid, &device, precision, format, false);
            for (k, (ours, truth)) in ours.iter().zip(&truth).enumerate() {
                assert!(
                    (ours / truth - 1.0).abs() <= bound,
                    "{format} after {}: {ours:e}, not {truth:e}",
                    k + 1
                );
            }
        }
    }
}

#[test]
fn working_while_a_halo_travels_gives_the_same_bits() {
    // A level of more than one workgroup, and slices of rows with and without a halo.
    let grid = Grid::uniform([1, 1, 2], [24, 16, 16]);
    for adapter in devices() {
        let precision = match adapter.f64 {
            true => Precision::F64,
            false => Precision::F32x2,
        };
        let device = DeviceChoice::Index(adapter.index);
        let [without, with] = [false, true]
            .map(|overlap| on_ranks(&grid, &device, precision, Format::Split, overlap));
        assert_eq!(without, with);
    }
}

#[test]
fn times_are_estimated_without_timestamps() {
    let problem = problem([16; 3]);
    let params = CgParams {
        max_iter: 4,
        tolerance: 0.0,
        preconditioned: true,
    };
    for mut adapter in devices() {
        adapter.timestamps = false;
        let device = adapter.open(None).unwrap();
        assert!(device.times_are_estimated());
        let mut gpu = Gpu::new(&device, Arithmetic::F32, Format::Split).unwrap();
        let orderings = Orderings::new(&Order::COLOR8, &problem);
        let levels = orderings.view(&problem.levels);
        let system = Multigrid::new(&mut gpu, &levels, &Ranks::serial()).unwrap();
        let mut solver =
            Solver::new(gpu, &Ranks::serial(), system, &levels[0], &problem.b, true).unwrap();
        // The first solution calibrates.
        for _ in 0..3 {
            let begun = Instant::now();
            solver.solve(&params).unwrap();
            let seconds = solver.finish().unwrap().seconds;
            let wall = begun.elapsed().as_secs_f64();
            assert!(Op::ALL.iter().all(|&op| seconds[op] > 0.0), "{seconds:?}");
            let sum = seconds.sum();
            assert!(sum <= wall && sum > 0.2 * wall, "{sum} of {wall} seconds");
        }
    }
}

#[test]
fn a_solver_allocates_what_the_model_says() {
    let problem = problem([64; 3]);
    let geometry = &problem.levels[0].geometry;
    let device = devices()[0].open(None).unwrap();
    let (arithmetic, orderings) = (device.double(), Orderings::new(&Order::COLOR8, &problem));
    let precision = match arithmetic {
        Arithmetic::F64 => Precision::F64,
        _ => Precision::F32x2,
    };
    let levels = orderings.view(&problem.levels);
    for format in FORMATS {
        let mut gpu = Gpu::new(&device, arithmetic, format).unwrap();
        let system = Multigrid::new(&mut gpu, &levels, &Ranks::serial()).unwrap();
        let ranks = &Ranks::serial();
        let _solver = Solver::new(gpu, ranks, system, &levels[0], &problem.b, true).unwrap();
        let need = model::need(geometry, DeviceKind::Gpu, precision, format).device;
        let ratio = device.allocated() as f64 / need as f64;
        eprintln!("{format}: {ratio}");
        // The parameters of thousands of dispatches and the like are not modelled.
        assert!((0.97..1.03).contains(&ratio), "{format}: {ratio}");
    }
}
