//! The spectral test: with a hugely dominant diagonal there are about ten distinct eigenvalues, so
//! CG must converge in as many iterations, and at once with the preconditioner (HPCG: `TestCG`).

use cubie_host::Problem;

use crate::backend::Backend;
use crate::cg::CgParams;
use crate::error::Error;
use crate::mg::System;
use crate::results::Spectral;
use crate::solver::Solver;

/// Runs the test and restores the system.
///
/// The diagonal and b are scaled by 1e6, in the global rows 0 to 8 by (row + 2)·1e6; coarse
/// levels keep their diagonals.
///
/// # Errors
/// If the device fails.
pub fn spectral<B: Backend, S: System<B>>(
    problem: &Problem,
    solver: &mut Solver<B, S>,
) -> Result<Spectral, Error> {
    let geometry = &problem.levels[0].geometry;
    let diagonal = problem.levels[0].A.diagonal_values();
    let scale = |i: usize| match geometry.global_row(i) {
        row @ 0..9 => (row + 2) as f64 * 1e6,
        _ => 1e6,
    };
    let scaled =
        |v: &[f64]| -> Vec<f64> { v.iter().enumerate().map(|(i, v)| v * scale(i)).collect() };
    solver.replace_diagonal(&scaled(&diagonal));
    solver.set_b(&scaled(&problem.b));

    let mut most = |preconditioned| -> Result<u64, Error> {
        let params = CgParams {
            max_iter: 50,
            tolerance: 1e-12,
            preconditioned,
        };
        let mut most = 0;
        for _ in 0..2 {
            let convergence = solver.solve(&params)?;
            let reached = convergence.last() <= params.tolerance * (1.0 + 1e-6);
            most = most.max(if reached {
                convergence.iterations()
            } else {
                params.max_iter + 1
            });
        }
        Ok(most as u64)
    };
    let (unpreconditioned, preconditioned) = (most(false)?, most(true)?);

    solver.replace_diagonal(&diagonal);
    solver.set_b(&problem.b);
    let (unpreconditioned_expected, preconditioned_expected) = (12, 2);
    Ok(Spectral {
        passed: unpreconditioned <= unpreconditioned_expected
            && preconditioned <= preconditioned_expected,
        unpreconditioned,
        unpreconditioned_expected,
        preconditioned,
        preconditioned_expected,
    })
}
