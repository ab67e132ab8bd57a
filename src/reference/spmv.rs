//! y = A x. HPCG: `ComputeSPMV_ref`.

use cubie_host::Matrix;

/// y_i = Σ_j a_ij x_j over the local rows; `x` has `ncol` elements.
pub fn spmv(A: &Matrix, x: &[f64], y: &mut [f64]) {
    for (i, y) in y[..A.nrow].iter_mut().enumerate() {
        *y = row(A, i, x);
    }
}

/// Σ_j a_ij x_j of one row.
pub(super) fn row(A: &Matrix, i: usize, x: &[f64]) -> f64 {
    let (cols, values) = A.row(i);
    let mut sum = 0.0;
    for (&j, &a) in cols.iter().zip(values) {
        sum += a * x[j as usize];
    }
    sum
}
