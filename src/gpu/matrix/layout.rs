//! Which entries of a row a format stores, and in which places.
//!
//! A slice of [`SLICE`] rows stores one or more parts one after the other, each as wide as its
//! longest row: entry j of all rows together. In `ell28` all entries are one part of 28; in
//! `split` they are L, U and I, as `shaders/split.wgsl` tells.

use cubie_host::{Ordered, WIDTH};

use crate::gpu::kernels::SLICE;
use crate::params::Format;

/// Parts of a slice at most.
pub(super) const PARTS: usize = 3;

/// Entries of a row in each part.
pub(super) type Widths = [usize; PARTS];

/// Marks a row that is not injected.
pub(super) const NONE: u32 = u32::MAX;

/// A level as a format lays it out.
pub(super) struct Layout<'a> {
    pub(super) format: Format,
    pub(super) level: &'a Ordered<'a>,
    /// The coarse row of each row, or [`NONE`].
    pub(super) coarse: Vec<u32>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(format: Format, level: &'a Ordered<'a>, f2c: &[u32]) -> Self {
        let mut coarse = vec![NONE; level.level.A.nrow];
        for (k, &i) in (0..).zip(f2c) {
            coarse[i as usize] = k;
        }
        Self {
            format,
            level,
            coarse,
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
    fn for_each_entry(&self, i: usize, mut entry: impl FnMut(usize, u32, f64)) {
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

    /// How wide the parts of a slice are.
    pub(super) fn widths(&self, slice: usize) -> Widths {
        if self.format == Format::Ell28 {
            return [WIDTH, 0, 0];
        }
        let mut widest = Widths::default();
        for i in self.rows(slice) {
            let mut row = Widths::default();
            self.for_each_entry(i, |part, _, _| row[part] += 1);
            widest = std::array::from_fn(|part| widest[part].max(row[part]));
        }
        widest
    }

    /// The values and columns of a slice in their places. Padding repeats the last column of its
    /// row, or has the row's own, so that it refers to what its thread reads anyway.
    pub(super) fn entries(&self, slice: usize, widths: &Widths) -> (Vec<f64>, Vec<u32>) {
        let len = SLICE * widths.iter().sum::<usize>();
        let (mut values, mut cols) = (vec![0.0; len], vec![0; len]);
        let first = [0, widths[0], widths[0] + widths[1]].map(|width| width * SLICE);
        for (lane, i) in self.rows(slice).enumerate() {
            let own = u32::try_from(i).expect("rows are numbered with 32 bits");
            let mut last = [own, own, 0];
            let mut next = first.map(|first| first + lane);
            self.for_each_entry(i, |part, col, value| {
                values[next[part]] = value;
                cols[next[part]] = col;
                last[part] = col;
                next[part] += SLICE;
            });
            for part in 0..PARTS {
                let end = first[part] + widths[part] * SLICE;
                for at in (next[part]..end).step_by(SLICE) {
                    cols[at] = last[part];
                }
            }
        }
        (values, cols)
    }
}
