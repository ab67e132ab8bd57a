//! x·y. HPCG: `ComputeDotProduct_ref`.

/// Σ_i x_i y_i, summed in the order of the rows.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (x, y) in x.iter().zip(y) {
        sum += x * y;
    }
    sum
}
