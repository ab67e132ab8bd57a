//! Phases 5 to 10: everything that runs on the device.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cubie_host::comm::Traffic;
use cubie_host::{Ordered, Problem, Ranks};

use super::phases::Phases;
use super::reference::ITERATIONS;
use crate::backend::Backend;
use crate::cg::{CgParams, Convergence};
use crate::device::Job;
use crate::error::Error;
use crate::meter::Work;
use crate::mg::System;
use crate::params::Params;
use crate::real::Precision;
use crate::results::{Checks, Iterations, Optimised, Reference, Sets};
use crate::solver::Solver;
use crate::validate::norms::norms;
use crate::validate::spectral::spectral;
use crate::validate::symmetry::symmetry;

/// A residual that is as good as zero where exponents are those of single precision. The reference
/// goes below it on tiny boxes only, where its own true residual stopped falling long before.
const NARROW_ZERO: f64 = 1e-28;

/// Iterations in which the optimised CG must reach the reference's residual.
const MAX_ITERATIONS: usize = 500;

/// What the phases need.
pub(super) struct OptimisedPhases<'a, 'p> {
    pub(super) params: &'a Params,
    pub(super) ranks: &'a Ranks,
    pub(super) precision: Precision,
    pub(super) problem: &'a Problem,
    pub(super) levels: &'a [Ordered<'a>],
    pub(super) reference: &'a Reference,
    /// When the optimise phase began.
    pub(super) optimise: Instant,
    pub(super) phases: &'a mut Phases<'p>,
    pub(super) stop: &'a AtomicBool,
}

/// What they find out; times and bytes are those of this rank.
pub(super) struct Outcome {
    pub(super) checks: Checks,
    pub(super) optimised: Optimised,
    pub(super) sets: Sets,
    pub(super) x: Vec<f64>,
    pub(super) work: Work,
    pub(super) traffic: Traffic,
    pub(super) total: f64,
    pub(super) optimise: f64,
    pub(super) allocated: u64,
}

impl Job for OptimisedPhases<'_, '_> {
    type Output = Outcome;

    fn run<B: Backend, S: System<B>>(self, backend: B, system: S) -> Result<Outcome, Error> {
        let Self {
            params,
            ranks,
            precision,
            problem,
            levels,
            reference,
            phases,
            stop,
            ..
        } = self;
        let narrow = precision != Precision::F64;
        let mut solver = Solver::new(backend, ranks, system, &levels[0], &problem.b, narrow)?;
        // Drivers compile at the first dispatch.
        solver.solve(&exactly(2))?;
        solver.finish()?;
        phases.record("optimise", self.optimise);
        let optimise = phases.last();

        let spectral = phases.run("spectral test", 0, |_| spectral(problem, &mut solver))?;
        let symmetry = phases.run("symmetry test", 0, |_| symmetry(problem, &mut solver))?;

        let zero = if narrow { NARROW_ZERO } else { 0.0 };
        let tolerance = reference.scaled_residuals[ITERATIONS - 1].max(zero);
        let target = CgParams {
            max_iter: MAX_ITERATIONS,
            tolerance,
            preconditioned: true,
        };
        let convergence = phases.run("optimised CG", 0, |_| solver.solve(&target))?;
        let iterations_per_set = convergence.iterations().max(ITERATIONS);

        let planned = planned_sets(params.seconds, phases.last());
        solver.finish()?;
        ranks.take_traffic();
        let mut scaled_residuals = Vec::new();
        let work = phases.run("timed sets", planned, |progress| -> Result<Work, Error> {
            let mut work = Work::default();
            for _ in 0..planned {
                scaled_residuals.push(solver.solve(&exactly(iterations_per_set))?.last());
                work += solver.finish()?;
                progress.step();
                let stop = stop.load(Ordering::Relaxed);
                if ranks.max_of(f64::from(u8::from(stop))) > 0.0 {
                    break;
                }
            }
            Ok(work)
        })?;
        let traffic = ranks.take_traffic();

        Ok(Outcome {
            checks: Checks {
                spectral,
                symmetry,
                norms: norms(&scaled_residuals),
                iterations: Iterations {
                    passed: reached(&convergence, tolerance),
                },
            },
            optimised: Optimised {
                iterations: convergence.iterations() as u64,
                iterations_per_set: iterations_per_set as u64,
                scaled_residuals: convergence.scaled_residuals,
            },
            sets: Sets {
                count: scaled_residuals.len() as u64,
                planned,
                scaled_residuals,
            },
            x: solver.solution()?,
            work,
            traffic,
            total: phases.last(),
            optimise,
            allocated: solver.allocated(),
        })
    }
}

/// CG that is not stopped by its residual.
fn exactly(iterations: usize) -> CgParams {
    CgParams {
        max_iter: iterations,
        tolerance: 0.0,
        preconditioned: true,
    }
}

fn reached(convergence: &Convergence, tolerance: f64) -> bool {
    convergence.last() <= tolerance * (1.0 + 1e-6)
}

/// Sets that fill `seconds` if each takes `worst`; one in the quick path.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "both are positive"
)]
fn planned_sets(seconds: u64, worst: f64) -> u64 {
    if seconds == 0 {
        return 1;
    }
    (seconds as f64 / worst) as u64 + 1
}
