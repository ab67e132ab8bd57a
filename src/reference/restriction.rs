//! The residual injected into the coarse grid. HPCG: `ComputeRestriction_ref`.

/// rc_k = r_i − (A x)_i with i = f2c_k
pub fn restriction(f2c: &[u32], r: &[f64], Axf: &[f64], rc: &mut [f64]) {
    for (rc, &i) in rc.iter_mut().zip(f2c) {
        *rc = r[i as usize] - Axf[i as usize];
    }
}
