//! The symmetry test: xᵀ A y = yᵀ A x and xᵀ M⁻¹ y = yᵀ M⁻¹ x up to rounding (HPCG: `TestSymmetry`).

use cubie_host::comm::max_or_nan;
use cubie_host::{Geometry, Problem};

use crate::backend::Backend;
use crate::error::Error;
use crate::mg::System;
use crate::reference::dot;
use crate::results::Symmetry;
use crate::solver::Solver;

/// ‖A‖ as the test counts it: twice the diagonal.
const NORM_A: f64 = 52.0;

/// Departures |xᵀ A y − yᵀ A x| / ((‖x‖²·52·‖y‖² + ‖y‖²·52·‖x‖²)·ε) for A and for M⁻¹, which must be
/// at most 1. The norms are squared, as in the reference, whose label says otherwise; ε is
/// that of the precision which A and M⁻¹ are applied in.
///
/// # Errors
/// If the device fails.
pub fn symmetry<B: Backend, S: System<B>>(
    problem: &Problem,
    solver: &mut Solver<B, S>,
) -> Result<Symmetry, Error> {
    let geometry = &problem.levels[0].geometry;
    let ranks = solver.ranks().clone();
    let dot = |x: &[f64], y: &[f64]| ranks.sum_of(dot(x, y));
    let (x, y) = (random_vector(geometry, 1), random_vector(geometry, 2));
    let bound = 2.0 * NORM_A * dot(&x, &x) * dot(&y, &y);

    let spmv = dot(&x, &solver.spmv_of(&y)?) - dot(&y, &solver.spmv_of(&x)?);
    let mg = dot(&x, &solver.mg_of(&y)?) - dot(&y, &solver.mg_of(&x)?);
    let (epsilon, mg_epsilon) = solver.epsilons();
    let (spmv, mg) = (
        spmv.abs() / (bound * epsilon),
        mg.abs() / (bound * mg_epsilon),
    );

    let Ax = solver.spmv_of(&problem.xexact)?;
    let residual = problem.b.iter().zip(&Ax).map(|(b, Ax)| (b - Ax).abs());
    Ok(Symmetry {
        passed: spmv <= 1.0 && mg <= 1.0,
        spmv,
        mg,
        exact_residual: ranks.max_of(residual.fold(0.0, max_or_nan)),
    })
}

/// Uniform numbers in [1, 2) that depend on the global row and `seed` alone (splitmix64).
pub fn random_vector(geometry: &Geometry, seed: u64) -> Vec<f64> {
    (0..geometry.nrow())
        .map(|i| {
            let mut bits =
                (geometry.global_row(i) ^ (seed << 48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^= bits >> 31;
            1.0 + (bits >> 11) as f64 / (1u64 << 53) as f64
        })
        .collect()
}
