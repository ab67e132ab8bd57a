//! One symmetric Gauss–Seidel step on A x = r, colour by colour. HPCG: `ComputeSYMGS`.

use std::ops::Range;

use cubie_host::WIDTH;
use pulp::{Simd, WithSimd};

use super::spmv::add_products;
use super::{ColorSlices, Ell};
use crate::cpu::simd::{LANES, dispatch, madd};
use crate::pool::{Pool, SharedSlice};
use crate::real::Real;

/// The colours forward, then backward: x_i = (r_i − Σ_{j≠i} a_ij x_j) / a_ii with the newest x.
///
/// Where the rows of the last colour are independent, the backward sweep leaves it out: nothing
/// has changed since the forward sweep computed it.
pub(in crate::cpu) fn symgs<T: Real>(pool: &Pool, A: &Ell<T>, r: &[T], x: &mut [T]) {
    assert!(x.len() == A.ncol && r.len() >= A.nrow);
    let x = SharedSlice::new(x);
    let back = A.colors.len() - usize::from(A.colors.last().is_some_and(|color| color.block == 1));
    pool.run(|member| {
        let forward = A.colors.iter().map(|color| (color, false));
        let backward = A.colors[..back].iter().rev().map(|color| (color, true));
        for (color, reverse) in forward.chain(backward) {
            if color.block == 1 {
                dispatch(SmoothSlices {
                    A,
                    color,
                    slices: member.share(color.slices()),
                    r,
                    x,
                });
            } else {
                let blocks = member.share(color.rows.len().div_ceil(color.block));
                dispatch(SmoothBlocks {
                    A,
                    color,
                    blocks,
                    reverse,
                    r,
                    x,
                });
            }
            member.barrier();
        }
    });
}

/// Independent rows, eight at a time.
struct SmoothSlices<'a, T> {
    A: &'a Ell<T>,
    color: &'a ColorSlices,
    slices: Range<usize>,
    r: &'a [T],
    x: SharedSlice<T>,
}

impl<T: Real> WithSimd for SmoothSlices<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for s in self.slices {
            let slice = self.color.first_slice + s;
            let rows = self.color.rows_of(s);
            let r = &self.r[rows.clone()];
            let mut sums = [T::ZERO; LANES];
            sums[..r.len()].copy_from_slice(r);
            sums.iter_mut().for_each(|sum| *sum = -*sum);
            // SAFETY: other members write rows of this colour only, which no row of it refers to
            // but itself.
            unsafe {
                let sums = add_products::<S, T>(self.A, slice, self.x.as_ptr(), sums);
                let x = self.x.slice_mut(rows);
                let diagonal = &self.A.diagonal[slice * LANES..(slice + 1) * LANES];
                for (l, x) in x.iter_mut().enumerate() {
                    *x = madd::<S, T>(diagonal[l], *x, -sums[l]) / diagonal[l];
                }
            }
        }
    }
}

/// Blocks of rows that are visited one after the other.
struct SmoothBlocks<'a, T> {
    A: &'a Ell<T>,
    color: &'a ColorSlices,
    blocks: Range<usize>,
    reverse: bool,
    r: &'a [T],
    x: SharedSlice<T>,
}

impl<T: Real> WithSimd for SmoothBlocks<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let len = self.color.rows.len();
        for block in self.blocks.clone() {
            let rows = block * self.color.block..((block + 1) * self.color.block).min(len);
            for step in 0..rows.len() {
                let k = if self.reverse {
                    rows.end - 1 - step
                } else {
                    rows.start + step
                };
                self.smooth_row::<S>(k);
            }
        }
    }
}

impl<T: Real> SmoothBlocks<'_, T> {
    /// Smooths row `k` of the colour.
    #[inline(always)]
    fn smooth_row<S: Simd>(&self, k: usize) {
        let (slice, l) = (self.color.first_slice + k / LANES, k % LANES);
        let i = self.color.rows.start + k;
        let x = self.x.as_ptr();
        let mut sum = self.r[i];
        for j in 0..WIDTH {
            let at = (slice * WIDTH + j) * LANES + l;
            // SAFETY: `Ell::new` has checked the columns; blocks of one colour do not refer to
            // each other, so nobody else writes what is read here.
            sum = madd::<S, T>(
                -self.A.values[at],
                unsafe { *x.add(self.A.cols[at] as usize) },
                sum,
            );
        }
        let diagonal = self.A.diagonal[slice * LANES + l];
        // SAFETY: row `i` belongs to this member.
        unsafe { *x.add(i) = madd::<S, T>(diagonal, *x.add(i), sum) / diagonal };
    }
}

/// Passes over the matrix that one step makes: 2, less the share of a last colour that the
/// backward sweep leaves out.
pub(in crate::cpu) fn passes<T>(A: &Ell<T>) -> f64 {
    let spared = A
        .colors
        .last()
        .filter(|color| color.block == 1)
        .map_or(0, |color| color.rows.len());
    2.0 - spared as f64 / A.nrow as f64
}
