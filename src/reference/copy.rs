//! y = x. HPCG: `CopyVector`.

/// y_i = x_i over the shorter of the two.
pub fn copy(x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = *x;
    }
}
