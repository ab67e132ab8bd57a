//! `cubie explain`: what the memory would allow, beside what a run measured.
//!
//! A kernel that waits for nothing but memory takes `bytes / rate`: the bytes that it counted for
//! itself in the run, at the rate of the kernel of STREAM that moves bytes like it. Nothing is
//! fitted to HPCG.

mod scale;

use serde::Serialize;

use crate::saved::run::{Ops, Run};
use crate::stream::Streams;

pub use scale::{Network, RankCount, Scaled, Scaling, scale};

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
    pub kernels: Vec<KernelTime>,
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

/// Bytes per second for kernels that stream two arrays in and for those that update vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Of values with their columns, and of dot products.
    pub reading: f64,
    /// Of vectors that are read and written in place.
    pub updating: f64,
}

impl Rates {
    /// Dot streams two arrays in, as SpMV and SYMGS do with values and columns; Triad writes one
    /// of three. The caches of a CPU read a line before it is written, a GPU's do not.
    ///
    /// # Errors
    /// If these kernels are missing.
    pub fn new(streams: &Streams, cpu: bool) -> Result<Self, NoRate> {
        let rate = |kernel| streams.rate(kernel).ok_or(NoRate(kernel));
        let triad = rate("Triad")?;
        Ok(Self {
            reading: rate("Dot")?,
            updating: if cpu { triad * WRITE_ALLOCATE } else { triad },
        })
    }

    /// The same rate for everything.
    pub fn uniform(rate: f64) -> Self {
        Self {
            reading: rate,
            updating: rate,
        }
    }

    /// In the order of [`Ops::NAMES`].
    fn of_kernels(&self) -> [f64; 4] {
        [self.reading, self.updating, self.reading, self.reading]
    }
}

impl Explanation {
    /// Explains a run by the rates of its device's memory.
    pub fn new(run: &Run, rates: &Rates) -> Self {
        let counts = run.moved.all().into_iter().zip(run.flops.all());
        let facts = Ops::NAMES.into_iter().zip(rates.of_kernels()).zip(counts);
        let kernels: Vec<KernelTime> = facts
            .zip(run.times.ops.all())
            .map(|(((name, rate), (bytes, flops)), measured)| {
                let predicted = bytes / rate;
                KernelTime {
                    name,
                    bytes,
                    rate,
                    predicted_seconds: predicted,
                    measured_seconds: measured,
                    predicted_gflops: (bytes > 0.0).then_some(flops / predicted / 1e9),
                    measured_gflops: flops / measured / 1e9,
                }
            })
            .collect();
        let predicted: f64 = kernels.iter().map(|kernel| kernel.predicted_seconds).sum();
        // What the rating divides by, beside the sets: a tenth of the preparation for each.
        let charged = run.sets.count as f64 * (run.times.setup + run.times.optimise) / 10.0;
        let credited = run.gflops * (run.times.total + charged);
        Self {
            run: run.name.clone(),
            device: run.device.name.clone(),
            predicted_gflops: credited / (predicted + charged),
            measured_gflops: run.gflops,
            levels: levels(run, kernels[3].predicted_seconds),
            elsewhere: run.times.total - run.times.ops.sum(),
            total: run.times.total,
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

fn levels(run: &Run, mg: f64) -> Vec<LevelTime> {
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
