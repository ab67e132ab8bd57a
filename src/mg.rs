//! The preconditioner z = M⁻¹ r: one multigrid V-cycle, written once for every device and
//! precision (HPCG: `ComputeMG`).

use cubie_host::Ordered;

use crate::backend::{Backend, Convert};
use crate::error::Error;
use crate::meter::Op;

/// A matrix and its preconditioner on a device.
pub trait System<B: Backend> {
    /// The matrix that CG multiplies with.
    fn A(&self) -> &B::Matrix;
    /// z = M⁻¹ r and r·z.
    fn precondition(&mut self, backend: &mut B, r: &B::Vector, z: &mut B::Vector) -> B::Scalar;
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
    /// What the fine level's smoother and residual leave for each other.
    work: B::Vector,
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
                    work: backend.vector(level.level.A.ncol)?,
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
    match coarse {
        None => backend.smooth_from_zero(A, r, x, None),
        Some(coarse) => {
            descend(backend, A, coarse, coarser, r, x);
            backend.correct_and_smooth(A, &coarse.xc, r, x, &mut coarse.work);
        }
    }
}

/// The V-cycle of one level up to the coarse correction: smooth, restrict, and solve below.
fn descend<B: Backend>(
    backend: &mut B,
    A: &B::Matrix,
    coarse: &mut Coarse<B>,
    coarser: &mut [Level<B>],
    r: &B::Vector,
    x: &mut B::Vector,
) {
    let Coarse { work, rc, xc } = coarse;
    backend.smooth_from_zero(A, r, x, Some(work));
    backend.restrict_residual(A, r, x, work, rc);
    v_cycle(backend, coarser, rc, xc);
}

impl<B: Backend> System<B> for Multigrid<B> {
    fn A(&self) -> &B::Matrix {
        &self.levels[0].A
    }
    fn precondition(&mut self, backend: &mut B, r: &B::Vector, z: &mut B::Vector) -> B::Scalar {
        let (finest, coarser) = self.levels.split_first_mut().expect("at least one level");
        let A = &finest.A;
        match &mut finest.coarse {
            None => {
                backend.smooth_from_zero(A, r, z, None);
                backend.enter(Op::Dot);
                backend.dot(r, z)
            }
            Some(coarse) => {
                descend(backend, A, coarse, coarser, r, z);
                backend.correct_and_smooth_dot(A, &coarse.xc, r, z, &mut coarse.work)
            }
        }
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
    fn precondition(&mut self, backend: &mut B, r: &B::Vector, z: &mut B::Vector) -> B::Scalar {
        backend.convert_to(r, &mut self.inner, &mut self.r);
        v_cycle(&mut self.inner, &mut self.mg.levels, &self.r, &mut self.z);
        backend.convert_from(&mut self.inner, &self.z, z);
        backend.enter(Op::Dot);
        backend.dot(r, z)
    }
    fn replace_diagonal(&mut self, backend: &mut B, diagonal: &[f64]) {
        backend.replace_diagonal(&mut self.A, diagonal);
        self.mg.replace_diagonal(&mut self.inner, diagonal);
    }
}
