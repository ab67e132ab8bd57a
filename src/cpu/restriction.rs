//! The residual injected into the coarse grid. HPCG: `ComputeRestriction`.

use crate::pool::Pool;
use crate::real::Real;

/// rc_k = r_i − (A x)_i with i = f2c_k
pub(super) fn restriction<T: Real>(pool: &Pool, f2c: &[u32], r: &[T], Axf: &[T], rc: &mut [T]) {
    pool.split(&mut rc[..f2c.len()], |start, rc| {
        for (rc, &i) in rc.iter_mut().zip(&f2c[start..]) {
            *rc = r[i as usize] - Axf[i as usize];
        }
    });
}
