//! Preconditioned conjugate gradients, written once for every device and precision (HPCG: `CG`).

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
    /// Vectors for a finest level with `ncol` columns.
    ///
    /// # Errors
    /// If the device cannot hold them.
    pub fn new(backend: &mut B, ncol: usize) -> Result<Self, Error> {
        let mut vector = || backend.vector(ncol);
        Ok(Self {
            r: vector()?,
            z: vector()?,
            p: vector()?,
            Ap: vector()?,
        })
    }

    /// The vector that takes a product with A or M⁻¹.
    pub fn product(&mut self) -> &mut B::Vector {
        &mut self.Ap
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
    backend.spmv(system.A(), x, Ap);
    backend.enter(Op::Waxpby);
    backend.copy(b, r);
    backend.waxpby(-one, Ap, one, r);
    backend.enter(Op::Dot);
    let mut squares = vec![backend.dot(r, r)];
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
            system.precondition(backend, r, z)
        } else {
            backend.copy(r, z);
            backend.enter(Op::Dot);
            backend.dot(r, z)
        };

        backend.enter(Op::Waxpby);
        if k == 1 {
            backend.copy(z, p);
        } else {
            let beta = backend.ratio(rtz, oldrtz);
            backend.waxpby(one, z, beta, p);
        }
        oldrtz = rtz;

        backend.enter(Op::Spmv);
        let pAp = backend.spmv_dot(system.A(), p, Ap);
        backend.enter(Op::Waxpby);
        let alpha = backend.ratio(rtz, pAp);
        squares.push(backend.update_and_norm(alpha, p, Ap, x, r));
        backend.submit();
    }
    let norms = Norms::read(backend, &squares)?;
    Ok(Convergence {
        normr0: norms.0[0],
        scaled_residuals: (1..squares.len()).map(|k| norms.scaled(k)).collect(),
    })
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
