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

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cubie::cg::{CgParams, Convergence};
use cubie::gpu::{Adapter, Arithmetic, Device, Gpu, GpuError, Kind, adapters, choose};
use cubie::mg::{Mixed, Multigrid, System};
use cubie::params::{DeviceChoice, Format, Params};
use cubie::progress::Silent;
use cubie::reference::Reference;
use cubie::solver::{Orderings, Solver};
use cubie::textbook;
use cubie::validate::kernels::hash_vector;
use cubie::{Backend, Error, Op, Precision, benchmark};
use cubie_host::comm::{Reduce, Transport, threads};
use cubie_host::{Geometry, Grid, Order, Problem, Ranks};

const FORMATS: [Format; 2] = [Format::Ell28, Format::Split];

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

/// Asserts that each element is within so many epsilons of the largest one.
fn assert_close(what: &str, arithmetic: Arithmetic, epsilons: f64, ours: &[f64], truth: &[f64]) {
    let largest = truth.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    let bound = epsilons * arithmetic.epsilon() * largest;
    assert_eq!(ours.len(), truth.len());
    for (i, (ours, truth)) in ours.iter().zip(truth).enumerate() {
        assert!(
            (ours - truth).abs() <= bound,
            "{what} in {}, element {i}: {ours:e}, not {truth:e}",
            arithmetic.name()
        );
    }
}

#[test]
fn kernels_equal_their_twins() {
    let problem = problem([32, 16, 24]);
    on_each(|device, arithmetic| {
        for level in 0..problem.levels.len() {
            let truth = kernels(&mut Reference::new(), &problem, level);
            for format in FORMATS {
                let mut gpu = Gpu::new(device, arithmetic, format).unwrap();
                let on_gpu = kernels(&mut gpu, &problem, level);
                for ((kernel, ours), (_, truth)) in on_gpu.iter().zip(&truth) {
                    let what = format!("{kernel} in {format} on level {level}");
                    assert_close(&what, arithmetic, 32.0, ours, truth);
                }
            }
        }
    });
}

