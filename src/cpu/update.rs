//! x += alpha p, r −= alpha Ap and r·r in one pass. HPCG: two `ComputeWAXPBY` and a
//! `ComputeDotProduct`.

use pulp::{Simd, WithSimd};

use super::dot::BLOCK;
use super::simd::{LANES, dispatch, madd};
use crate::pool::{Pool, SharedSlice};
use crate::real::Real;

/// x_i += alpha p_i, r_i −= alpha Ap_i; returns Σ_i r_i² of the new r.
pub(super) fn update_and_norm<T: Real>(
    pool: &Pool,
    alpha: f64,
    p: &[T],
    Ap: &[T],
    x: &mut [T],
    r: &mut [T],
) -> f64 {
    let len = r.len();
    assert!(p.len() >= len && x.len() >= len && Ap.len() == len);
    let alpha = T::from_f64(alpha);
    let (x, r) = (SharedSlice::new(x), SharedSlice::new(r));
    let mut sums = vec![0.0; len.div_ceil(BLOCK)];
    pool.split(&mut sums, |first, sums| {
        for (block, sum) in (first..).zip(sums) {
            let block = block * BLOCK..((block + 1) * BLOCK).min(len);
            // SAFETY: the members' blocks do not overlap.
            let (x, r) = unsafe { (x.slice_mut(block.clone()), r.slice_mut(block.clone())) };
            *sum = dispatch(Update {
                alpha,
                p: &p[block.clone()],
                Ap: &Ap[block],
                x,
                r,
            });
        }
    });
    sums.iter().sum()
}

struct Update<'a, T> {
    alpha: T,
    p: &'a [T],
    Ap: &'a [T],
    x: &'a mut [T],
    r: &'a mut [T],
}

impl<T: Real> WithSimd for Update<'_, T> {
    type Output = f64;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        for (x, &p) in self.x.iter_mut().zip(self.p) {
            *x = madd::<S, T>(self.alpha, p, *x);
        }
        for (r, &Ap) in self.r.iter_mut().zip(self.Ap) {
            *r = madd::<S, T>(-self.alpha, Ap, *r);
        }
        let (lanes, rest) = self.r.as_chunks::<{ 2 * LANES }>();
        let mut sums = [0.0; 2 * LANES];
        for r in lanes {
            for l in 0..2 * LANES {
                sums[l] = madd::<S, f64>(r[l].to_f64(), r[l].to_f64(), sums[l]);
            }
        }
        sums.iter().sum::<f64>() + rest.iter().map(|r| r.to_f64() * r.to_f64()).sum::<f64>()
    }
}
