//! The preconditioner z = M⁻¹ r: one multigrid V-cycle, written once for every device and
//! precision (HPCG: `ComputeMG`).

use cubie_host::{HaloExchange, Ordered, Ranks};

use crate::backend::{Backend, Convert};
use crate::error::Error;
use crate::meter::Op;
use crate::textbook;

/// A matrix and its preconditioner on a device. Sums are those of this rank.
pub trait System<B: Backend> {
    /// y = A x
    ///
    /// # Errors
    /// If the device fails.
    fn spmv(&mut self, backend: &mut B, x: &mut B::Vector, y: &mut B::Vector) -> Result<(), Error>;
    /// y = A x and x·y.
    ///
    /// # Errors
    /// If the device fails.
    fn spmv_dot(
        &mut self,
        backend: &mut B,
        x: &mut B::Vector,
        y: &mut B::Vector,
    ) -> Result<B::Scalar, Error>;
    /// z = M⁻¹ r and r·z.
    ///
    /// # Errors
    /// If the device fails.
    fn precondition(
        &mut self,
        backend: &mut B,
        r: &B::Vector,
        z: &mut B::Vector,
    ) -> Result<B::Scalar, Error>;
    /// The epsilon of what M⁻¹ is applied in.
    fn mg_epsilon(&self, backend: &B) -> f64;
    /// Replaces the diagonal of the finest level, in the preconditioner too.
    fn replace_diagonal(&mut self, backend: &mut B, diagonal: &[f64]);
}

/// The levels of a V-cycle, finest first.
pub struct Multigrid<B: Backend> {
    levels: Vec<Level<B>>,
}

