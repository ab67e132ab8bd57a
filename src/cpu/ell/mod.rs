//! ELLPACK-28 in slices of eight rows: entry `j` of all rows of a slice stands together.
//!
//! Slices do not cross colours. The rows of a colour's last slice that do not exist have the value 0
//! everywhere, a diagonal of 1, and columns that may be read.

mod spmv;
mod symgs;

use std::ops::Range;

use cubie_host::{Ordered, WIDTH};

pub(super) use spmv::spmv;
pub(super) use symgs::{passes, symgs};

use super::pages::Pages;
use super::simd::LANES;
use crate::pool::{Pool, SharedSlice};
use crate::real::Real;

/// A level's matrix.
pub(super) struct Ell<T> {
    /// Local rows.
    pub(super) nrow: usize,
    /// Length of a vector that is multiplied.
    pub(super) ncol: usize,
    /// Value `j` of the row in lane `l` of slice `s`, at `(s * WIDTH + j) * LANES + l`.
    pub(super) values: Pages<T>,
    /// The columns, likewise.
    pub(super) cols: Pages<u32>,
    /// The diagonal, `LANES` values a slice.
    pub(super) diagonal: Pages<T>,
    /// Which entry of its row each of them is.
    diagonal_entry: Vec<u8>,
    /// The colours in the order of a forward sweep.
    pub(super) colors: Vec<ColorSlices>,
    /// The fine row of each coarse row; empty on the coarsest level.
    pub(super) f2c: Vec<u32>,
}

/// The slices of one colour.
pub(super) struct ColorSlices {
    /// Its rows.
    pub(super) rows: Range<usize>,
    /// Its first slice.
    pub(super) first_slice: usize,
    /// Rows in a block that must be visited one after the other; 1 if all are independent.
    pub(super) block: usize,
}

impl ColorSlices {
    /// Number of slices.
    pub(super) fn slices(&self) -> usize {
        self.rows.len().div_ceil(LANES)
    }
    /// The rows of the colour's slice `s`.
    pub(super) fn rows_of(&self, s: usize) -> Range<usize> {
        let start = self.rows.start + s * LANES;
        start..(start + LANES).min(self.rows.end)
    }
}

impl<T: Real> Ell<T> {
    /// Converts a level.
    pub(super) fn new(pool: &Pool, level: &Ordered<'_>) -> Self {
        let A = &level.level.A;
        let mut slices = 0;
        let colors: Vec<ColorSlices> = level
            .order
            .colors
            .iter()
            .map(|color| {
                let first_slice = slices;
                slices += color.rows.len().div_ceil(LANES);
                ColorSlices {
                    rows: color.rows.clone(),
                    first_slice,
                    block: color.block,
                }
            })
            .collect();
        let mut values = Pages::zeros(slices * WIDTH * LANES);
        let mut cols = Pages::zeros(slices * WIDTH * LANES);
        let mut diagonal = Pages::zeros(slices * LANES);
        let mut diagonal_entry = vec![0; slices * LANES];
        let shared = (
            SharedSlice::new(&mut values),
            SharedSlice::new(&mut cols),
            SharedSlice::new(&mut diagonal),
            SharedSlice::new(&mut diagonal_entry),
        );
        pool.run(|member| {
            for color in &colors {
                for s in member.share(color.slices()) {
                    let slice = color.first_slice + s;
                    let entries = slice * WIDTH * LANES..(slice + 1) * WIDTH * LANES;
                    let lanes = slice * LANES..(slice + 1) * LANES;
                    // SAFETY: each slice belongs to one member.
                    let (values, cols, diagonal, diagonal_entry) = unsafe {
                        (
                            shared.0.slice_mut(entries.clone()),
                            shared.1.slice_mut(entries),
                            shared.2.slice_mut(lanes.clone()),
                            shared.3.slice_mut(lanes),
                        )
                    };
                    diagonal.fill(T::ONE);
                    for (l, i) in color.rows_of(s).enumerate() {
                        let old = level.old(i);
                        diagonal_entry[l] = A.diagonal[old];
                        diagonal[l] = T::from_f64(A.diagonal_value(old));
                        for (j, (col, &value)) in level.cols(i).zip(level.values(i)).enumerate() {
                            values[j * LANES + l] = T::from_f64(value);
                            cols[j * LANES + l] = col;
                        }
                    }
                }
            }
        });
        assert!(
            cols.iter().all(|&col| (col as usize) < A.ncol),
            "kernels read x without checks"
        );
        Self {
            nrow: A.nrow,
            ncol: A.ncol,
            values,
            cols,
            diagonal,
            diagonal_entry,
            colors,
            f2c: level.f2c(),
        }
    }

    /// Replaces the diagonal, given by rows.
    pub(super) fn replace_diagonal(&mut self, diagonal: &[f64]) {
        assert_eq!(diagonal.len(), self.nrow);
        for color in &self.colors {
            for (k, &value) in diagonal[color.rows.clone()].iter().enumerate() {
                let (slice, l) = (color.first_slice + k / LANES, k % LANES);
                let j = usize::from(self.diagonal_entry[slice * LANES + l]);
                self.values[(slice * WIDTH + j) * LANES + l] = T::from_f64(value);
                self.diagonal[slice * LANES + l] = T::from_f64(value);
            }
        }
    }

    /// Bytes of values, columns and padding: what one pass over the matrix reads.
    pub(super) fn pass_bytes(&self) -> usize {
        size_of_val(&self.values[..]) + size_of_val(&self.cols[..])
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.pass_bytes()
            + size_of_val(&self.diagonal[..])
            + self.diagonal_entry.len()
            + size_of_val(&self.f2c[..])
    }
}
