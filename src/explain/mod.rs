//! `cubie explain`: what the memory would allow, beside what a run measured.
//!
//! A kernel that waits for nothing but memory takes `bytes / rate`: the bytes that it counted for
//! itself in the run, at the rate of the kernel of STREAM that moves bytes like it. Nothing is
//! fitted to HPCG.

mod scale;

use serde::Serialize;

use crate::meter::Op;
use crate::results::{DeviceKind, Results};
use crate::saved::run::Run;
use crate::stream::Streams;

pub use scale::{Link, Network, RankCount, Scaled, Scaling, scale};

/// The bytes that a store costs beside those that STREAM counts: the cache line is read first, so
/// Triad moves four arrays where it counts three.
const WRITE_ALLOCATE: f64 = 4.0 / 3.0;
/// Flops of MG for each nonzero of a level, as HPCG counts them.
const FINER: f64 = 10.0;
const COARSEST: f64 = 4.0;

/// A run beside its prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The run.
    pub run: String,
    /// The device.
    pub device: String,
    /// The rating, were the kernels as fast as memory allows.
    pub predicted_gflops: f64,
    /// The rating.
    pub measured_gflops: f64,
    /// Each kernel, in HPCG's order.
    pub kernels: [KernelTime; 4],
    /// MG on each level, finest first, its time shared out by the flops that HPCG counts.
    pub levels: Vec<LevelTime>,
    /// Seconds of the timed sets in none of the kernels.
    pub elsewhere: f64,
    /// Seconds of the timed sets.
    pub total: f64,
}

/// A kernel in the timed sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelTime {
    /// Its name in HPCG's report.
    pub name: &'static str,
    /// Bytes that it moved.
    pub bytes: f64,
    /// Bytes per second that memory gives to such a kernel.
    pub rate: f64,
    /// Seconds that it should have taken.
    pub predicted_seconds: f64,
    /// Seconds that it took.
    pub measured_seconds: f64,
    /// The flops that HPCG counts for it over the seconds it should have taken.
    pub predicted_gflops: Option<f64>,
    /// The same over the seconds it took.
    pub measured_gflops: f64,
}

/// MG on a level in the timed sets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelTime {
    /// Rows of the level.
    pub rows: u64,
    /// Seconds that it should have taken.
    pub predicted_seconds: f64,
}

/// What is missing in a measurement of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream figures have no kernel {0}; write them anew with `cubie stream --json`")]
pub struct NoRate(&'static str);

/// Bytes per second for each kind of kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Of values with their columns.
    pub gathering: f64,
    /// Of dot products.
    pub reading: f64,
    /// Of vectors that are read and written in place.
    pub updating: f64,
}

impl Rates {
    /// SpMV and SYMGS stream values and columns in and find x in a cache, as Gather does; on a GPU,
    /// which has threads enough to wait for both at once, as Dot. Triad writes one of three arrays.
    /// The caches of a CPU read a line before it is written, a GPU's do not.
    ///
    /// # Errors
    /// If these kernels are missing.
    pub fn new(streams: &Streams, device: DeviceKind) -> Result<Self, NoRate> {
        let rate = |kernel| streams.rate(kernel).ok_or(NoRate(kernel));
        let triad = rate("Triad")?;
        Ok(Self {
            gathering: match device {
                DeviceKind::Cpu => rate("Gather")?,
                DeviceKind::Gpu => rate("Dot")?,
            },
            reading: rate("Dot")?,
            updating: match device {
                DeviceKind::Cpu => triad * WRITE_ALLOCATE,
                DeviceKind::Gpu => triad,
            },
        })
    }

    /// The same rate for everything.
    pub fn uniform(rate: f64) -> Self {
        Self {
            gathering: rate,
            reading: rate,
            updating: rate,
        }
    }

    fn of(&self, op: Op) -> f64 {
        match op {
            Op::Waxpby => self.updating,
            Op::Dot => self.reading,
            Op::Spmv | Op::Mg => self.gathering,
        }
    }
}

impl Explanation {
    /// Explains a run by the rates of its device's memory.
    pub fn new(run: &Run, rates: &Rates) -> Self {
        let results = &run.results;
        let flops = results.counts().flops;
        let kernels = Op::ALL.map(|op| {
            let (bytes, rate) = (results.moved[op], rates.of(op));
            let (predicted, measured) = (bytes / rate, results.times.ops[op]);
            KernelTime {
                name: op.name(),
                bytes,
                rate,
                predicted_seconds: predicted,
                measured_seconds: measured,
                predicted_gflops: (bytes > 0.0).then_some(flops[op] / predicted / 1e9),
                measured_gflops: flops[op] / measured / 1e9,
            }
        });
        let predicted: f64 = kernels.iter().map(|kernel| kernel.predicted_seconds).sum();
        let (total, charged) = (results.times.total, results.charged_seconds());
        let rating = results.rating().official;
        Self {
            run: run.name.clone(),
            device: results.device.name.clone(),
            predicted_gflops: rating * charged / (predicted + charged - total),
            measured_gflops: rating,
            levels: levels(results, kernels[3].predicted_seconds),
            elsewhere: total - results.times.ops.sum(),
            total,
            kernels,
        }
    }

    /// Seconds that the timed sets should have taken.
    pub fn predicted_seconds(&self) -> f64 {
        let seconds = self.kernels.iter().map(|kernel| kernel.predicted_seconds);
        seconds.sum()
    }

    /// Where the time goes beyond the prediction, the largest gap first: (where, seconds).
    pub fn gaps(&self) -> Vec<(&'static str, f64)> {
        let mut gaps: Vec<_> = self
            .kernels
            .iter()
            .map(|kernel| {
                (
                    kernel.name,
                    kernel.measured_seconds - kernel.predicted_seconds,
                )
            })
            .collect();
        gaps.push(("outside the kernels", self.elsewhere));
        gaps.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        gaps
    }
}

fn levels(run: &Results, mg: f64) -> Vec<LevelTime> {
    let coarsest = run.levels.len() - 1;
    let flops: Vec<f64> = run
        .levels
        .iter()
        .enumerate()
        .map(|(l, level)| level.nnz as f64 * if l == coarsest { COARSEST } else { FINER })
        .collect();
    let all: f64 = flops.iter().sum();
    let share = flops.iter().map(|flops| flops / all);
    run.levels
        .iter()
        .zip(share)
        .map(|(level, share)| LevelTime {
            rows: level.rows,
            predicted_seconds: mg * share,
        })
        .collect()
}