struct Level<B: Backend> {
    A: B::Matrix,
    halo: HaloExchange,
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
    /// Uploads the levels, allocates the work vectors and prepares the exchange of halos.
    ///
    /// # Errors
    /// If the device cannot hold them, or the ranks cannot talk like this.
    pub fn new(backend: &mut B, levels: &[Ordered<'_>], ranks: &Ranks) -> Result<Self, Error> {
        let mut uploaded = Vec::with_capacity(levels.len());
        for (l, level) in levels.iter().enumerate() {
            let A = backend.matrix(level)?;
            let halo = ranks.exchange(&level.level.halo, backend.element())?;
            let coarse = match levels.get(l + 1) {
                None => None,
                Some(next) => Some(Coarse {
                    work: backend.vector(level.level.A.nrow)?,
                    rc: backend.vector(next.level.A.nrow)?,
                    xc: backend.vector(next.level.A.ncol)?,
                }),
            };
            uploaded.push(Level { A, halo, coarse });
        }
        Ok(Self { levels: uploaded })
    }
}

/// x = M⁻¹ r on the first of `levels`.
fn v_cycle<B: Backend>(
    backend: &mut B,
    levels: &mut [Level<B>],
    r: &B::Vector,
    x: &mut B::Vector,
) -> Result<(), Error> {
    let Some((Level { A, halo, coarse }, coarser)) = levels.split_first_mut() else {
        return Ok(());
    };
    match coarse {
        None => backend.smooth_from_zero(A, r, x, None),
        Some(coarse) => {
            descend(backend, A, halo, coarse, coarser, r, x)?;
            backend.correct_and_smooth(A, halo, &coarse.xc, r, x, &mut coarse.work)?;
        }
    }
    Ok(())
}

/// The V-cycle of one level up to the coarse correction: smooth, restrict, and solve below.
fn descend<B: Backend>(
    backend: &mut B,
    A: &B::Matrix,
    halo: &mut HaloExchange,
    coarse: &mut Coarse<B>,
    coarser: &mut [Level<B>],
    r: &B::Vector,
    x: &mut B::Vector,
) -> Result<(), Error> {
    let Coarse { work, rc, xc } = coarse;
    backend.smooth_from_zero(A, r, x, Some(work));
    backend.restrict_residual(A, halo, r, x, work, rc)?;
    v_cycle(backend, coarser, rc, xc)
}

impl<B: Backend> System<B> for Multigrid<B> {
    fn spmv(&mut self, backend: &mut B, x: &mut B::Vector, y: &mut B::Vector) -> Result<(), Error> {
        let Level { A, halo, .. } = &mut self.levels[0];
        textbook::exchange_halo(backend, A, halo, x)?;
        backend.spmv(A, x, y);
        Ok(())
    }
    fn spmv_dot(
        &mut self,
        backend: &mut B,
        x: &mut B::Vector,
        y: &mut B::Vector,
    ) -> Result<B::Scalar, Error> {
        let Level { A, halo, .. } = &mut self.levels[0];
        backend.spmv_dot(A, halo, x, y)
    }
    fn precondition(
        &mut self,
        backend: &mut B,
        r: &B::Vector,
        z: &mut B::Vector,
    ) -> Result<B::Scalar, Error> {
        let (Level { A, halo, coarse }, coarser) = self.levels.split_first_mut().expect("a level");
        match coarse {
            None => {
                backend.smooth_from_zero(A, r, z, None);
                backend.enter(Op::Dot);
                Ok(backend.dot(r, z))
            }
            Some(coarse) => {
                descend(backend, A, halo, coarse, coarser, r, z)?;
                backend.correct_and_smooth_dot(A, halo, &coarse.xc, r, z, &mut coarse.work)
            }
        }
    }
    fn mg_epsilon(&self, backend: &B) -> f64 {
        backend.epsilon()
    }
    fn replace_diagonal(&mut self, backend: &mut B, diagonal: &[f64]) {
        backend.replace_diagonal(&mut self.levels[0].A, diagonal);
    }
}

/// A matrix in the precision of CG with a V-cycle in another, narrower one.
pub struct Mixed<B: Backend, C: Backend> {
    A: B::Matrix,
    halo: HaloExchange,
    inner: C,
    mg: Multigrid<C>,
    r: C::Vector,
    z: C::Vector,
}

impl<B: Backend, C: Backend> Mixed<B, C> {
    /// Uploads the finest matrix for `backend` and all levels for `inner`, on the same device.
    ///
    /// # Errors
    /// As [`Multigrid::new`].
    pub fn new(
        backend: &mut B,
        mut inner: C,
        levels: &[Ordered<'_>],
        ranks: &Ranks,
    ) -> Result<Self, Error> {
        let finest = &levels[0];
        let A = backend.matrix(finest)?;
        let halo = ranks.exchange(&finest.level.halo, backend.element())?;
        let mg = Multigrid::new(&mut inner, levels, ranks)?;
        let r = inner.vector(finest.level.A.nrow)?;
        let z = inner.vector(finest.level.A.ncol)?;
        Ok(Self {
            A,
            halo,
            inner,
            mg,
            r,
            z,
        })
    }
}

impl<B: Convert<C>, C: Backend> System<B> for Mixed<B, C> {
    fn spmv(&mut self, backend: &mut B, x: &mut B::Vector, y: &mut B::Vector) -> Result<(), Error> {
        textbook::exchange_halo(backend, &self.A, &mut self.halo, x)?;
        backend.spmv(&self.A, x, y);
        Ok(())
    }
    fn spmv_dot(
        &mut self,
        backend: &mut B,
        x: &mut B::Vector,
        y: &mut B::Vector,
    ) -> Result<B::Scalar, Error> {
        backend.spmv_dot(&self.A, &mut self.halo, x, y)
    }
    fn precondition(
        &mut self,
        backend: &mut B,
        r: &B::Vector,
        z: &mut B::Vector,
    ) -> Result<B::Scalar, Error> {
        backend.convert_to(r, &mut self.inner, &mut self.r);
        v_cycle(&mut self.inner, &mut self.mg.levels, &self.r, &mut self.z)?;
        backend.convert_from(&mut self.inner, &self.z, z);
        backend.enter(Op::Dot);
        Ok(backend.dot(r, z))
    }
    fn mg_epsilon(&self, _: &B) -> f64 {
        self.inner.epsilon()
    }
    fn replace_diagonal(&mut self, backend: &mut B, diagonal: &[f64]) {
        backend.replace_diagonal(&mut self.A, diagonal);
        self.mg.replace_diagonal(&mut self.inner, diagonal);
    }
}
