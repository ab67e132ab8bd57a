//! The GPU backend on a real or software device against the sequential twin.
//!
//! Every test runs on each adapter there is; none at all is a failure, not a skip.
#![expect(
    non_snake_case,
    reason = "A and Axf are the names that the algorithm has"
)]
#![expect(
    clippy::print_stderr,
    reason = "which adapter a test ran on is said aloud"
)]

use std::time::Instant;

use cubie::cg::{CgParams, Convergence};
use cubie::gpu::{Adapter, Arithmetic, Device, Gpu, GpuError, Kind, adapters, choose};
use cubie::mg::{Mixed, Multigrid, System};
use cubie::params::DeviceChoice;
use cubie::reference::Reference;
use cubie::solver::{Orderings, Solver};
use cubie::validate::kernels::hash_vector;
use cubie::{Backend, Error, Op, Precision};
use cubie_host::{Geometry, Order, Problem, Ranks};

/// The adapters to test on.
fn devices() -> Vec<Adapter> {
    let all = adapters();
    assert!(
        !all.is_empty(),
        "no GPU driver, so nothing was tested: install a software one, such as Debian's \
         mesa-vulkan-drivers (lavapipe), or point VK_ICD_FILENAMES to a driver's json file"
    );
    for adapter in &all {
        eprintln!("testing on {} ({})", adapter.name, adapter.driver_info);
    }
    all
}

/// Runs `test` on every adapter in every arithmetic that it can do.
fn on_each(test: impl Fn(&Device, Arithmetic)) {
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        for arithmetic in device.arithmetics() {
            eprintln!("in {}", arithmetic.name());
            test(&device, arithmetic);
        }
    }
}

fn problem(n: [usize; 3]) -> Problem {
    Problem::new(&Geometry::single(n).unwrap())
}

/// Two vectors without structure, the second of mixed signs.
fn vectors(problem: &Problem, level: usize) -> [Vec<f64>; 2] {
    let x = hash_vector(&problem.levels[level].geometry);
    let signed = x.iter().rev().map(|x| 3.0 - 2.0 * x).collect();
    [x, signed]
}

fn upload<B: Backend>(backend: &mut B, values: &[f64]) -> B::Vector {
    let mut vector = backend.vector(values.len()).unwrap();
    backend.write(&mut vector, values);
    vector
}

/// All kernels on one level of a problem: the vectors and numbers they leave behind.
fn kernels<B: Backend>(
    backend: &mut B,
    problem: &Problem,
    level: usize,
) -> Vec<(&'static str, Vec<f64>)> {
    let orderings = Orderings::new(&Order::COLOR8, problem);
    let ordered = orderings.view(&problem.levels)[level];
    let [x0, r0] = vectors(problem, level);
    let n = x0.len();
    let coarse = ordered.f2c().len();
    let mut results = Vec::new();
    let mut A = backend.matrix(&ordered).unwrap();
    let r = upload(backend, &r0);
    let mut x = upload(backend, &x0);
    let mut y = backend.vector(n).unwrap();

    backend.spmv(&A, &x, &mut y);
    results.push(("spmv", backend.read(&y).unwrap()));
    backend.symgs(&A, &r, &mut x);
    results.push(("symgs", backend.read(&x).unwrap()));
    let [half, three] = [0.5, 3.0].map(|value| backend.scalar(value));
    let ratio = backend.ratio(-half, three);
    backend.waxpby(ratio, &r, -three, &mut x);
    results.push(("waxpby", backend.read(&x).unwrap()));
    let dots = [backend.dot(&x, &y), backend.dot(&r, &r), -ratio];
    results.push(("scalars", backend.read_scalars(&dots).unwrap()));
    if coarse > 0 {
        let mut rc = backend.vector(coarse).unwrap();
        backend.restriction(&A, &r, &y, &mut rc);
        results.push(("restriction", backend.read(&rc).unwrap()));
        backend.prolongation(&A, &rc, &mut x);
        results.push(("prolongation", backend.read(&x).unwrap()));
    }
    backend.copy(&r, &mut y);
    results.push(("copy", backend.read(&y).unwrap()));
    backend.zero(&mut y);
    backend.write(&mut y, &x0[..n / 2]);
    results.push(("zero and a short write", backend.read(&y).unwrap()));
    let diagonal: Vec<f64> = (0..n).map(|i| 27.0 + (i % 5) as f64).collect();
    backend.replace_diagonal(&mut A, &diagonal);
    backend.spmv(&A, &r, &mut y);
    results.push(("spmv with another diagonal", backend.read(&y).unwrap()));
    backend.symgs(&A, &r, &mut y);
    results.push(("symgs with another diagonal", backend.read(&y).unwrap()));
    results
}

#[test]
fn kernels_equal_their_twins() {
    let problem = problem([32, 16, 24]);
    on_each(|device, arithmetic| {
        for level in 0..problem.levels.len() {
            let mut gpu = Gpu::new(device, arithmetic).unwrap();
            let on_gpu = kernels(&mut gpu, &problem, level);
            let truth = kernels(&mut Reference::new(), &problem, level);
            for ((kernel, ours), (_, truth)) in on_gpu.iter().zip(&truth) {
                let largest = truth.iter().fold(0.0f64, |max, x| max.max(x.abs()));
                let bound = 32.0 * arithmetic.epsilon() * largest;
                assert_eq!(ours.len(), truth.len());
                for (i, (ours, truth)) in ours.iter().zip(truth).enumerate() {
                    assert!(
                        (ours - truth).abs() <= bound,
                        "{kernel} in {} on level {level}, element {i}: {ours:e}, not {truth:e}",
                        arithmetic.name()
                    );
                }
            }
        }
    });
}

