//! Every kernel on a device against its sequential twin, on every level (`cubie validate`).

use cubie_host::{Geometry, Order, Ordered, Problem, Ranks};

use crate::backend::Backend;
use crate::device::{Device, Job};
use crate::error::Error;
use crate::mg::{Multigrid, System};
use crate::real::Precision;
use crate::reference::Reference;
use crate::solver::Orderings;

/// How far a kernel is from its twin.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelCheck {
    /// HPCG's operation.
    pub kernel: &'static str,
    /// The level, 0 is the finest.
    pub level: usize,
    /// max|device − twin| / max|twin|
    pub error: f64,
    /// What the rounding of the precision explains.
    pub bound: f64,
}

impl KernelCheck {
    /// Whether the error is within the bound; one that is no number is not.
    pub fn passed(&self) -> bool {
        self.error <= self.bound
    }
}

/// Runs every kernel on a box of `n` points.
///
/// # Errors
/// If the device cannot do it or fails.
pub fn check_kernels(
    device: &Device,
    precision: Precision,
    order: &Order,
    n: [usize; 3],
) -> Result<Vec<KernelCheck>, Error> {
    let problem = Problem::new(&Geometry::single(n)?);
    let orderings = Orderings::new(order, &problem);
    let levels = orderings.view(&problem.levels);
    device.run(precision, &levels, &Ranks::serial(), CheckKernels(&levels))
}

/// A vector without structure that depends on the global row g alone:
/// v_g = 1 + ((g+1)·2654435761 mod 2³²) / 2³².
pub fn hash_vector(geometry: &Geometry) -> Vec<f64> {
    (0..geometry.nrow())
        .map(|i| {
            let hash = (geometry.global_row(i) + 1).wrapping_mul(2_654_435_761) & 0xffff_ffff;
            1.0 + hash as f64 / 4_294_967_296.0
        })
        .collect()
}

struct CheckKernels<'a>(&'a [Ordered<'a>]);

impl Job for CheckKernels<'_> {
    type Output = Vec<KernelCheck>;

    fn run<B: Backend, S: System<B>>(
        self,
        mut device: B,
        mut system: S,
    ) -> Result<Vec<KernelCheck>, Error> {
        let levels = self.0;
        let mut twin = Reference::new();
        let mut twin_system = Multigrid::new(&mut twin, levels, &Ranks::serial())?;
        let mut checks = Vec::new();
        for (l, level) in levels.iter().enumerate() {
            let ours = run_kernels(&mut device, level)?;
            let theirs = run_kernels(&mut twin, level)?;
            checks.append(&mut compare(l, &ours, &theirs, device.epsilon()));
        }
        let ours = run_mg(&mut device, &mut system, &levels[0])?;
        let theirs = run_mg(&mut twin, &mut twin_system, &levels[0])?;
        checks.append(&mut compare(
            0,
            &[ours],
            &[theirs],
            system.mg_epsilon(&device),
        ));
        Ok(checks)
    }
}

/// A kernel's name, its result, and how many roundings may add up in an element.
struct Outcome {
    kernel: &'static str,
    result: Vec<f64>,
    roundings: f64,
}

