//! x·y with a sum that does not depend on the number of threads. HPCG: `ComputeDotProduct`.

use pulp::{Simd, WithSimd};

use super::simd::{LANES, dispatch, madd};
use crate::pool::Pool;
use crate::real::Real;

/// Elements whose products are summed by one thread.
pub(super) const BLOCK: usize = 4096;

/// Σ_i x_i y_i in double precision: blocks of fixed size, then the blocks in order.
pub(super) fn dot<T: Real>(pool: &Pool, x: &[T], y: &[T]) -> f64 {
    let len = x.len().min(y.len());
    let mut partial = vec![0.0; len.div_ceil(BLOCK)];
    pool.split(&mut partial, |first, sums| {
        for (k, sum) in sums.iter_mut().enumerate() {
            let block = (first + k) * BLOCK..((first + k + 1) * BLOCK).min(len);
            *sum = dispatch(BlockDot {
                x: &x[block.clone()],
                y: &y[block],
            });
        }
    });
    partial.iter().sum()
}

struct BlockDot<'a, T> {
    x: &'a [T],
    y: &'a [T],
}

impl<T: Real> WithSimd for BlockDot<'_, T> {
    type Output = f64;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let (x, x_rest) = self.x.as_chunks::<{ 2 * LANES }>();
        let (y, y_rest) = self.y.as_chunks::<{ 2 * LANES }>();
        let mut sums = [0.0; 2 * LANES];
        for (x, y) in x.iter().zip(y) {
            for l in 0..2 * LANES {
                sums[l] = madd::<S, f64>(x[l].to_f64(), y[l].to_f64(), sums[l]);
            }
        }
        let rest: f64 = x_rest
            .iter()
            .zip(y_rest)
            .map(|(x, y)| x.to_f64() * y.to_f64())
            .sum();
        sums.iter().sum::<f64>() + rest
    }
}
