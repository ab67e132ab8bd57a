//! Preconditioned conjugate gradients, written once for every device and precision (HPCG: `CG`).

use cubie_host::Ranks;

use crate::backend::Backend;
use crate::error::Error;
use crate::meter::Op;
use crate::mg::System;

/// The vectors CG works on, allocated before timing.
pub struct Workspace<B: Backend> {
    r: B::Vector,
    z: B::Vector,
    p: B::Vector,
    Ap: B::Vector,
}

impl<B: Backend> Workspace<B> {
    /// Vectors for a finest level with `nrow` rows and `ncol` columns.
    ///
    /// # Errors
    /// If the device cannot hold them.
    pub fn new(backend: &mut B, nrow: usize, ncol: usize) -> Result<Self, Error> {
        Ok(Self {
            r: backend.vector(nrow)?,
            z: backend.vector(ncol)?,
            p: backend.vector(ncol)?,
            Ap: backend.vector(nrow)?,
        })
    }

    /// The vector that takes a product with A.
    pub fn product(&mut self) -> &mut B::Vector {
        &mut self.Ap
    }

    /// The vector that takes a product with M⁻¹.
    pub fn preconditioned(&mut self) -> &mut B::Vector {
        &mut self.z
    }
}

/// When CG stops, and whether it preconditions.
#[derive(Clone, Copy, Debug)]
pub struct CgParams {
    /// At the latest after this many iterations.
    pub max_iter: usize,
    /// As soon as normr / normr0 ≤ tolerance·(1 + 1e-6). With 0 the device is never waited for
    /// inside an iteration.
    pub tolerance: f64,
    /// Whether z = M⁻¹ r or z = r.
    pub preconditioned: bool,
}

/// How CG went.
#[derive(Clone, Debug, PartialEq)]
pub struct Convergence {
    /// ‖b − A x0‖
    pub normr0: f64,
    /// normr / normr0 after each iteration.
    pub scaled_residuals: Vec<f64>,
}

impl Convergence {
    /// Iterations done.
    pub fn iterations(&self) -> usize {
        self.scaled_residuals.len()
    }
    /// The last scaled residual; 1 if no iteration was done.
    pub fn last(&self) -> f64 {
        self.scaled_residuals.last().copied().unwrap_or(1.0)
    }
}

/// Solves A x = b from the `x` given.
///
/// # Errors
/// If the device fails.
pub fn cg<B: Backend>(
    backend: &mut B,
    ranks: &Ranks,
    system: &mut impl System<B>,
    params: &CgParams,
    b: &B::Vector,
    x: &mut B::Vector,
    workspace: &mut Workspace<B>,
) -> Result<Convergence, Error> {
    let Workspace { r, z, p, Ap } = workspace;
    backend.forget_scalars();
    let one = backend.scalar(1.0);

    backend.enter(Op::Spmv);
    system.spmv(backend, x, Ap)?;
    backend.enter(Op::Waxpby);
    backend.copy(b, r);
    backend.waxpby(-one, Ap, one, r);
    backend.enter(Op::Dot);
    let rtr = backend.dot(r, r);
    let mut squares = vec![over_ranks(backend, ranks, rtr)?];
    let mut oldrtz = one;

    for k in 1..=params.max_iter {
        if params.tolerance > 0.0 {
            let normr = Norms::read(backend, &[squares[0], squares[k - 1]])?;
            if normr.scaled(1) <= params.tolerance * (1.0 + 1e-6) {
                break;
            }
        }
        backend.enter(Op::Mg);
        let rtz = if params.preconditioned {
            system.precondition(backend, r, z)?
        } else {
            backend.copy(r, z);
            backend.enter(Op::Dot);
            backend.dot(r, z)
        };
        let rtz = over_ranks(backend, ranks, rtz)?;

        backend.enter(Op::Waxpby);
        if k == 1 {
            backend.copy(z, p);
        } else {
            let beta = backend.ratio(rtz, oldrtz);
            backend.waxpby(one, z, beta, p);
        }
        oldrtz = rtz;

        backend.enter(Op::Spmv);
        let pAp = system.spmv_dot(backend, p, Ap)?;
        let pAp = over_ranks(backend, ranks, pAp)?;
        backend.enter(Op::Waxpby);
        let alpha = backend.ratio(rtz, pAp);
        let rtr = backend.update_and_norm(alpha, p, Ap, x, r);
        squares.push(over_ranks(backend, ranks, rtr)?);
        backend.submit();
    }
    let norms = Norms::read(backend, &squares)?;
    Ok(Convergence {
        normr0: norms.0[0],
        scaled_residuals: (1..squares.len()).map(|k| norms.scaled(k)).collect(),
    })
}

/// A rank's part of a dot product, summed over the ranks; stays on the device if there is one rank.
fn over_ranks<B: Backend>(
    backend: &mut B,
    ranks: &Ranks,
    part: B::Scalar,
) -> Result<B::Scalar, Error> {
    if ranks.is_alone() {
        return Ok(part);
    }
    backend.enter(Op::Dot);
    let part = backend.read_scalars(&[part])?[0];
    Ok(backend.scalar(ranks.sum_of(part)))
}

/// Norms of the residual, the first one that of x0.
struct Norms(Vec<f64>);

impl Norms {
    fn read<B: Backend>(backend: &mut B, squares: &[B::Scalar]) -> Result<Self, Error> {
        Ok(Self(
            backend
                .read_scalars(squares)?
                .iter()
                .map(|square| square.sqrt())
                .collect(),
        ))
    }
    fn scaled(&self, k: usize) -> f64 {
        self.0[k] / self.0[0]
    }
}
