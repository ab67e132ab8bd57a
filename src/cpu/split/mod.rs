//! The split format: A = L + D + U in the order of the sweep, each part in slices of eight rows.
//!
//! L holds the columns of earlier rows and the halo, U those of later rows. A part has one width
//! per colour, so that little is padding, and a column takes one byte and a half (`columns`). A
//! third part, I, repeats those entries of U whose columns are injected rows, with the coarse row
//! as its column: the prolongation changes nothing else, so the post-smoother needs nothing else.

mod columns;
mod convert;
mod restrict;
mod smooth;
mod spmv;

use std::ops::Range;

pub(super) use restrict::restrict_residual;
pub(super) use smooth::{Corrected, correct_and_smooth, correct_first, smooth_from_zero, symgs};
pub(super) use spmv::spmv;

use columns::{Columns, Slots};
use pulp::{Simd, WithSimd};

use super::pages::Pages;
use super::pool::{Member, SharedSlice};
use super::simd::{LANES, dispatch, madd, prefetch};
use crate::real::Real;

/// Slices that one thread works on at a time, and whose sums are added up in order.
const CHUNK: usize = 16;

/// A level's matrix.
pub(super) struct Split<T> {
    pub(super) nrow: usize,
    pub(super) ncol: usize,
    colors: Vec<Color<T>>,
    /// The fine row of each coarse row; empty on the coarsest level.
    pub(super) f2c: Vec<u32>,
    injected: Vec<Injected>,
}

/// The rows of one colour.
struct Color<T> {
    rows: Range<usize>,
    /// Rows in a block that must be visited one after the other; 1 if all are independent.
    block: usize,
    /// Units of work of the colours before this one.
    first_unit: usize,
    /// The diagonal by rows, and 1 for rows that do not exist.
    diagonal: Pages<T>,
    lower: Part<T>,
    upper: Part<T>,
    injected: Part<T>,
    /// Which slices have columns in the halo; empty if none has.
    boundary: Vec<bool>,
}

/// Some entries of each row of a colour.
struct Part<T> {
    /// Entries stored per row.
    width: usize,
    /// Entry `j` of the row in lane `l` of slice `s`, at `(s * width + j) * LANES + l`.
    values: Pages<T>,
    cols: Columns,
}

/// Which slices are visited: while a halo travels, those that do not need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Portion {
    /// All of them.
    All,
    /// Those without columns in the halo.
    Interior,
    /// The others.
    Boundary,
}

/// A slice with injected rows.
struct Injected {
    color: usize,
    slice: usize,
    /// The coarse row of each lane, or `NOT_INJECTED`.
    coarse: [u32; LANES],
}

const NOT_INJECTED: u32 = u32::MAX;

impl<T: Real> Color<T> {
    fn slices(&self) -> usize {
        self.rows.len().div_ceil(LANES)
    }
    /// What one thread works on at a time: chunks of slices, or blocks of rows where rows depend on
    /// each other and are visited in order.
    fn units(&self, ordered: bool) -> usize {
        if ordered && self.block > 1 {
            self.rows.len().div_ceil(self.block)
        } else {
            self.slices().div_ceil(CHUNK)
        }
    }
    /// The most units of either kind.
    fn most_units(&self) -> usize {
        self.units(true).max(self.units(false))
    }
    /// The slices of one chunk.
    fn slices_of(&self, chunk: usize) -> Range<usize> {
        chunk * CHUNK..((chunk + 1) * CHUNK).min(self.slices())
    }
    /// The rows of one slice.
    fn rows_of(&self, slice: usize) -> Range<usize> {
        let start = self.rows.start + slice * LANES;
        start..(start + LANES).min(self.rows.end)
    }
    /// Whether a slice belongs to the portion. Rows that depend on each other are never interior.
    fn is_in(&self, portion: Portion, slice: usize) -> bool {
        let interior = self.block == 1 && !self.boundary.get(slice).is_some_and(|&halo| halo);
        match portion {
            Portion::All => true,
            Portion::Interior => interior,
            Portion::Boundary => !interior,
        }
    }
    fn diagonal_of(&self, slice: usize) -> &[T; LANES] {
        &self.diagonal.as_chunks().0[slice]
    }
}

impl<T: Real> Part<T> {
    /// Bytes of values, columns and padding that a visit of all slices reads.
    fn visit_bytes(&self) -> usize {
        size_of_val(&self.values[..]) + self.cols.visit_bytes()
    }
    /// The same for one slice.
    fn slice_bytes(&self, slice: usize) -> usize {
        self.width * size_of::<[T; LANES]>() + self.cols.slice_bytes(slice)
    }
    /// Bytes allocated.
    fn bytes(&self) -> usize {
        size_of_val(&self.values[..]) + self.cols.bytes()
    }

