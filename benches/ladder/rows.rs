//! How the first steps of the ladder store the rows of a matrix.

use std::sync::Arc;

use cubie_host::{Matrix, Ordered, WIDTH};

/// The rows of one level's matrix, in the order of the level.
pub(crate) trait Rows: Sync {
    /// Stores the rows of a level.
    fn new(level: &Ordered<'_>) -> Self;
    /// Columns and values of row `i`.
    fn row(&self, i: usize) -> (&[u32], &[f64]);
    /// The diagonal element of row `i`.
    fn diagonal(&self, i: usize) -> f64;
}

/// Each row in memory of its own, as HPCG's reference has it.
pub(crate) struct PerRow(Vec<Row>);

struct Row {
    values: Box<[f64]>,
    cols: Box<[u32]>,
    /// Global columns: nobody reads them here, but they stand between the rows.
    _global: Box<[u64]>,
    diagonal: usize,
}

impl Rows for PerRow {
    fn new(level: &Ordered<'_>) -> Self {
        let A = level.matrix();
        let rows = (0..A.nrow).map(|i| {
            let (cols, values) = A.row(i);
            Row {
                values: values.into(),
                cols: cols.into(),
                _global: cols.iter().map(|&col| u64::from(col)).collect(),
                diagonal: usize::from(A.diagonal[i]),
            }
        });
        Self(rows.collect())
    }
    #[inline(always)]
    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let row = &self.0[i];
        (&row.cols, &row.values)
    }
    #[inline(always)]
    fn diagonal(&self, i: usize) -> f64 {
        let row = &self.0[i];
        row.values[row.diagonal]
    }
}

/// All rows in one piece of memory; only nonzeros are read.
pub(crate) struct Contiguous(Arc<Matrix>);

impl Rows for Contiguous {
    fn new(level: &Ordered<'_>) -> Self {
        Self(level.matrix())
    }
    #[inline(always)]
    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        self.0.row(i)
    }
    #[inline(always)]
    fn diagonal(&self, i: usize) -> f64 {
        self.0.diagonal_value(i)
    }
}

/// The same, and every row has 28 entries, padding included: loops whose length the compiler knows.
pub(crate) struct Ellpack(Arc<Matrix>);

impl Rows for Ellpack {
    fn new(level: &Ordered<'_>) -> Self {
        Self(level.matrix())
    }
    #[inline(always)]
    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let (cols, values) = (self.0.cols.as_chunks(), self.0.values.as_chunks());
        let (cols, values): (&[u32; WIDTH], &[f64; WIDTH]) = (&cols.0[i], &values.0[i]);
        (cols, values)
    }
    #[inline(always)]
    fn diagonal(&self, i: usize) -> f64 {
        self.0.diagonal_value(i)
    }
}