/// The steps of CG and of a V-cycle on one level, as the backend does them or as the textbook
/// does: what they leave behind. Each starts from what the backend's own steps left, and from
/// externals that are not zero.
fn steps(
    gpu: &mut Gpu,
    problem: &Problem,
    level: usize,
    by_the_book: bool,
) -> Vec<(&'static str, Vec<f64>)> {
    let orderings = Orderings::new(&Order::COLOR8, problem);
    let ordered = orderings.view(&problem.levels)[level];
    let A = &gpu.matrix(&ordered).unwrap();
    let halo = &mut Ranks::serial()
        .exchange(&ordered.level.halo, gpu.element())
        .unwrap();
    let (nrow, ncol) = (ordered.level.A.nrow, ordered.level.A.ncol);
    let coarse = ordered.f2c().len();
    let [r0, c0] = vectors(problem, level);
    let externals: Vec<f64> = (nrow..ncol).map(|i| 1.0 + (i % 7) as f64).collect();
    let with_externals = |local: &[f64]| [&local[..nrow], &externals[..]].concat();
    let mut results = Vec::new();

    let r = upload(gpu, &r0);
    // Whatever stands in x is overwritten.
    let mut x = upload(gpu, &vec![-3.0; ncol]);
    let mut work = gpu.vector(nrow).unwrap();
    if by_the_book {
        textbook::smooth_from_zero(gpu, A, &r, &mut x);
        results.push(("smooth_from_zero", gpu.read(&x).unwrap()));
    }
    let kept = (coarse > 0).then_some(&mut work);
    gpu.smooth_from_zero(A, &r, &mut x, kept);
    if !by_the_book {
        results.push(("smooth_from_zero", gpu.read(&x).unwrap()));
    }
    let smoothed = with_externals(&gpu.read(&x).unwrap());
    gpu.write(&mut x, &smoothed);
    if coarse > 0 {
        let mut rc = gpu.vector(coarse).unwrap();
        let mut Axf = gpu.vector(nrow).unwrap();
        let xc = upload(gpu, &c0[..coarse]);
        if by_the_book {
            textbook::restrict_residual(gpu, A, halo, &r, &mut x, &mut Axf, &mut rc).unwrap();
            textbook::correct_and_smooth(gpu, A, halo, &xc, &r, &mut x).unwrap();
        } else {
            gpu.restrict_residual(A, halo, &r, &mut x, &mut work, &mut rc)
                .unwrap();
            gpu.correct_and_smooth(A, halo, &xc, &r, &mut x, &mut work)
                .unwrap();
        }
        results.push(("restrict_residual", gpu.read(&rc).unwrap()));
        results.push(("correct_and_smooth", gpu.read(&x).unwrap()));
    }

    let mut p = upload(gpu, &with_externals(&r0));
    let (mut Ap, mut x, mut r) = (upload(gpu, &c0), upload(gpu, &c0), upload(gpu, &r0));
    let alpha = -gpu.scalar(-0.25);
    let scalars = if by_the_book {
        [
            textbook::spmv_dot(gpu, A, halo, &mut p, &mut Ap).unwrap(),
            textbook::update_and_norm(gpu, alpha, &p, &Ap, &mut x, &mut r),
        ]
    } else {
        [
            gpu.spmv_dot(A, halo, &mut p, &mut Ap).unwrap(),
            gpu.update_and_norm(alpha, &p, &Ap, &mut x, &mut r),
        ]
    };
    for (name, vector) in [("spmv_dot", &Ap), ("x updated", &x), ("r updated", &r)] {
        results.push((name, gpu.read(vector).unwrap()));
    }
    for (name, scalar) in ["x·Ax", "r·r"].into_iter().zip(scalars) {
        results.push((name, gpu.read_scalars(&[scalar]).unwrap()));
    }
    results
}

#[test]
fn fused_steps_equal_the_textbook() {
    let alone = Geometry::single([32, 16, 24]).unwrap();
    let among_others = Grid::uniform([3, 2, 2], [16; 3]).geometry(4).unwrap();
    for geometry in [alone, among_others] {
        let problem = Problem::new(&geometry);
        on_each(|device, arithmetic| {
            for (level, format) in
                (0..problem.levels.len()).flat_map(|level| FORMATS.map(|format| (level, format)))
            {
                let mut gpu = Gpu::new(device, arithmetic, format).unwrap();
                let ours = steps(&mut gpu, &problem, level, false);
                let theirs = steps(&mut gpu, &problem, level, true);
                for ((step, ours), (_, theirs)) in ours.iter().zip(&theirs) {
                    let what = format!("{step} in {format} on level {level}");
                    assert_close(&what, arithmetic, 64.0, ours, theirs);
                }
            }
        });
    }
}

#[test]
fn an_iteration_reads_the_matrix_few_times() {
    let problem = problem([64; 3]);
    let orderings = Orderings::new(&Order::COLOR8, &problem);
    let levels = orderings.view(&problem.levels);
    let params = |max_iter| CgParams {
        max_iter,
        tolerance: 0.0,
        preconditioned: true,
    };
    let device = devices()[0].open(None).unwrap();
    let bytes_a_row = [device.double(), Arithmetic::F32].map(|arithmetic| {
        let mut gpu = Gpu::new(&device, arithmetic, Format::Split).unwrap();
        let system = Multigrid::new(&mut gpu, &levels, &Ranks::serial()).unwrap();
        let ranks = &Ranks::serial();
        let mut solver = Solver::new(gpu, ranks, system, &levels[0], &problem.b, true).unwrap();
        let mut bytes = [1, 2].map(|iterations| {
            solver.solve(&params(iterations)).unwrap();
            solver.finish().unwrap().bytes.sum()
        });
        bytes[1] -= bytes[0];
        bytes[1] / problem.b.len() as f64
    });
    // Numbers of 8 and of 4 bytes, and 4 bytes for each column.
    let columns = (2.0 * bytes_a_row[1] - bytes_a_row[0]) / 4.0;
    let pass = 27.0 * 12.0;
    let passes = (columns * 12.0 + 6.0 * 8.0) / pass;
    eprintln!(
        "{passes} passes, {} vectors",
        bytes_a_row[0] / 8.0 - columns * 1.5
    );
    assert!((3.0..3.7).contains(&passes), "{passes} passes");
}