    /// sums_l − Σ_j a_lj x_j for the rows l of a slice.
    ///
    /// # Safety
    /// `x` has an element for every column of the part, and nobody writes those meanwhile.
    #[inline(always)]
    unsafe fn subtract<S: Simd>(
        &self,
        simd: S,
        slice: usize,
        x: *const T,
        mut sums: [T; LANES],
    ) -> [T; LANES] {
        let slots = slice * self.width..(slice + 1) * self.width;
        let values = &self.values.as_chunks::<LANES>().0[slots];
        match self.cols.of(slice) {
            Slots::Near(cols) => {
                for (values, cols) in values.iter().zip(cols) {
                    prefetch(values);
                    prefetch(cols);
                    // SAFETY: by the caller's promise.
                    let xs = unsafe {
                        let x = x.add(cols.first as usize);
                        cols.offsets.map(|offset| *x.add(usize::from(offset)))
                    };
                    T::subtract_products(simd, values, &xs, &mut sums);
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

    /// The same for one row, where the rows of a slice depend on each other.
    ///
    /// # Safety
    /// As [`Part::subtract`].
    #[inline(always)]
    unsafe fn subtract_row<S: Simd>(&self, row: usize, x: *const T, mut sum: T) -> T {
        let (slice, lane) = (row / LANES, row % LANES);
        for slot in 0..self.width {
            let value = self.values[(slice * self.width + slot) * LANES + lane];
            // SAFETY: by the caller's promise.
            let x = unsafe { *x.add(self.cols.at(slice, slot, lane)) };
            sum = madd::<S, T>(-value, x, sum);
        }
        sum
    }
}

impl<T: Real> Split<T> {
    /// Replaces the diagonal, given by rows.
    pub(super) fn replace_diagonal(&mut self, diagonal: &[f64]) {
        assert_eq!(diagonal.len(), self.nrow);
        for color in &mut self.colors {
            for (ours, &value) in color.diagonal.iter_mut().zip(&diagonal[color.rows.clone()]) {
                *ours = T::from_f64(value);
            }
        }
    }

    /// Bytes of L, D and U with their padding: what one pass over the matrix reads.
    pub(super) fn pass_bytes(&self) -> usize {
        self.sum(|color| {
            size_of_val(&color.diagonal[..]) + color.lower.visit_bytes() + color.upper.visit_bytes()
        })
    }
    /// Bytes of L and D: what a forward sweep reads.
    pub(super) fn forward_bytes(&self) -> usize {
        self.sum(|color| size_of_val(&color.diagonal[..]) + color.lower.visit_bytes())
    }
    /// Bytes of U and D: what a backward sweep reads, which leaves out a last colour of
    /// independent rows.
    pub(super) fn backward_bytes(&self) -> usize {
        smooth::backward(self)
            .map(|color| size_of_val(&color.diagonal[..]) + color.upper.visit_bytes())
            .sum()
    }
    /// Bytes of the entries of U at injected columns.
    pub(super) fn injected_bytes(&self) -> usize {
        self.sum(|color| color.injected.visit_bytes())
    }
    /// Bytes of the slices with injected rows.
    pub(super) fn residual_bytes(&self) -> usize {
        let slice = |injected: &Injected| {
            let color = &self.colors[injected.color];
            color.lower.slice_bytes(injected.slice)
                + color.upper.slice_bytes(injected.slice)
                + size_of::<[T; LANES]>()
        };
        self.injected.iter().map(slice).sum()
    }
    fn sum(&self, bytes: impl Fn(&Color<T>) -> usize) -> usize {
        self.colors.iter().map(bytes).sum()
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        let color = |color: &Color<T>| {
            size_of_val(&color.diagonal[..])
                + color.lower.bytes()
                + color.upper.bytes()
                + color.injected.bytes()
        };
        self.sum(color) + size_of_val(&self.f2c[..]) + size_of_val(&self.injected[..])
    }

    /// Room for one sum for each unit of work of all colours.
    pub(super) fn sums(&self) -> UnitSums {
        let units = self
            .colors
            .last()
            .map_or(0, |color| color.first_unit + color.most_units());
        UnitSums(vec![0.0; units])
    }
}

/// What a sweep does with a slice of rows, or with one row where rows depend on each other. A
/// sweep with a dot product adds to `sums`.
trait Visit<T: Real>: Sync {
    /// Whether the order of the rows matters.
    const ORDERED: bool = true;
    /// # Safety
    /// No other thread touches what belongs to the slice's rows.
    unsafe fn slice<S: Simd>(
        &self,
        simd: S,
        color: &Color<T>,
        slice: usize,
        sums: &mut [f64; LANES],
    );
    /// Row `k` of the colour.
    ///
    /// # Safety
    /// No other thread touches what belongs to the row.
    unsafe fn row<S: Simd>(&self, color: &Color<T>, k: usize, sum: &mut f64) {
        let _ = (color, k, sum);
        unreachable!("where the order does not matter, rows are visited in slices")
    }
}

/// Visits some units of a colour, which belong to this thread, and leaves one sum for each.
struct Sweep<'a, T, V> {
    color: &'a Color<T>,
    units: Range<usize>,
    reverse: bool,
    portion: Portion,
    visit: &'a V,
    sums: Sums,
}

/// One sum for each unit of work, or none at all.
pub(super) type Sums = Option<SharedSlice<f64>>;

impl<T: Real, V: Visit<T>> WithSimd for Sweep<'_, T, V> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            color,
            visit,
            reverse,
            portion,
            ..
        } = self;
        let in_slices = color.block == 1 || !V::ORDERED;
        if !in_slices && portion == Portion::Interior {
            return;
        }
        for unit in self.units {
            let mut sums = [0.0; LANES];
            if in_slices {
                let slices = color.slices_of(unit);
                for slice in slices.filter(|&slice| color.is_in(portion, slice)) {
                    // SAFETY: the members' shares do not overlap.
                    unsafe { visit.slice(simd, color, slice, &mut sums) };
                }
            } else {
                let rows = unit * color.block..((unit + 1) * color.block).min(color.rows.len());
                for step in 0..rows.len() {
                    let k = if reverse {
                        rows.end - 1 - step
                    } else {
                        rows.start + step
                    };
                    // SAFETY: blocks do not couple, and the members' shares do not overlap.
                    unsafe { visit.row::<S>(color, k, &mut sums[0]) };
                }
            }
            if let Some(all) = self.sums {
                let unit = color.first_unit + unit;
                // SAFETY: the unit belongs to this member.
                let total = unsafe { &mut all.slice_mut(unit..unit + 1)[0] };
                let rest: f64 = sums.iter().sum();
                *total = if portion == Portion::Boundary {
                    *total + rest
                } else {
                    rest
                };
            }
        }
    }
}

