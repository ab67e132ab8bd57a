//! What a run must compute, move and hold: pure functions of the problem's size.
//!
//! With n rows, S sets and I = S·(iterations per set), HPCG counts for dot and WAXPBY (3I + S)·2n
//! flops, for SpMV (I + S)·2·nnz, and for MG 10·I·nnz on each level but the coarsest, which has
//! 4·I·nnz (HPCG: the models in `ReportResults`).

mod memory;

use cubie_host::Geometry;
use cubie_host::problem::LEVELS;

use crate::Op;

use crate::meter::PerOp;
use crate::results::LevelSize;
pub use memory::{Need, largest_box, need};

/// Bytes of a double.
const F64: f64 = 8.0;
/// Bytes of a value with its 4-byte column index, as HPCG counts.
const ENTRY: f64 = 12.0;

/// What HPCG counts for the timed sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    /// Floating-point operations.
    pub flops: PerOp,
    /// Bytes read, by HPCG's model.
    pub reads: PerOp,
    /// Bytes written, by HPCG's model: twice per finer level of MG it says nnz where n is meant,
    /// which inflates the official GB/s by about 20 %.
    pub writes: PerOp,
}

/// The sizes of the levels of the global problem, finest first.
pub fn level_sizes(finest: &Geometry) -> Vec<LevelSize> {
    let mut geometry = finest.clone();
    let mut sizes = Vec::with_capacity(LEVELS);
    for l in 1..=LEVELS {
        sizes.push(LevelSize {
            rows: geometry.global_rows(),
            nnz: geometry.global_nnz(),
        });
        if l < LEVELS {
            geometry = geometry.coarser();
        }
    }
    sizes
}

/// Ratings in GFLOP/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// All flops over the time of the sets.
    pub raw: f64,
    /// The flops of 50 iterations a set over the time of the sets.
    pub convergence: f64,
    /// The same with a tenth of the optimise time charged to each set: HPCG 2.4's rating.
    pub historical: f64,
    /// The same with a tenth of the set-up time charged to each set too: the rating.
    pub official: f64,
}

impl Counts {
    /// The counts of `sets` sets of `iterations` iterations on these levels, finest first.
    ///
    /// # Panics
    /// If there are no levels.
    pub fn new(levels: &[LevelSize], sets: u64, iterations: u64) -> Self {
        let (coarsest, finer) = levels.split_last().expect("at least one level");
        let finest = levels[0];
        let (n, nnz) = (finest.rows as f64, finest.nnz as f64);
        let s = sets as f64;
        let i = s * iterations as f64;

        let vector_ops = 3.0 * i + s;
        let mut mg = [0.0; 3]; // flops, reads, writes
        for level in finer {
            let (n, nnz) = (level.rows as f64, level.nnz as f64);
            mg[0] += 10.0 * i * nnz;
            mg[1] += 2.0 * i * (2.0 * ENTRY * nnz + F64 * n) + i * (ENTRY * nnz + F64 * n);
            mg[2] += i * F64 * n + 2.0 * i * F64 * nnz;
        }
        {
            let (n, nnz) = (coarsest.rows as f64, coarsest.nnz as f64);
            mg[0] += 4.0 * i * nnz;
            mg[1] += i * (2.0 * ENTRY * nnz + F64 * n);
            mg[2] += i * F64 * n;
        }
        let per_op = |dot, waxpby, spmv, mg| {
            let mut counts = PerOp::default();
            counts[Op::Dot] = dot;
            counts[Op::Waxpby] = waxpby;
            counts[Op::Spmv] = spmv;
            counts[Op::Mg] = mg;
            counts
        };
        Self {
            flops: per_op(
                vector_ops * 2.0 * n,
                vector_ops * 2.0 * n,
                (i + s) * 2.0 * nnz,
                mg[0],
            ),
            reads: per_op(
                vector_ops * 2.0 * n * F64,
                vector_ops * 2.0 * n * F64,
                (i + s) * (ENTRY * nnz + F64 * n),
                mg[1],
            ),
            writes: per_op(
                vector_ops * F64,
                vector_ops * n * F64,
                (i + s) * n * F64,
                mg[2],
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use cubie_host::Grid;

    /// The run whose report is tests/data/HPCG-Benchmark_3.1_example.txt.
    #[test]
    fn the_counts_are_those_of_the_reference() {
        let geometry = Grid::uniform([2, 1, 1], [32; 3]).geometry(0).unwrap();
        let levels = level_sizes(&geometry);
        let sizes = [(65536, 1678840), (8192, 198904), (1024, 22264), (128, 2200)];
        assert_eq!(levels, sizes.map(|(rows, nnz)| LevelSize { rows, nnz }));
        let counts = Counts::new(&levels, 30, 50);
        for (op, flops) in Op::ALL
            .into_iter()
            .zip([5.93756e8, 5.93756e8, 5.13725e9, 2.85133e10])
        {
            assert_relative_eq!(counts.flops[op], flops, max_relative = 1e-5);
        }
        assert_relative_eq!(counts.flops.sum(), 3.48381e10, max_relative = 1e-5);
        let seconds = 18.7011;
        let gbytes = |bytes: PerOp| bytes.sum() / seconds / 1e9;
        assert_relative_eq!(gbytes(counts.reads), 11.4912, max_relative = 1e-5);
        assert_relative_eq!(gbytes(counts.writes), 2.65631, max_relative = 1e-5);
    }
}
