//! One problem on one device in one order: what the phases of the benchmark work with.

use cubie_host::{Level, Order, Ordered, Ordering, Problem, Ranks};

use crate::backend::Backend;
use crate::cg::{CgParams, Convergence, Workspace, cg};
use crate::error::Error;
use crate::meter::Work;
use crate::mg::System;

/// The orders of all levels of a problem.
pub struct Orderings(Vec<Ordering>);

impl Orderings {
    /// Orders the rows of every level.
    pub fn new(order: &Order, problem: &Problem) -> Self {
        Self(
            problem
                .levels
                .iter()
                .map(|level| Ordering::new(order, level))
                .collect(),
        )
    }

    /// The levels of `problem` seen in these orders, finest first.
    pub fn view<'a>(&'a self, levels: &'a [Level]) -> Vec<Ordered<'a>> {
        levels
            .iter()
            .enumerate()
            .map(|(l, level)| Ordered {
                level,
                order: &self.0[l],
                coarse: self.0.get(l + 1),
            })
            .collect()
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(Ordering::bytes).sum()
    }
}

/// A system on its device with the vectors that CG needs. Vectors go in and out in natural order
/// and without externals.
pub struct Solver<B: Backend, S> {
    backend: B,
    ranks: Ranks,
    system: S,
    order: Ordering,
    /// Whether the device has the exponents of single precision.
    narrow: bool,
    /// b is multiplied with this power of two on its way to the device and x divided by it on its
    /// way back, so that no product of two vectors over- or underflows.
    scale: f64,
    b: B::Vector,
    x: B::Vector,
    workspace: Workspace<B>,
}

impl<B: Backend, S: System<B>> Solver<B, S> {
    /// Allocates the vectors and uploads b. With `narrow` exponents b is scaled to ‖b‖ ≈ 2⁴⁰.
    ///
    /// # Errors
    /// If the device cannot hold them.
    pub fn new(
        mut backend: B,
        ranks: &Ranks,
        system: S,
        level: &Ordered<'_>,
        b: &[f64],
        narrow: bool,
    ) -> Result<Self, Error> {
        let (nrow, ncol) = (level.level.A.nrow, level.level.A.ncol);
        let (device_b, x) = (backend.vector(nrow)?, backend.vector(ncol)?);
        let workspace = Workspace::new(&mut backend, nrow, ncol)?;
        let order = level.order.clone();
        let ranks = ranks.clone();
        let mut solver = Self {
            backend,
            ranks,
            system,
            order,
            narrow,
            scale: 1.0,
            b: device_b,
            x,
            workspace,
        };
        solver.set_b(b);
        Ok(solver)
    }

    /// The epsilons of what A and M⁻¹ are applied in.
    pub fn epsilons(&self) -> (f64, f64) {
        (
            self.backend.epsilon(),
            self.system.mg_epsilon(&self.backend),
        )
    }

    /// The ranks that solve together.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Replaces the right-hand side.
    pub fn set_b(&mut self, b: &[f64]) {
        if self.narrow {
            // The spectral test's diagonal of 2²⁸ takes p·Ap to 2¹⁰⁸, below the largest single of
            // 2¹²⁸; r·r stays above the least of 2⁻¹²⁶ until ‖r‖ has fallen by a factor of 2¹⁰³.
            let norm = self.ranks.sum_of(b.iter().map(|b| b * b).sum()).sqrt();
            self.scale = (40.0 - norm.log2().round()).exp2();
        }
        let scaled: Vec<f64> = self
            .order
            .perm
            .iter()
            .map(|&i| b[i as usize] * self.scale)
            .collect();
        self.backend.write(&mut self.b, &scaled);
    }

    /// Replaces the diagonal of the finest level.
    pub fn replace_diagonal(&mut self, diagonal: &[f64]) {
        self.system
            .replace_diagonal(&mut self.backend, &self.order.permute(diagonal));
    }

    /// Solves A x = b from x = 0.
    ///
    /// # Errors
    /// If the device fails.
    pub fn solve(&mut self, params: &CgParams) -> Result<Convergence, Error> {
        self.backend.zero(&mut self.x);
        let mut convergence = cg(
            &mut self.backend,
            &self.ranks,
            &mut self.system,
            params,
            &self.b,
            &mut self.x,
            &mut self.workspace,
        )?;
        convergence.normr0 /= self.scale;
        Ok(convergence)
    }

    /// The x of the last [`Solver::solve`].
    ///
    /// # Errors
    /// If the device fails.
    pub fn solution(&mut self) -> Result<Vec<f64>, Error> {
        let x = self.backend.read(&self.x)?;
        Ok(self
            .order
            .restore(&x)
            .iter()
            .map(|x| x / self.scale)
            .collect())
    }

    /// Puts `v` where the next [`Solver::spmv`] or [`Solver::mg`] finds it.
    pub fn set_input(&mut self, v: &[f64]) {
        self.backend.write(&mut self.x, &self.order.permute(v));
    }

    /// Applies A to the input; queued, not waited for.
    ///
    /// # Errors
    /// If the device fails.
    pub fn spmv(&mut self) -> Result<(), Error> {
        self.system
            .spmv(&mut self.backend, &mut self.x, self.workspace.product())
    }

    /// Applies M⁻¹ to the input; queued, not waited for.
    ///
    /// # Errors
    /// If the device fails.
    pub fn mg(&mut self) -> Result<(), Error> {
        let z = self.workspace.preconditioned();
        self.system.precondition(&mut self.backend, &self.x, z)?;
        Ok(())
    }

    /// A v
    ///
    /// # Errors
    /// If the device fails.
    pub fn spmv_of(&mut self, v: &[f64]) -> Result<Vec<f64>, Error> {
        self.set_input(v);
        self.spmv()?;
        let Ap = self.backend.read(self.workspace.product())?;
        Ok(self.order.restore(&Ap))
    }

    /// M⁻¹ v
    ///
    /// # Errors
    /// If the device fails.
    pub fn mg_of(&mut self, v: &[f64]) -> Result<Vec<f64>, Error> {
        self.set_input(v);
        self.mg()?;
        let z = self.backend.read(self.workspace.preconditioned())?;
        Ok(self.order.restore(&z))
    }

    /// Waits until the device is idle; the work since the last call.
    ///
    /// # Errors
    /// If the device fails.
    pub fn finish(&mut self) -> Result<Work, Error> {
        self.backend.finish()
    }

    /// Bytes that the backend allocated.
    pub fn allocated(&self) -> u64 {
        self.backend.allocated()
    }
}