/// Visits the colours in order, or in reverse; members wait for each other after each.
fn sweep<'a, T: Real + 'a, V: Visit<T>>(
    member: Member<'_>,
    colors: impl Iterator<Item = &'a Color<T>>,
    reverse: bool,
    portion: Portion,
    visit: &V,
    sums: Sums,
) {
    for color in colors {
        let units = member.share(color.units(true));
        dispatch(Sweep {
            color,
            units,
            reverse,
            portion,
            visit,
            sums,
        });
        member.barrier();
    }
}

/// Rows of a slab: their x and their neighbours' fits into a core's own cache.
const SLAB: usize = 1 << 15;

/// Visits all colours slab by slab, for what does not depend on an order: rows of different colours
/// that lie close together find each other's x in the cache.
fn visit_slabs<T: Real, V: Visit<T>>(
    member: Member<'_>,
    A: &Split<T>,
    portion: Portion,
    visit: &V,
    sums: Sums,
) {
    let slabs = A.nrow.div_ceil(SLAB).max(member.count);
    for slab in member.share(slabs) {
        for color in &A.colors {
            let units = color.units(false) * slab / slabs..color.units(false) * (slab + 1) / slabs;
            dispatch(Sweep {
                color,
                units,
                reverse: false,
                portion,
                visit,
                sums,
            });
        }
    }
}

/// Room for one sum a unit.
pub(super) struct UnitSums(Vec<f64>);

impl UnitSums {
    /// For the members of a team to write to.
    pub(super) fn shared(&mut self) -> Sums {
        Some(SharedSlice::new(&mut self.0))
    }
    /// Their total, which does not depend on the number of threads.
    pub(super) fn total(&self) -> f64 {
        self.0.iter().sum()
    }
}

/// Copies the elements of a slice's rows, 0 for rows that do not exist.
#[inline(always)]
fn load<T: Real>(from: &[T]) -> [T; LANES] {
    match from.try_into() {
        Ok(lanes) => lanes,
        Err(_) => {
            let mut lanes = [T::ZERO; LANES];
            lanes[..from.len()].copy_from_slice(from);
            lanes
        }
    }
}

/// sums_l += a_l b_l in double precision.
#[inline(always)]
fn accumulate<S: Simd, T: Real>(a: &[T; LANES], b: &[T; LANES], sums: &mut [f64; LANES]) {
    for l in 0..LANES {
        sums[l] = madd::<S, f64>(a[l].to_f64(), b[l].to_f64(), sums[l]);
    }
}

/// Writes the lanes of the rows that exist.
#[inline(always)]
fn store<T: Real>(lanes: &[T; LANES], to: &mut [T]) {
    match <&mut [T; LANES]>::try_from(&mut *to) {
        Ok(to) => *to = *lanes,
        Err(_) => to.copy_from_slice(&lanes[..to.len()]),
    }
}
