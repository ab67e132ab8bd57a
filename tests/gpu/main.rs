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

mod devices;
mod solving;
mod steps;

use cubie::Backend;
use cubie::gpu::{Adapter, Arithmetic, Device, Gpu, adapters};
use cubie::params::Format;
use cubie::reference::Reference;
use cubie::solver::Orderings;
use cubie::validate::kernels::hash_vector;
use cubie_host::{Geometry, Order, Problem};

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
