//! The true residual ‖b − A x‖/‖b‖ and the distance to the exact solution, in double precision on
//! the host: the residual that CG carries along keeps falling when the true one no longer does.

use cubie_host::Problem;

use crate::reference::{dot, spmv};
use crate::results::SolutionError;

/// ‖b − A x‖ / ‖b‖ for a problem without halo.
pub fn true_residual(problem: &Problem, x: &[f64]) -> f64 {
    let mut Ax = vec![0.0; problem.b.len()];
    spmv(&problem.levels[0].A, x, &mut Ax);
    let r: Vec<f64> = problem.b.iter().zip(&Ax).map(|(b, Ax)| b - Ax).collect();
    (dot(&r, &r) / dot(&problem.b, &problem.b)).sqrt()
}

/// max|x − xexact| and ‖x − xexact‖.
pub fn solution_error(problem: &Problem, x: &[f64]) -> SolutionError {
    let error: Vec<f64> = x
        .iter()
        .zip(&problem.xexact)
        .map(|(x, exact)| (x - exact).abs())
        .collect();
    SolutionError {
        max: error.iter().copied().fold(0.0, f64::max),
        norm2: dot(&error, &error).sqrt(),
    }
}
