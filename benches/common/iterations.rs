//! Whole CG iterations on any device: how long a set of them takes, and what it moves.

use std::time::{Duration, Instant};

use cubie::cg::CgParams;
use cubie::device::Job;
use cubie::mg::System;
use cubie::solver::Solver;
use cubie::{Backend, Error, Precision, Work};
use cubie_host::{Ordered, Problem, Ranks};

use super::median::median;

/// Solves set after set, each from x = 0.
pub(crate) struct Iterations<'a> {
    /// What the device computes in.
    pub(crate) precision: Precision,
    /// Gives the right-hand side.
    pub(crate) problem: &'a Problem,
    /// The finest level.
    pub(crate) level: &'a Ordered<'a>,
    /// Iterations of a set.
    pub(crate) iterations: usize,
    /// Sets go on at least so long, and one is done whatever it takes.
    pub(crate) least: Duration,
    /// When the conversion of the matrices began.
    pub(crate) began: Instant,
}

/// What was measured.
pub(crate) struct Measured {
    /// From [`Iterations::began`] until the device holds all and is idle.
    pub(crate) optimise: Duration,
    /// Of a set, by the wall clock: the median.
    pub(crate) set: f64,
    /// Of all sets.
    pub(crate) seconds: f64,
    /// In all sets.
    pub(crate) iterations: usize,
    /// Of all sets.
    pub(crate) work: Work,
    /// The scaled residual after a set.
    pub(crate) residual: f64,
}

impl Job for Iterations<'_> {
    type Output = Measured;

    fn run<B: Backend, S: System<B>>(self, backend: B, system: S) -> Result<Measured, Error> {
        let narrow = self.precision != Precision::F64;
        let ranks = Ranks::serial();
        let b = &self.problem.b;
        let mut solver = Solver::new(backend, &ranks, system, self.level, b, narrow)?;
        solver.finish()?;
        let optimise = self.began.elapsed();
        let params = |max_iter| CgParams {
            max_iter,
            tolerance: 0.0,
            preconditioned: true,
        };
        // Drivers compile at first, and the queue learns how fast the device is.
        for _ in 0..2 {
            solver.solve(&params(3))?;
            solver.finish()?;
        }
        let mut seconds = Vec::new();
        let mut work = Work::default();
        let mut residual = 1.0;
        let start = Instant::now();
        while seconds.is_empty() || start.elapsed() < self.least {
            let set = Instant::now();
            residual = solver.solve(&params(self.iterations))?.last();
            work += solver.finish()?;
            seconds.push(set.elapsed().as_secs_f64());
        }
        Ok(Measured {
            optimise,
            seconds: seconds.iter().sum(),
            iterations: seconds.len() * self.iterations,
            set: median(seconds),
            work,
            residual,
        })
    }
}
