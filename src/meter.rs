//! Where time and bytes go: the four operations of HPCG's report.

use std::ops::{AddAssign, Index, IndexMut};
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// An operation of CG as HPCG's report counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Dot products.
    Dot,
    /// Vector updates.
    Waxpby,
    /// The sparse matrix–vector product of CG.
    Spmv,
    /// The preconditioner, with all that is inside it.
    Mg,
}

impl Op {
    /// All four, in the order of the report.
    pub const ALL: [Op; 4] = [Op::Dot, Op::Waxpby, Op::Spmv, Op::Mg];

    /// Its name in HPCG's report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dot => "DDOT",
            Self::Waxpby => "WAXPBY",
            Self::Spmv => "SpMV",
            Self::Mg => "MG",
        }
    }
}

/// One value for each [`Op`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerOp {
    dot: f64,
    waxpby: f64,
    spmv: f64,
    mg: f64,
}

impl PerOp {
    /// The four values in the order of [`Op::ALL`].
    pub fn new([dot, waxpby, spmv, mg]: [f64; 4]) -> Self {
        Self {
            dot,
            waxpby,
            spmv,
            mg,
        }
    }
    /// The four values in the order of [`Op::ALL`].
    pub fn all(&self) -> [f64; 4] {
        Op::ALL.map(|op| self[op])
    }
    /// The sum over the operations.
    pub fn sum(&self) -> f64 {
        self.all().iter().sum()
    }
}

impl Index<Op> for PerOp {
    type Output = f64;
    fn index(&self, op: Op) -> &f64 {
        match op {
            Op::Dot => &self.dot,
            Op::Waxpby => &self.waxpby,
            Op::Spmv => &self.spmv,
            Op::Mg => &self.mg,
        }
    }
}

impl IndexMut<Op> for PerOp {
    fn index_mut(&mut self, op: Op) -> &mut f64 {
        match op {
            Op::Dot => &mut self.dot,
            Op::Waxpby => &mut self.waxpby,
            Op::Spmv => &mut self.spmv,
            Op::Mg => &mut self.mg,
        }
    }
}

impl AddAssign for PerOp {
    fn add_assign(&mut self, other: PerOp) {
        for op in Op::ALL {
            self[op] += other[op];
        }
    }
}

/// What a device did between two calls of [`crate::Backend::finish`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Seconds per operation.
    pub seconds: PerOp,
    /// Bytes per operation that the kernels as written must move: every stored matrix entry
    /// they touch with its index and padding, and each vector once per sweep (x in cache).
    pub bytes: PerOp,
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.seconds += other.seconds;
        self.bytes += other.bytes;
    }
}

/// Splits wall-clock time and counted bytes among operations, for devices that work while the
/// host waits.
#[derive(Default)]
pub struct Stopwatch {
    running: Option<(Op, Instant)>,
    work: Work,
}

impl Stopwatch {
    /// From `now` on time and bytes count for `op`.
    pub fn enter(&mut self, op: Op, now: Instant) {
        self.stop(now);
        self.running = Some((op, now));
    }
    /// Adds bytes that the running operation moves.
    pub fn moved(&mut self, bytes: f64) {
        if let Some((op, _)) = self.running {
            self.work.bytes[op] += bytes;
        }
    }
    /// Stops and returns the work since the last call.
    pub fn finish(&mut self, now: Instant) -> Work {
        self.stop(now);
        std::mem::take(&mut self.work)
    }
    fn stop(&mut self, now: Instant) {
        if let Some((op, since)) = self.running.take() {
            self.work.seconds[op] += (now - since).as_secs_f64();
        }
    }
}
