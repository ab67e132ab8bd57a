//! The true residual ‖b − A x‖/‖b‖ and the distance to the exact solution, in double precision on
//! the host: the residual that CG carries along keeps falling when the true one no longer does.

use cubie_host::comm::max_or_nan;
use cubie_host::{Problem, Ranks};

use crate::error::Error;
use crate::reference::{dot, pack, spmv, unpack};
use crate::results::SolutionError;

/// ‖b − A x‖ / ‖b‖
///
/// # Errors
/// If the ranks cannot exchange the halo of x.
pub fn true_residual(problem: &Problem, ranks: &Ranks, x: &[f64]) -> Result<f64, Error> {
    let finest = &problem.levels[0];
    let mut x_and_halo = x.to_vec();
    x_and_halo.resize(finest.A.ncol, 0.0);
    let mut exchange = ranks.exchange(&finest.halo, size_of::<f64>())?;
    exchange.start(|bytes| {
        pack(&finest.halo.send_rows, x, bytes);
        Ok::<_, Error>(())
    })?;
    exchange.finish(|bytes| unpack(bytes, &mut x_and_halo[finest.A.nrow..]));

    let mut Ax = vec![0.0; finest.A.nrow];
    spmv(&finest.A, &x_and_halo, &mut Ax);
    let r: Vec<f64> = problem.b.iter().zip(&Ax).map(|(b, Ax)| b - Ax).collect();
    Ok((ranks.sum_of(dot(&r, &r)) / ranks.sum_of(dot(&problem.b, &problem.b))).sqrt())
}

/// max|x − xexact| and ‖x − xexact‖.
pub fn solution_error(problem: &Problem, ranks: &Ranks, x: &[f64]) -> SolutionError {
    let both = x.iter().zip(&problem.xexact);
    let error: Vec<f64> = both.map(|(x, exact)| (x - exact).abs()).collect();
    SolutionError {
        max: ranks.max_of(error.iter().copied().fold(0.0, max_or_nan)),
        norm2: ranks.sum_of(dot(&error, &error)).sqrt(),
    }
}
