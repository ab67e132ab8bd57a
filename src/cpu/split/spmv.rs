//! y = A x and x·y in one pass. HPCG: `ComputeSPMV`.

use pulp::Simd;

use super::slabs::visit_slabs;
use super::visit::{Visit, accumulate};
use super::{Color, Portion, Split, Sums, load, store};
use crate::cpu::simd::{LANES, madd};
use crate::pool::{Pool, SharedSlice};
use crate::real::Real;

struct Spmv<'a, T> {
    x: &'a [T],
    y: SharedSlice<T>,
}

/// y_i = Σ_j a_ij x_j for the rows of the portion; `sums` takes x·y.
pub(in crate::cpu) fn spmv<T: Real>(
    pool: &Pool,
    A: &Split<T>,
    x: &[T],
    y: &mut [T],
    portion: Portion,
    sums: Sums,
) {
    assert!(x.len() == A.ncol && y.len() >= A.nrow);
    let visit = Spmv {
        x,
        y: SharedSlice::new(y),
    };
    pool.run(|member| visit_slabs(member, A, portion, &visit, sums));
}

impl<T: Real> Visit<T> for Spmv<'_, T> {
    #[inline(always)]
    unsafe fn slice<S: Simd>(
        &self,
        simd: S,
        color: &Color<T>,
        slice: usize,
        sums: &mut [f64; LANES],
    ) {
        let rows = color.rows_of(slice);
        let x = load(&self.x[rows.clone()]);
        // SAFETY: `x` has `ncol` elements, and the rows are this thread's.
        let y = unsafe {
            let rest = color
                .lower
                .subtract(simd, slice, &rows, self.x.as_ptr(), [T::ZERO; LANES]);
            let rest = color
                .upper
                .subtract(simd, slice, &rows, self.x.as_ptr(), rest);
            let diagonal = color.diagonal_of(slice);
            let mut y = [T::ZERO; LANES];
            for l in 0..LANES {
                y[l] = madd::<S, T>(diagonal[l], x[l], -rest[l]);
            }
            store(&y, self.y.slice_mut(rows));
            y
        };
        accumulate::<S, T>(&x, &y, sums);
    }
}
