//! Phases 3 and 4: the kernels in natural order, timed and run for 50 iterations.
//!
//! They run on the CPU whatever the device is; several threads give the bits of one.

use cubie_host::{Order, Problem, Ranks};

use super::phases::Phases;
use crate::cg::CgParams;
use crate::error::Error;
use crate::mg::Multigrid;
use crate::params::Params;
use crate::reference;
use crate::results::Reference;
use crate::solver::{Orderings, Solver};
use crate::validate::residual::true_residual;
use crate::validate::symmetry::random_vector;

/// Iterations of the reference CG, and the least of a timed set.
pub(super) const ITERATIONS: usize = 50;

pub(super) fn run(
    params: &Params,
    ranks: &Ranks,
    problem: &Problem,
    phases: &mut Phases<'_>,
) -> Result<Reference, Error> {
    let orderings = Orderings::new(&Order::Natural, problem);
    let levels = orderings.view(&problem.levels);
    let mut backend = reference::Reference::on(params.threads);
    let system = Multigrid::new(&mut backend, &levels, ranks)?;
    let mut solver = Solver::new(backend, ranks, system, &levels[0], &problem.b, false)?;

    let calls = if params.seconds == 0 { 1 } else { 10 };
    solver.set_input(&random_vector(&problem.levels[0].geometry, 0));
    phases.run(
        "reference SpMV and MG",
        calls,
        |progress| -> Result<(), Error> {
            for _ in 0..calls {
                solver.spmv()?;
                solver.mg()?;
                progress.step();
            }
            Ok(())
        },
    )?;
    let spmv_mg_seconds = phases.last() / calls as f64;

    let fifty = CgParams {
        max_iter: ITERATIONS,
        tolerance: 0.0,
        preconditioned: true,
    };
    let convergence = phases.run("reference CG", 0, |_| solver.solve(&fifty))?;
    Ok(Reference {
        iterations: convergence.iterations() as u64,
        normr0: convergence.normr0,
        true_residual: true_residual(problem, ranks, &solver.solution()?)?,
        scaled_residuals: convergence.scaled_residuals,
        spmv_mg_seconds,
    })
}
