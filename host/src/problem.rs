//! The linear system A x = b and its coarser levels (HPCG: `GenerateProblem`, `GenerateCoarseProblem`).

use std::sync::Arc;

use crate::geometry::Geometry;
use crate::halo::Halo;
use crate::matrix::{Matrix, row_number};

/// Levels of the multigrid hierarchy, the finest included.
pub const LEVELS: usize = 4;

/// One level of one rank, in natural order.
#[derive(Clone, Debug)]
pub struct Level {
    /// The box.
    pub geometry: Geometry,
    /// The matrix; shared, so that who works in natural order need not copy it.
    pub A: Arc<Matrix>,
    /// What is exchanged before A multiplies or smooths.
    pub halo: Halo,
    /// The row of each row of the next coarser level; empty on the coarsest level.
    pub f2c: Vec<u32>,
}

/// One rank's part of the linear system, in natural order.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The levels, finest first.
    pub levels: Vec<Level>,
    /// Right-hand side: 27 minus the nonzeros in the row.
    pub b: Vec<f64>,
    /// The solution: all ones.
    pub xexact: Vec<f64>,
}

impl Level {
    /// Generates the level of a box; `has_coarser` tells whether a coarser one follows.
    pub fn new(geometry: Geometry, has_coarser: bool) -> Self {
        let halo = Halo::new(&geometry);
        let A = Arc::new(Matrix::generate(&geometry, &halo));
        let f2c = if has_coarser {
            injection(&geometry)
        } else {
            Vec::new()
        };
        Self {
            geometry,
            A,
            halo,
            f2c,
        }
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        self.A.bytes() + 4 * (self.f2c.len() + self.halo.send_rows.len()) as u64
    }
}

/// The fine row of each coarse row: coarse point (i, j, k) is fine point (2i, 2j, 2k).
fn injection(fine: &Geometry) -> Vec<u32> {
    let coarse = fine.coarser();
    let [nx, ny, _] = fine.n;
    (0..coarse.nrow())
        .map(|k| {
            let [x, y, z] = coarse.point(k).map(|c| 2 * c);
            row_number((z * ny + y) * nx + x)
        })
        .collect()
}

impl Problem {
    /// Generates the problem of a box with [`LEVELS`] levels.
    ///
    /// # Panics
    /// If a dimension of the box is not a multiple of 8.
    pub fn new(geometry: &Geometry) -> Self {
        let mut geometry = geometry.clone();
        let mut levels = Vec::with_capacity(LEVELS);
        for l in 1..=LEVELS {
            let next = (l < LEVELS).then(|| geometry.coarser());
            levels.push(Level::new(geometry, next.is_some()));
            let Some(next) = next else { break };
            geometry = next;
        }
        let b: Vec<f64> = levels[0]
            .A
            .row_nnz
            .iter()
            .map(|&nnz| 27.0 - f64::from(nnz))
            .collect();
        let xexact = vec![1.0; b.len()];
        Self { levels, b, xexact }
    }
}
