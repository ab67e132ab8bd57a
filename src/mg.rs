//! The preconditioner z = M⁻¹ r: one multigrid V-cycle, written once for every device and
//! precision (HPCG: `ComputeMG`).

use cubie_host::Ordered;

use crate::backend::{Backend, Convert};
use crate::error::Error;

/// A matrix and its preconditioner on a device.
pub trait System<B: Backend> {
    /// The matrix that CG multiplies with.
    fn A(&self) -> &B::Matrix;
    /// z = M⁻¹ r
    fn precondition(&mut self, backend: &mut B, r: &B::Vector, z: &mut B::Vector);
    /// Replaces the diagonal of the finest level, in the preconditioner too.
    fn replace_diagonal(&mut self, backend: &mut B, diagonal: &[f64]);
}

/// The levels of a V-cycle, finest first.
pub struct Multigrid<B: Backend> {
    levels: Vec<Level<B>>,
}

struct Level<B: Backend> {
    A: B::Matrix,
    coarse: Option<Coarse<B>>,
}

/// Work vectors of the step to the next coarser level.
struct Coarse<B: Backend> {
    /// A x on the fine level.
    Axf: B::Vector,
    /// The residual, restricted.
    rc: B::Vector,
    /// The correction.
    xc: B::Vector,
}

impl<B: Backend> Multigrid<B> {
    /// Uploads the levels and allocates the work vectors.
    ///
    /// # Errors
    /// If the device cannot hold them.
    pub fn new(backend: &mut B, levels: &[Ordered<'_>]) -> Result<Self, Error> {
        let mut uploaded = Vec::with_capacity(levels.len());
        for (l, level) in levels.iter().enumerate() {
            let A = backend.matrix(level)?;
            let coarse = match levels.get(l + 1) {
                None => None,
                Some(next) => Some(Coarse {
                    Axf: backend.vector(level.level.A.ncol)?,
                    rc: backend.vector(next.level.A.ncol)?,
                    xc: backend.vector(next.level.A.ncol)?,
                }),
            };
            uploaded.push(Level { A, coarse });
        }
        Ok(Self { levels: uploaded })
    }
}

/// x = M⁻¹ r on the first of `levels`.
fn v_cycle<B: Backend>(backend: &mut B, levels: &mut [Level<B>], r: &B::Vector, x: &mut B::Vector) {
    let Some((Level { A, coarse }, coarser)) = levels.split_first_mut() else {
        return;
    };
    backend.smooth_from_zero(A, r, x);
    if let Some(Coarse { Axf, rc, xc }) = coarse {
        backend.restrict_residual(A, r, x, Axf, rc);
        v_cycle(backend, coarser, rc, xc);
        backend.correct_and_smooth(A, xc, r, x);
    }
}

impl<B: Backend> System<B> for Multigrid<B> {
    fn A(&self) -> &B::Matrix {
        &self.levels[0].A
    }
    fn precondition(&mut self, backend: &mut B, r: &B::Vector, z: &mut B::Vector) {
        v_cycle(backend, &mut self.levels, r, z);
    }
    fn replace_diagonal(&mut self, backend: &mut B, diagonal: &[f64]) {
        backend.replace_diagonal(&mut self.levels[0].A, diagonal);
    }
}

/// A matrix in the precision of CG with a V-cycle in another, narrower one.
pub struct Mixed<B: Backend, C: Backend> {
    A: B::Matrix,
    inner: C,
    mg: Multigrid<C>,
    r: C::Vector,
    z: C::Vector,
}

impl<B: Backend, C: Backend> Mixed<B, C> {
    /// Uploads the finest matrix for `backend` and all levels for `inner`, on the same device.
    ///
    /// # Errors
    /// If the device cannot hold them.
    pub fn new(backend: &mut B, mut inner: C, levels: &[Ordered<'_>]) -> Result<Self, Error> {
        let A = backend.matrix(&levels[0])?;
        let mg = Multigrid::new(&mut inner, levels)?;
        let ncol = levels[0].level.A.ncol;
        let (r, z) = (inner.vector(ncol)?, inner.vector(ncol)?);
        Ok(Self { A, inner, mg, r, z })
    }
}

impl<B: Convert<C>, C: Backend> System<B> for Mixed<B, C> {
    fn A(&self) -> &B::Matrix {
        &self.A
    }
    fn precondition(&mut self, backend: &mut B, r: &B::Vector, z: &mut B::Vector) {
        backend.convert_to(r, &mut self.inner, &mut self.r);
        self.mg.precondition(&mut self.inner, &self.r, &mut self.z);
        backend.convert_from(&mut self.inner, &self.z, z);
    }
    fn replace_diagonal(&mut self, backend: &mut B, diagonal: &[f64]) {
        backend.replace_diagonal(&mut self.A, diagonal);
        self.mg.replace_diagonal(&mut self.inner, diagonal);
    }
}
