//! The sparse matrix of one level: 27-point rows in ELLPACK-28, contiguous.
//!
//! Row `i` couples to the points of the 3×3×3 cube around it, clipped at the global boundary:
//! 26 on the diagonal, −1 elsewhere. Entries ascend by global column (HPCG: `GenerateProblem`).

use rayon::prelude::*;

use crate::geometry::Geometry;
use crate::halo::Halo;

/// Entries stored per row: 27 and one of padding, a multiple of the SIMD width.
pub const WIDTH: usize = 28;

/// A square matrix over the local rows, with columns for the halo after them.
///
/// Entry `j` of row `i` stands at `i * WIDTH + j`. Padding has the value 0 and the row's own
/// number as its column, so that it may be multiplied like any other entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Local rows.
    pub nrow: usize,
    /// Local rows and external columns: the length of a vector that is multiplied.
    pub ncol: usize,
    /// Nonzeros of the local rows.
    pub nnz: u64,
    /// `nrow × WIDTH` values.
    pub values: Vec<f64>,
    /// `nrow × WIDTH` columns.
    pub cols: Vec<u32>,
    /// Nonzeros in each row; padding comes after them.
    pub row_nnz: Vec<u8>,
    /// The entry of each row that holds the diagonal.
    pub diagonal: Vec<u8>,
}

impl Matrix {
    /// Generates the rows of a box in natural order.
    pub fn generate(geometry: &Geometry, halo: &Halo) -> Self {
        let nrow = geometry.nrow();
        let mut values = vec![0.0; nrow * WIDTH];
        let mut cols = vec![0; nrow * WIDTH];
        let mut row_nnz = vec![0; nrow];
        let mut diagonal = vec![0; nrow];
        let line = geometry.n[0];
        let nnz = values
            .par_chunks_mut(line * WIDTH)
            .zip(cols.par_chunks_mut(line * WIDTH))
            .zip(
                row_nnz
                    .par_chunks_mut(line)
                    .zip(diagonal.par_chunks_mut(line)),
            )
            .enumerate()
            .map(|(l, ((values, cols), (row_nnz, diagonal)))| {
                let mut nnz = 0;
                let rows = values
                    .chunks_exact_mut(WIDTH)
                    .zip(cols.chunks_exact_mut(WIDTH));
                for (k, (values, cols)) in rows.enumerate() {
                    let i = l * line + k;
                    (row_nnz[k], diagonal[k]) = generate_row(geometry, halo, i, values, cols);
                    nnz += u64::from(row_nnz[k]);
                }
                nnz
            })
            .sum();
        Self {
            nrow,
            ncol: nrow + halo.external,
            nnz,
            values,
            cols,
            row_nnz,
            diagonal,
        }
    }

    /// The nonzeros of row `i`: columns and values.
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = i * WIDTH..i * WIDTH + usize::from(self.row_nnz[i]);
        (&self.cols[range.clone()], &self.values[range])
    }

    /// The diagonal element of row `i`.
    pub fn diagonal_value(&self, i: usize) -> f64 {
        self.values[i * WIDTH + usize::from(self.diagonal[i])]
    }

    /// The diagonal, `nrow` values.
    pub fn diagonal_values(&self) -> Vec<f64> {
        (0..self.nrow).map(|i| self.diagonal_value(i)).collect()
    }

    /// Replaces the diagonal (HPCG: `ReplaceMatrixDiagonal`).
    pub fn replace_diagonal(&mut self, diagonal: &[f64]) {
        assert_eq!(diagonal.len(), self.nrow);
        for (i, &value) in diagonal.iter().enumerate() {
            self.values[i * WIDTH + usize::from(self.diagonal[i])] = value;
        }
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        (self.values.len() * 8 + self.cols.len() * 4 + self.row_nnz.len() + self.diagonal.len())
            as u64
    }
}

/// Fills one row; returns its nonzeros and the place of its diagonal.
fn generate_row(
    geometry: &Geometry,
    halo: &Halo,
    i: usize,
    values: &mut [f64],
    cols: &mut [u32],
) -> (u8, u8) {
    let p = geometry.point(i);
    let [nx, ny, nz] = geometry.n;
    let mut nnz = 0u8;
    let mut diagonal = 0;
    let mut push = |col: u32, value: f64| {
        values[usize::from(nnz)] = value;
        cols[usize::from(nnz)] = col;
        nnz += 1;
    };
    let interior = (0..3).all(|a| p[a] > 0 && p[a] + 1 < geometry.n[a]);
    if interior {
        for dz in 0..3 {
            for dy in 0..3 {
                let first = ((p[2] + dz - 1) * ny + p[1] + dy - 1) * nx + p[0] - 1;
                for col in first..first + 3 {
                    push(row_number(col), if col == i { 26.0 } else { -1.0 });
                }
            }
        }
        diagonal = 13;
    } else {
        let mut entries = 0;
        for dz in -1..=1 {
            for dy in -1..=1 {
                for dx in -1..=1 {
                    let q = [(p[0], dx), (p[1], dy), (p[2], dz)].map(|(p, d)| p.cast_signed() + d);
                    let outside = (0..3).any(|a| {
                        let g = geometry.g0[a].cast_signed() + q[a] as i64;
                        g < 0 || g >= geometry.gn[a].cast_signed()
                    });
                    if outside {
                        continue;
                    }
                    let local = q[0] >= 0
                        && q[1] >= 0
                        && q[2] >= 0
                        && q[0] < nx.cast_signed()
                        && q[1] < ny.cast_signed()
                        && q[2] < nz.cast_signed();
                    if local {
                        let col = (q[2].cast_unsigned() * ny + q[1].cast_unsigned()) * nx
                            + q[0].cast_unsigned();
                        if col == i {
                            diagonal = entries;
                        }
                        push(row_number(col), if col == i { 26.0 } else { -1.0 });
                    } else {
                        push(
                            row_number(geometry.nrow() + halo.external_of(geometry, q)),
                            -1.0,
                        );
                    }
                    entries += 1;
                }
            }
        }
    }
    cols[usize::from(nnz)..].fill(row_number(i));
    (nnz, diagonal)
}

/// `Grid::geometry` has checked that every local row and external column fits.
#[expect(clippy::cast_possible_truncation, reason = "checked by Grid::geometry")]
pub(crate) fn row_number(i: usize) -> u32 {
    i as u32
}
