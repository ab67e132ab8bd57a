//! The split format: A = L + D + U in the order of the sweep, each part in slices of eight rows.
//!
//! L holds the columns of earlier rows and the halo, U those of later rows. A part has one width
//! per colour, so that little is padding, and a column takes one byte and a half (`columns`). A
//! third part, I, repeats those entries of U whose columns are injected rows, with the coarse row
//! as its column: the prolongation changes nothing else, so the post-smoother needs nothing else.
//! Where rows depend on each other, entries between rows of one slice stand apart (`part`).

mod columns;
mod convert;
mod filling;
mod part;
mod restrict;
mod slabs;
mod slices;
mod smooth;
mod spmv;
mod sweep;
mod visit;

use std::ops::Range;

pub(super) use restrict::restrict_residual;
pub(super) use smooth::{Corrected, correct_and_smooth, correct_first, smooth_from_zero, symgs};
pub(super) use spmv::spmv;
pub(super) use visit::{ChunkSums, Sums};

use part::{Part, Triangle};
use slabs::Slabs;
use slices::Slices;

use super::pages::Pages;
use super::simd::LANES;
use crate::real::Real;

/// A level's matrix.
pub(super) struct Split<T> {
    pub(super) nrow: usize,
    pub(super) ncol: usize,
    colors: Vec<Color<T>>,
    /// The fine row of each coarse row; empty on the coarsest level.
    pub(super) f2c: Vec<u32>,
    injected: Vec<Injected>,
    /// How a sweep visits all colours together; `None` if it visits one after the other.
    slabs: Option<Slabs>,
}

/// The rows of one colour.
struct Color<T> {
    slices: Slices,
    /// Chunks of the colours before this one.
    first_chunk: usize,
    /// Its place among the colours.
    number: usize,
    /// A slice of a run needs as many of the run before as come before it in its own, and so many
    /// more.
    lead: usize,
    /// The diagonal by slices, and 1 for rows that do not exist.
    diagonal: Pages<T>,
    lower: Triangle<T>,
    upper: Triangle<T>,
    injected: Part<T>,
    /// Which slices have columns in the halo; empty if none has.
    boundary: Vec<bool>,
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
    /// The rows of one slice.
    #[inline(always)]
    fn rows_of(&self, slice: usize) -> Range<usize> {
        self.slices.rows_of(slice)
    }
    /// Whether a slice belongs to the portion. Rows that depend on each other are never interior.
    fn is_in(&self, portion: Portion, slice: usize) -> bool {
        let needs_halo = self.boundary.get(slice).is_some_and(|&halo| halo);
        let interior = !self.slices.ordered() && !needs_halo;
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

impl<T: Real> Split<T> {
    /// Replaces the diagonal, given by rows.
    pub(super) fn replace_diagonal(&mut self, diagonal: &[f64]) {
        assert_eq!(diagonal.len(), self.nrow);
        for color in &mut self.colors {
            for (slice, ours) in color
                .diagonal
                .as_chunks_mut::<LANES>()
                .0
                .iter_mut()
                .enumerate()
            {
                for (ours, &value) in ours.iter_mut().zip(&diagonal[color.slices.rows_of(slice)]) {
                    *ours = T::from_f64(value);
                }
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

    /// Room for one sum for each chunk of all colours.
    pub(super) fn sums(&self) -> ChunkSums {
        let last = self.colors.last();
        let chunks = last.map_or(0, |color| color.first_chunk + color.slices.chunks());
        ChunkSums(vec![0.0; chunks])
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

/// Writes the lanes of the rows that exist.
#[inline(always)]
fn store<T: Real>(lanes: &[T; LANES], to: &mut [T]) {
    match <&mut [T; LANES]>::try_from(&mut *to) {
        Ok(to) => *to = *lanes,
        Err(_) => to.copy_from_slice(&lanes[..to.len()]),
    }
}
