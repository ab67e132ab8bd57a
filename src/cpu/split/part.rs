//! Some entries of each row of a colour, by slices, and what kernels do with them.

use std::ops::Range;

use pulp::Simd;

use super::columns::{Columns, Near, Slots};
use super::slices::Slices;
use super::store;
use crate::cpu::pages::Pages;
use crate::cpu::prefetch::{Ahead, prefetch};
use crate::cpu::simd::{LANES, in_a_row, madd};
use crate::pool::SharedSlice;
use crate::real::Real;

/// Entries with one width for all rows.
pub(super) struct Part<T> {
    /// Entries stored per row.
    pub(super) width: usize,
    /// Entry `j` of the row in lane `l` of slice `s`, at `(s * width + j) * LANES + l`.
    pub(super) values: Pages<T>,
    pub(super) cols: Columns,
    /// How both are fetched.
    pub(super) ahead: Ahead,
}

/// L or U of a colour.
pub(super) struct Triangle<T> {
    /// Entries between rows that are far from each other.
    pub(super) far: Part<T>,
    /// The others.
    pub(super) chain: Chain<T>,
    /// Whether this is U, which is solved backward.
    pub(super) is_upper: bool,
}

/// Entries between rows of one slice or of slices next to each other in a run: none where rows are
/// independent. With them apart, eight rows can be worked on before the rows before them are known.
pub(super) struct Chain<T> {
    /// Entries stored per row.
    pub(super) width: usize,
    /// Entry `j` of the rows of slice `s`, at `s * width + j`.
    pub(super) values: Pages<[T; LANES]>,
    /// The place of each entry's column in the window of the slice, likewise.
    pub(super) places: Pages<[u8; LANES]>,
}

/// Places of a window: the slice before, the slice, the one after it, and some more, so that any
/// number becomes a place with a mask.
const WINDOW: usize = 4 * LANES;

/// The place in the window of a slice whose first row is `start` of row `j`.
pub(super) fn place(start: usize, j: usize) -> u8 {
    let place = (j + LANES)
        .checked_sub(start)
        .filter(|&place| place < 3 * LANES);
    u8::try_from(place.expect("a row of the window")).expect("below 24")
}

impl<T: Real> Part<T> {
    /// Bytes of values, columns and padding that a visit of all slices reads.
    pub(super) fn visit_bytes(&self) -> usize {
        size_of_val(&self.values[..]) + self.cols.visit_bytes()
    }
    /// The same for one slice.
    fn slice_bytes(&self, slice: usize) -> usize {
        self.width * size_of::<[T; LANES]>() + self.cols.slice_bytes(slice)
    }
    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.values[..]) + self.cols.bytes()
    }

    /// sums_l − Σ_j a_lj x_j for the rows l of a slice; slices are visited forward or `backward`.
    ///
    /// # Safety
    /// `x` points to `ncol` elements and nobody writes those that these rows refer to.
    #[inline(always)]
    pub(super) unsafe fn subtract<S: Simd>(
        &self,
        simd: S,
        slice: usize,
        x: *const T,
        mut sums: [T; LANES],
        backward: bool,
    ) -> [T; LANES] {
        let slots = slice * self.width..(slice + 1) * self.width;
        let values = &self.values.as_chunks::<LANES>().0[slots];
        match self.cols.of(slice) {
            Slots::Near(cols) => {
                // SAFETY: by the caller's promise.
                unsafe {
                    match self.ahead {
                        Ahead::Past => {
                            subtract_near::<true, S, T>(simd, values, cols, x, &mut sums, backward);
                        }
                        Ahead::SecondLevel => {
                            subtract_near::<false, S, T>(
                                simd, values, cols, x, &mut sums, backward,
                            );
                        }
                    }
                }
            }
            Slots::Whole(cols) => {
                for (values, cols) in values.iter().zip(cols) {
                    // SAFETY: by the caller's promise.
                    let xs = cols.map(|col| unsafe { *x.add(col as usize) });
                    T::subtract_products(simd, values, &xs, &mut sums);
                }
            }
        }
        sums
    }
}

/// sums_l −= Σ_j a_lj x_j for the entries of a slice whose columns are close together.
///
/// # Safety
/// As [`Part::subtract`].
#[inline(always)]
unsafe fn subtract_near<const PAST: bool, S: Simd, T: Real>(
    simd: S,
    values: &[[T; LANES]],
    cols: &[Near],
    x: *const T,
    sums: &mut [T; LANES],
    backward: bool,
) {
    for (values, cols) in values.iter().zip(cols) {
        prefetch::<PAST, _>(values, backward);
        prefetch::<PAST, _>(cols, backward);
        // SAFETY: by the caller's promise.
        unsafe {
            let x = x.add(cols.first as usize);
            // One load instead of eight and seven instructions to put them together.
            if cols.offsets == const { in_a_row() } {
                T::subtract_products(simd, values, &*x.cast(), sums);
            } else {
                let xs = cols.offsets.map(|offset| *x.add(usize::from(offset)));
                T::subtract_products(simd, values, &xs, sums);
            }
        }
    }
}