fn run_kernels<B: Backend>(b: &mut B, level: &Ordered<'_>) -> Result<Vec<Outcome>, Error> {
    let A = &b.matrix(level)?;
    let halo = &mut Ranks::serial().exchange(&level.level.halo, b.element())?;
    let ncol = level.level.A.ncol;
    let v = level.order.permute(&hash_vector(&level.level.geometry));
    let halves: Vec<f64> = v.iter().map(|v| 0.5 * v * v - 1.0).collect();
    let (mut x, mut y, mut z) = (b.vector(ncol)?, b.vector(ncol)?, b.vector(ncol)?);
    b.write(&mut x, &v);
    b.write(&mut z, &halves);
    let mut outcomes = Vec::new();
    let mut push = |kernel, roundings, result| {
        outcomes.push(Outcome {
            kernel,
            result,
            roundings,
        })
    };

    b.spmv(A, &x, &mut y);
    push("SpMV", 32.0, b.read(&y)?);
    b.forget_scalars();
    let dots = [b.dot(&x, &y), b.dot(&x, &x)];
    let quotient = b.ratio(dots[0], dots[1]);
    for scalar in [dots[0], dots[1], quotient, -quotient] {
        push("DDOT", 64.0, b.read_scalars(&[scalar])?);
    }
    b.waxpby(quotient, &x, -dots[1], &mut z);
    push("WAXPBY", 128.0, b.read(&z)?);

    b.symgs(A, &x, &mut y);
    push("SYMGS", 64.0, b.read(&y)?);
    b.zero(&mut y);
    b.symgs(A, &x, &mut y);
    push("SYMGS", 64.0, b.read(&y)?);
    if let Some(coarse) = level.coarse {
        let mut rc = b.vector(coarse.perm.len())?;
        b.restriction(A, &x, &y, &mut rc);
        push("Restriction", 4.0, b.read(&rc)?);
        b.prolongation(A, &rc, &mut y);
        push("Prolongation", 64.0, b.read(&y)?);
        b.smooth_from_zero(A, &x, &mut y, Some(&mut z));
        push("V-cycle steps", 64.0, b.read(&y)?);
        b.restrict_residual(A, halo, &x, &mut y, &mut z, &mut rc)?;
        push("V-cycle steps", 128.0, b.read(&rc)?);
        let dot = b.correct_and_smooth_dot(A, halo, &rc, &x, &mut y, &mut z)?;
        push("V-cycle steps", 128.0, b.read(&y)?);
        push("V-cycle steps", 128.0, b.read_scalars(&[dot])?);
    } else {
        b.smooth_from_zero(A, &x, &mut y, None);
        push("V-cycle steps", 64.0, b.read(&y)?);
    }
    let dot = b.spmv_dot(A, halo, &mut x, &mut z)?;
    push("CG steps", 64.0, b.read(&z)?);
    push("CG steps", 128.0, b.read_scalars(&[dot])?);
    let (mut v, mut w) = (b.vector(ncol)?, b.vector(ncol)?);
    b.copy(&y, &mut v);
    b.copy(&x, &mut w);
    let dot = b.update_and_norm(quotient, &x, &z, &mut v, &mut w);
    push("CG steps", 128.0, b.read(&v)?);
    push("CG steps", 128.0, b.read(&w)?);
    push("CG steps", 256.0, b.read_scalars(&[dot])?);
    Ok(outcomes)
}

fn run_mg<B: Backend>(
    b: &mut B,
    system: &mut impl System<B>,
    level: &Ordered<'_>,
) -> Result<Outcome, Error> {
    let ncol = level.level.A.ncol;
    let (mut x, mut y) = (b.vector(ncol)?, b.vector(ncol)?);
    b.write(
        &mut x,
        &level.order.permute(&hash_vector(&level.level.geometry)),
    );
    system.precondition(b, &x, &mut y)?;
    Ok(Outcome {
        kernel: "MG",
        result: b.read(&y)?,
        roundings: 128.0,
    })
}

/// The checks of one level, kernels that were run more than once merged into their worst.
fn compare(level: usize, ours: &[Outcome], theirs: &[Outcome], epsilon: f64) -> Vec<KernelCheck> {
    let mut checks: Vec<KernelCheck> = Vec::new();
    for (ours, theirs) in ours.iter().zip(theirs) {
        let size = theirs
            .result
            .iter()
            .fold(0.0, |max: f64, t| max.max(t.abs()));
        let error = (ours.result.iter().zip(&theirs.result))
            .map(|(o, t)| (o - t).abs() / size)
            .fold(0.0, |max, error| {
                if error.is_nan() {
                    f64::INFINITY
                } else {
                    f64::max(max, error)
                }
            });
        let bound = ours.roundings * epsilon;
        match checks.iter_mut().find(|check| check.kernel == ours.kernel) {
            Some(check) => {
                check.error = check.error.max(error);
                check.bound = check.bound.max(bound);
            }
            None => checks.push(KernelCheck {
                kernel: ours.kernel,
                level,
                error,
                bound,
            }),
        }
    }
    checks
}
