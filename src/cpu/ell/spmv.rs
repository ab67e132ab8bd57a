//! y = A x, eight rows at a time. HPCG: `ComputeSPMV`.

use cubie_host::WIDTH;
use pulp::{Simd, WithSimd};

use super::{ColorSlices, Ell};
use crate::cpu::simd::{LANES, dispatch, madd};
use crate::pool::{Pool, SharedSlice};
use crate::real::Real;

/// y_i = Σ_j a_ij x_j over the local rows.
pub(in crate::cpu) fn spmv<T: Real>(pool: &Pool, A: &Ell<T>, x: &[T], y: &mut [T]) {
    assert!(x.len() == A.ncol && y.len() >= A.nrow);
    let y = SharedSlice::new(y);
    pool.run(|member| {
        for color in &A.colors {
            dispatch(Spmv {
                A,
                color,
                slices: member.share(color.slices()),
                x,
                y,
            });
        }
    });
}

struct Spmv<'a, T> {
    A: &'a Ell<T>,
    color: &'a ColorSlices,
    slices: std::ops::Range<usize>,
    x: &'a [T],
    y: SharedSlice<T>,
}

impl<T: Real> WithSimd for Spmv<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for s in self.slices {
            let rows = self.color.rows_of(s);
            // SAFETY: `x` has `ncol` elements, and the slice's rows belong to this member.
            unsafe {
                let sums = add_products::<S, T>(
                    self.A,
                    self.color.first_slice + s,
                    self.x.as_ptr(),
                    [T::ZERO; LANES],
                );
                let y = self.y.slice_mut(rows);
                y.copy_from_slice(&sums[..y.len()]);
            }
        }
    }
}

/// sums_l + Σ_j a_lj x_j for the rows l of a slice.
///
/// # Safety
/// `x` points to `A.ncol` elements that nobody writes meanwhile, but for those that the slice's
/// rows alone refer to.
#[inline(always)]
pub(super) unsafe fn add_products<S: Simd, T: Real>(
    A: &Ell<T>,
    slice: usize,
    x: *const T,
    mut sums: [T; LANES],
) -> [T; LANES] {
    let entries = slice * WIDTH * LANES..(slice + 1) * WIDTH * LANES;
    let (values, _) = A.values[entries.clone()].as_chunks::<LANES>();
    let (cols, _) = A.cols[entries].as_chunks::<LANES>();
    for (values, cols) in values.iter().zip(cols) {
        for l in 0..LANES {
            // SAFETY: `Ell::new` has checked every column against `ncol`.
            sums[l] = madd::<S, T>(values[l], unsafe { *x.add(cols[l] as usize) }, sums[l]);
        }
    }
    sums
}