impl<T: Real> Chain<T> {
    /// The entries of a slice with the places of their columns.
    #[inline(always)]
    fn of(&self, slice: usize) -> impl Iterator<Item = (&[T; LANES], &[u8; LANES])> {
        let slots = slice * self.width..(slice + 1) * self.width;
        self.values[slots.clone()].iter().zip(&self.places[slots])
    }
    /// Bytes that a visit of a slice reads.
    fn slice_bytes(&self) -> usize {
        self.width * (size_of::<[T; LANES]>() + size_of::<[u8; LANES]>())
    }
    /// Bytes allocated, which a visit of all slices reads.
    fn bytes(&self) -> usize {
        size_of_val(&self.values[..]) + size_of_val(&self.places[..])
    }
}

impl<T: Real> Triangle<T> {
    /// Bytes of values, columns and padding that a visit of all slices reads.
    pub(super) fn visit_bytes(&self) -> usize {
        self.far.visit_bytes() + self.chain.bytes()
    }
    /// The same for one slice.
    pub(super) fn slice_bytes(&self, slice: usize) -> usize {
        self.far.slice_bytes(slice) + self.chain.slice_bytes()
    }
    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.far.bytes() + self.chain.bytes()
    }

    /// sums_l − Σ_j a_lj x_j for the `rows` of a slice.
    ///
    /// # Safety
    /// As [`Part::subtract`].
    #[inline(always)]
    pub(super) unsafe fn subtract<S: Simd>(
        &self,
        simd: S,
        slice: usize,
        rows: &Range<usize>,
        x: *const T,
        sums: [T; LANES],
    ) -> [T; LANES] {
        // SAFETY: by the caller's promise.
        let mut sums = unsafe { self.far.subtract(simd, slice, x, sums, false) };
        for (values, places) in self.chain.of(slice) {
            // SAFETY: by the caller's promise.
            let xs = places.map(|place| unsafe {
                *x.wrapping_add(rows.start + usize::from(place))
                    .wrapping_sub(LANES)
            });
            T::subtract_products(simd, values, &xs, &mut sums);
        }
        sums
    }

    /// Sets x_l = `value(l, sums_l − Σ_j a_lj x_j)` for the rows l of a slice, one after the other
    /// where they refer to each other: forward with L, backward with U. Returns the new x_l.
    ///
    /// # Safety
    /// As [`Part::subtract`], and no other thread touches the elements of these rows.
    #[inline(always)]
    pub(super) unsafe fn solve<S: Simd>(
        &self,
        simd: S,
        slices: &Slices,
        slice: usize,
        x: SharedSlice<T>,
        sums: [T; LANES],
        mut value: impl FnMut(usize, T) -> T,
    ) -> [T; LANES] {
        let backward = self.is_upper && slices.ordered();
        // SAFETY: by the caller's promise.
        let sums = unsafe { self.far.subtract(simd, slice, x.as_ptr(), sums, backward) };
        let mut new = [T::ZERO; LANES];
        if self.chain.width == 0 {
            for l in 0..LANES {
                new[l] = value(l, sums[l]);
            }
        } else {
            let mut known = [T::ZERO; WINDOW];
            if let Some(before) = slices.slice_before(slice, self.is_upper) {
                let first = if self.is_upper { 2 * LANES } else { 0 };
                for (known, row) in known[first..].iter_mut().zip(slices.rows_of(before)) {
                    // SAFETY: that slice has been visited, and nobody writes to it any more.
                    *known = unsafe { *x.as_ptr().add(row) };
                }
            }
            for step in 0..LANES {
                let l = if self.is_upper {
                    LANES - 1 - step
                } else {
                    step
                };
                let mut sum = sums[l];
                for (values, places) in self.chain.of(slice) {
                    let x = known[usize::from(places[l]) % WINDOW];
                    sum = madd::<S, T>(-values[l], x, sum);
                }
                new[l] = value(l, sum);
                known[LANES + l] = new[l];
            }
        }
        // SAFETY: by the caller's promise.
        store(&new, unsafe { x.slice_mut(slices.rows_of(slice)) });
        new
    }
}
