//! w = alpha x + beta w. HPCG: `ComputeWAXPBY` with `y = w`.

use pulp::{Simd, WithSimd};

use super::simd::{dispatch, madd};
use crate::pool::Pool;
use crate::real::Real;

/// w_i = alpha x_i + beta w_i
pub(super) fn waxpby<T: Real>(pool: &Pool, alpha: f64, x: &[T], beta: f64, w: &mut [T]) {
    let len = x.len().min(w.len());
    let (alpha, beta) = (T::from_f64(alpha), T::from_f64(beta));
    pool.split(&mut w[..len], |start, w| {
        let x = &x[start..start + w.len()];
        dispatch(Waxpby { alpha, x, beta, w });
    });
}

struct Waxpby<'a, T> {
    alpha: T,
    x: &'a [T],
    beta: T,
    w: &'a mut [T],
}

impl<T: Real> WithSimd for Waxpby<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (w, &x) in self.w.iter_mut().zip(self.x) {
            *w = madd::<S, T>(self.alpha, x, self.beta * *w);
        }
    }
}
