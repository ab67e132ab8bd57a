//! Which entries of a row a format stores, and in which places.
//!
//! A slice of [`SLICE`] rows stores one or more parts one after the other, and each of these in slots
//! that take one entry of each row. In `ell28` all entries are one part of 28 slots; in `split` they
//! are L, U and I, as `shaders/split.wgsl` tells. The rows of a slice are neighbours, so their
//! columns are as a rule close together: then a slot of L or U stores the least of its columns, and
//! 16 bits for each row. All this looks at the columns alone.

use cubie_host::Ordered;

use crate::gpu::Arithmetic;
use crate::gpu::kernels::SLICE;
use crate::params::Format;

use super::slots::Slots;

/// Parts of a slice at most.
pub(super) const PARTS: usize = 3;

/// Slots of each part.
pub(super) type Widths = [usize; PARTS];

/// The part with the injected columns, which are rows of the coarse level.
pub(super) const INJECTED: usize = 2;

/// Bytes of a whole column.
const COL: usize = 4;

/// Bytes of a near one.
const NEAR: usize = 2;

/// Words that near columns begin at a multiple of, from the beginning of their slice.
pub(super) const ALIGNED: usize = 32;

/// How a slice is stored.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Whether the columns of L and U are near.
    pub(super) near: bool,
    /// Slots of each part.
    pub(super) widths: Widths,
}

impl Shape {
    /// Entries, padding included.
    pub(super) fn entries(&self) -> usize {
        SLICE * self.widths.iter().sum::<usize>()
    }

    /// Words that the columns take.
    pub(super) fn words(&self) -> usize {
        let [lower, upper, injected] = self.widths;
        let slots = lower + upper;
        let words = if self.near {
            slots.next_multiple_of(ALIGNED) + slots * SLICE / 2
        } else {
            slots * SLICE
        };
        words + injected * SLICE
    }

    /// Bytes of columns that a visit to so many rows of the slice reads in a part.
    pub(super) fn col_bytes(&self, part: usize, rows: usize) -> usize {
        let slots = self.widths[part];
        if self.near && part < INJECTED {
            slots * (rows * NEAR + COL)
        } else {
            slots * rows * COL
        }
    }
}

/// Marks a row that is not injected, or an entry that does not exist.
pub(super) const NONE: u32 = u32::MAX;

/// A level as a format lays it out.
pub(super) struct Layout<'a> {
    pub(super) format: Format,
    pub(super) level: &'a Ordered<'a>,
    /// The coarse row of each row, or [`NONE`].
    pub(super) coarse: Vec<u32>,
    /// Bytes of a value.
    value: usize,
}

impl<'a> Layout<'a> {
    pub(super) fn new(
        format: Format,
        arithmetic: Arithmetic,
        level: &'a Ordered<'a>,
        f2c: &[u32],
    ) -> Self {
        let mut coarse = vec![NONE; level.level.A.nrow];
        for (k, &i) in (0..).zip(f2c) {
            coarse[i as usize] = k;
        }
        Self {
            format,
            level,
            coarse,
            value: usize::try_from(arithmetic.bytes()).expect("a few bytes"),
        }
    }

    /// Number of slices.
    pub(super) fn slices(&self) -> usize {
        self.level.level.A.nrow.div_ceil(SLICE)
    }

    /// The rows of a slice.
    pub(super) fn rows(&self, slice: usize) -> std::ops::Range<usize> {
        slice * SLICE..self.level.level.A.nrow.min((slice + 1) * SLICE)
    }

    /// Calls back with part, column and value of every entry of row `i`.
    #[inline(always)]
    pub(super) fn for_each_entry(&self, i: usize, mut entry: impl FnMut(usize, u32, f64)) {
        let level = self.level;
        match self.format {
            Format::Ell28 => {
                for (col, &value) in level.cols(i).zip(level.values(i)) {
                    entry(0, col, value);
                }
            }
            Format::Split => {
                let (cols, values) = level.level.A.row(level.old(i));
                for (&col, &value) in cols.iter().zip(values) {
                    let col = level.col(col);
                    let j = col as usize;
                    // The halo counts as L, and the diagonal is kept apart.
                    match self.coarse.get(j) {
                        Some(&coarse) if j > i => {
                            entry(1, col, value);
                            if coarse != NONE {
                                entry(2, coarse, value);
                            }
                        }
                        _ if j != i => entry(0, col, value),
                        _ => {}
                    }
                }
            }
        }
    }

    /// How a slice is stored.
    pub(super) fn shape(&self, slice: usize) -> Shape {
        self.place(slice).shape()
    }

    /// The entries of a slice in their slots: near each other, unless whole columns take less memory.
    pub(super) fn place(&self, slice: usize) -> Slots {
        let whole = |near| Slots::new(self, slice, near);
        match self.format {
            Format::Ell28 => whole(false),
            Format::Split => {
                let near = whole(true);
                let longest = self.longest(slice);
                let bytes = |slots: [usize; 2], col| {
                    SLICE * slots.iter().sum::<usize>() * (self.value + col)
                };
                let [lower, upper, _] = near.shape().widths;
                if bytes([lower, upper], NEAR) <= bytes(longest, COL) {
                    near
                } else {
                    whole(false)
                }
            }
        }
    }

    /// Entries of L and of U in the longest rows of a slice.
    pub(super) fn longest(&self, slice: usize) -> [usize; 2] {
        let mut longest = [0; 2];
        for i in self.rows(slice) {
            let mut row = [0; PARTS];
            self.for_each_entry(i, |part, _, _| row[part] += 1);
            longest = [0, 1].map(|part| longest[part].max(row[part]));
        }
        longest
    }
}
