//! The coarse correction added at the injected rows. HPCG: `ComputeProlongation_ref`.

/// x_i += xc_k with i = f2c_k
pub fn prolongation(f2c: &[u32], xc: &[f64], x: &mut [f64]) {
    for (&i, xc) in f2c.iter().zip(xc) {
        x[i as usize] += xc;
    }
}
