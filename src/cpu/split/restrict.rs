//! rc_k = (r − A x)_i at the injected rows i = f2c_k, and at no others. HPCG: `ComputeSPMV` and
//! `ComputeRestriction` of a V-cycle.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{NOT_INJECTED, Portion, Split, load};
use crate::cpu::simd::{LANES, dispatch, madd};
use crate::pool::{Pool, SharedSlice};
use crate::real::Real;

struct RestrictResidual<'a, T> {
    A: &'a Split<T>,
    slices: Range<usize>,
    portion: Portion,
    r: &'a [T],
    x: &'a [T],
    rc: SharedSlice<T>,
}

/// rc_k = r_i − Σ_j a_ij x_j with i = f2c_k, for the rows of the portion.
pub(in crate::cpu) fn restrict_residual<T: Real>(
    pool: &Pool,
    A: &Split<T>,
    r: &[T],
    x: &[T],
    rc: &mut [T],
    portion: Portion,
) {
    assert!(x.len() == A.ncol && r.len() >= A.nrow && rc.len() >= A.f2c.len());
    let rc = SharedSlice::new(rc);
    pool.run(|member| {
        let slices = member.share(A.injected.len());
        dispatch(RestrictResidual {
            A,
            slices,
            portion,
            r,
            x,
            rc,
        });
    });
}

impl<T: Real> WithSimd for RestrictResidual<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for injected in &self.A.injected[self.slices] {
            let color = &self.A.colors[injected.color];
            if !color.is_in(self.portion, injected.slice) {
                continue;
            }
            let rows = color.rows_of(injected.slice);
            let x = load(&self.x[rows.clone()]);
            let diagonal = color.diagonal_of(injected.slice);
            let mut sums = load(&self.r[rows.clone()]);
            for l in 0..LANES {
                sums[l] = madd::<S, T>(-diagonal[l], x[l], sums[l]);
            }
            // SAFETY: `x` has `ncol` elements, and nobody writes them.
            let residual = unsafe {
                let sums = color
                    .lower
                    .subtract(simd, injected.slice, &rows, self.x.as_ptr(), sums);
                color
                    .upper
                    .subtract(simd, injected.slice, &rows, self.x.as_ptr(), sums)
            };
            for (&k, residual) in injected.coarse.iter().zip(residual) {
                if k != NOT_INJECTED {
                    // SAFETY: each coarse row has one fine row.
                    unsafe { self.rc.slice_mut(k as usize..k as usize + 1)[0] = residual };
                }
            }
        }
    }
}
