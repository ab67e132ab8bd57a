//! One symmetric Gauss–Seidel step on A x = r. HPCG: `ComputeSYMGS_ref`.

use cubie_host::Matrix;

/// The rows forward, then backward: x_i = (r_i − Σ_{j≠i} a_ij x_j) / a_ii with the newest x.
/// Elements of the halo stay as they are.
pub fn symgs(A: &Matrix, r: &[f64], x: &mut [f64]) {
    for i in (0..A.nrow).chain((0..A.nrow).rev()) {
        x[i] = relaxed(A, i, r[i], |j| x[j]);
    }
}

/// The new x_i from the present `x`.
#[inline(always)]
pub(super) fn relaxed(A: &Matrix, i: usize, r: f64, x: impl Fn(usize) -> f64) -> f64 {
    let (cols, values) = A.row(i);
    let diagonal = A.diagonal_value(i);
    let mut sum = r;
    for (&j, &a) in cols.iter().zip(values) {
        sum -= a * x(j as usize);
    }
    sum += x(i) * diagonal;
    sum / diagonal
}
