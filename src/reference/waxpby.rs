//! w = alpha x + beta w. HPCG: `ComputeWAXPBY_ref` with `y = w`.

/// w_i = alpha x_i + beta w_i
pub fn waxpby(alpha: f64, x: &[f64], beta: f64, w: &mut [f64]) {
    for (w, x) in w.iter_mut().zip(x) {
        *w = alpha * x + beta * *w;
    }
}