#[test]
fn small_bindings_give_the_same_bits() {
    let problem = problem([48, 48, 40]);
    for adapter in devices() {
        for arithmetic in adapter.open(None).unwrap().arithmetics() {
            let [whole, panels] = [None, Some(1 << 20)].map(|limit| {
                let device = adapter.open(limit).unwrap();
                let mut gpu = Gpu::new(&device, arithmetic).unwrap();
                kernels(&mut gpu, &problem, 0)
            });
            assert_eq!(whole, panels, "in {}", arithmetic.name());
        }
    }
}

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
    let mut gpu = Gpu::new(device, outer).unwrap();
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
        let inner = Gpu::new(device, Arithmetic::F32).unwrap();
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

#[test]
fn what_cannot_be_done_is_said() {
    let problem = problem([16; 3]);
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        let natural = Orderings::new(&Order::Natural, &problem);
        let mut gpu = Gpu::new(&device, Arithmetic::F32).unwrap();
        let refused = gpu.matrix(&natural.view(&problem.levels)[0]);
        assert!(matches!(refused, Err(Error::Gpu(GpuError::Order))));

        let too_long = usize::try_from(device.limit() / 4 + 1).unwrap();
        let error = gpu.vector(too_long).err().expect("longer than the limit");
        let message = error.to_string();
        assert!(message.contains(&device.limit().to_string()), "{message}");
        assert!(message.contains("at most"), "{message}");

        let f64 = device.arithmetics().contains(&Arithmetic::F64);
        assert_eq!(f64, adapter.f64);
        let run = cubie::device::Device::Gpu(device);
        assert_eq!(
            run.precision(Some(Precision::F64), &Ranks::serial())
                .is_ok(),
            f64
        );
        if !f64 {
            let error = run
                .precision(Some(Precision::F64), &Ranks::serial())
                .unwrap_err()
                .to_string();
            assert!(error.contains("it can in f32x2, mixed, f32"), "{error}");
        }
        assert!(adapter.open(Some(1000)).is_err(), "a limit of 1000 bytes");
    }
}

#[test]
fn devices_are_found_by_number_and_name() {
    let all = devices();
    let last = all.last().unwrap();
    let by_index = choose(&all, &DeviceChoice::Index(last.index), 0).unwrap();
    assert_eq!(by_index.map(|a| a.index), Some(last.index));
    let part = all[0].name[..5].to_uppercase();
    let by_name = choose(&all, &DeviceChoice::Name(part), 0).unwrap().unwrap();
    assert_eq!(by_name.name[..5], all[0].name[..5]);
    assert!(choose(&all, &DeviceChoice::Cpu, 0).unwrap().is_none());
    let error = choose(&all, &DeviceChoice::Index(99), 0)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("99") && error.contains(&all[0].name),
        "{error}"
    );
    let error = choose(&[], &DeviceChoice::Gpu, 0).unwrap_err().to_string();
    assert!(error.contains("install"), "{error}");
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
        let mut gpu = Gpu::new(&device, Arithmetic::F32).unwrap();
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
fn vectors_of_many_workgroups() {
    // More than one dimension of a dispatch can hold, with a rest.
    let n = 65_535 * 256 + 1000;
    let values: Vec<f64> = (0..n).map(|i| (i % 1013) as f64).collect();
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        let mut gpu = Gpu::new(&device, Arithmetic::F32).unwrap();
        let x = upload(&mut gpu, &values);
        let mut y = gpu.vector(n).unwrap();
        gpu.copy(&x, &mut y);
        assert!(gpu.read(&y).unwrap() == values, "a copy of {n} elements");
        gpu.zero(&mut y);
        assert!(gpu.read(&y).unwrap().iter().all(|&y| y == 0.0), "{n} zeros");
    }
}

#[test]
fn memory_runs_out_with_an_error() {
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        let mut gpu = Gpu::new(&device, Arithmetic::F32).unwrap();
        let Some(memory) = adapter.memory else {
            eprintln!("its driver does not tell how much memory it has");
            continue;
        };
        let len = usize::try_from(device.limit() / 4).unwrap();
        let mut vectors = Vec::new();
        let error = (0..=memory / device.limit()).find_map(|_| match gpu.vector(len) {
            Ok(vector) => {
                vectors.push(vector);
                None
            }
            Err(error) => Some(error),
        });
        match error {
            Some(error) => {
                let error = error.to_string();
                assert!(error.contains("no memory left"), "{error}");
            }
            // lavapipe 22 hands out more than it says it has.
            None => assert_eq!(adapter.kind, Kind::Software, "no limit to memory"),
        }
    }
}

#[test]
fn memory_is_given_back() {
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        let mut gpu = Gpu::new(&device, Arithmetic::F32).unwrap();
        let before = gpu.allocated();
        let vector = gpu.vector(1000).unwrap();
        assert_eq!(gpu.allocated(), before + 4000);
        drop(vector);
        assert_eq!(gpu.allocated(), before);
    }
}
