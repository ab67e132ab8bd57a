//! The coarse correction added at the injected rows. HPCG: `ComputeProlongation`.

use crate::pool::{Pool, SharedSlice};
use crate::real::Real;

/// x_i += xc_k with i = f2c_k
pub(super) fn prolongation<T: Real>(pool: &Pool, f2c: &[u32], xc: &[T], x: &mut [T]) {
    assert!(f2c.iter().all(|&i| (i as usize) < x.len()));
    let x = SharedSlice::new(x);
    pool.run(|member| {
        let share = member.share(f2c.len());
        for (&i, &xc) in f2c[share.clone()].iter().zip(&xc[share]) {
            // SAFETY: in bounds by the assertion; f2c names each fine row once.
            unsafe {
                let x = x.as_ptr().add(i as usize);
                *x = *x + xc;
            }
        }
    });
}