#[test]
fn small_bindings_give_the_same_bits() {
    let problem = problem([48, 48, 40]);
    for adapter in devices() {
        for arithmetic in adapter.open(None).unwrap().arithmetics() {
            for format in FORMATS {
                let [whole, panels] = [None, Some(1 << 20)].map(|limit| {
                    let device = adapter.open(limit).unwrap();
                    let mut gpu = Gpu::new(&device, arithmetic, format).unwrap();
                    let mut results = kernels(&mut gpu, &problem, 0);
                    let sums = |(name, _): &(&str, Vec<f64>)| name.contains('·');
                    let steps = steps(&mut gpu, &problem, 0, false);
                    // How sums are cut depends on the panels.
                    results.extend(steps.into_iter().filter(|step| !sums(step)));
                    results
                });
                assert_eq!(whole, panels, "{format} in {}", arithmetic.name());
            }
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
fn on_ranks(grid: &Grid, device: &DeviceChoice, precision: Precision, format: Format) -> Vec<f64> {
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
        let ranks = Ranks::new(Box::new(comm), Transport::Isend, Reduce::Ordered);
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
    let truth = on_ranks(&grid, &DeviceChoice::Cpu, Precision::F64, Format::Split);
    for adapter in devices() {
        let (precision, bound) = match adapter.f64 {
            true => (Precision::F64, 1e-10),
            false => (Precision::F32x2, 1e-7),
        };
        for format in FORMATS {
            let device = DeviceChoice::Index(adapter.index);
            let ours = on_ranks(&grid, &device, precision, format);
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
fn what_cannot_be_done_is_said() {
    let problem = problem([16; 3]);
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        let natural = Orderings::new(&Order::Natural, &problem);
        let mut gpu = Gpu::new(&device, Arithmetic::F32, Format::Split).unwrap();
        let refused = gpu.matrix(&natural.view(&problem.levels)[0]);
        assert!(matches!(refused, Err(Error::Gpu(GpuError::Order))));

        let too_long = usize::try_from(device.limit() / 4 + 1).unwrap();
        let error = gpu.vector(too_long).err().expect("longer than the limit");
        let message = error.to_string();
        assert!(message.contains(&device.limit().to_string()), "{message}");
        assert!(message.contains("at most"), "{message}");

        let f64 = device.arithmetics().contains(&Arithmetic::F64);
        assert_eq!(f64, adapter.f64);
        let run = cubie::device::Device::Gpu {
            device,
            format: Format::Split,
        };
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
fn vectors_of_many_workgroups() {
    // More than one dimension of a dispatch can hold, with a rest.
    let n = 65_535 * 256 + 1000;
    let values: Vec<f64> = (0..n).map(|i| (i % 1013) as f64).collect();
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        let mut gpu = Gpu::new(&device, Arithmetic::F32, Format::Split).unwrap();
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
        let mut gpu = Gpu::new(&device, Arithmetic::F32, Format::Split).unwrap();
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
        let mut gpu = Gpu::new(&device, Arithmetic::F32, Format::Split).unwrap();
        let before = gpu.allocated();
        let vector = gpu.vector(1000).unwrap();
        assert_eq!(gpu.allocated(), before + 4000);
        drop(vector);
        assert_eq!(gpu.allocated(), before);
    }
}
