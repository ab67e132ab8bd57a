//! What the device spent its time on: from its own timestamps, or, where it has none, from a
//! stopwatch and a calibration.

use std::time::Instant;

use crate::meter::{Op, PerOp, Work};

use super::GpuError;
use super::commands::Commands;
use super::device::Device;

/// Bytes of a timestamp.
const TIMESTAMP: usize = size_of::<u64>();

/// Timestamps that a query set holds: the most that wgpu allows.
const QUERIES: u32 = wgpu::QUERY_SET_MAX_QUERIES;

/// Bytes of the timestamps of a full query set.
const SET_BYTES: usize = QUERIES as usize * TIMESTAMP;

/// The clock of one device.
pub(super) struct Clock {
    bytes: PerOp,
    source: Source,
}

enum Source {
    Device(Timestamps),
    Host(Stopwatch),
}

/// A timestamp before and one after each pass.
struct Timestamps {
    sets: Vec<wgpu::QuerySet>,
    /// The operation of each pass since the last reading.
    passes: Vec<Op>,
    /// Seconds of a tick.
    period: f64,
}

/// At first each operation is waited for and timed; once all have been seen, nothing waits any
/// more, and wall clock is shared out in proportion to bytes at the rates then measured.
struct Stopwatch {
    /// Seconds a byte of each operation; the least of several, since drivers compile at first.
    rate: PerOp,
    laps: PerOp,
    /// When the first dispatch since the last reading was queued.
    begun: Option<Instant>,
    lap: Lap,
    seconds: PerOp,
}

struct Lap {
    begun: Instant,
    bytes: f64,
}

/// Laps of each operation that calibration takes.
const LAPS: f64 = 3.0;

impl Clock {
    pub(super) fn new(device: &wgpu::Device, queue: &wgpu::Queue, timestamps: bool) -> Self {
        let source = if timestamps {
            Source::Device(Timestamps {
                sets: vec![query_set(device)],
                passes: Vec::new(),
                period: f64::from(queue.get_timestamp_period()) * 1e-9,
            })
        } else {
            Source::Host(Stopwatch {
                rate: PerOp::new([f64::INFINITY; 4]),
                laps: PerOp::default(),
                begun: None,
                lap: Lap {
                    begun: Instant::now(),
                    bytes: 0.0,
                },
                seconds: PerOp::default(),
            })
        };
        Self {
            bytes: PerOp::default(),
            source,
        }
    }

    /// A dispatch for `op` moves so many bytes.
    #[expect(clippy::cast_precision_loss, reason = "a count for a report")]
    pub(super) fn count(&mut self, op: Option<Op>, bytes: u64) {
        if let Some(op) = op {
            self.bytes[op] += bytes as f64;
        }
        if let Source::Host(watch) = &mut self.source {
            if watch.begun.is_none() {
                watch.begun = Some(Instant::now());
                watch.lap.begun = Instant::now();
            }
            watch.lap.bytes += bytes as f64;
        }
    }

    /// The query set and the first of the two timestamps of a pass for `op`.
    pub(super) fn begin_pass(
        &mut self,
        device: &wgpu::Device,
        op: Option<Op>,
    ) -> Option<(wgpu::QuerySet, u32)> {
        let (Source::Device(stamps), Some(op)) = (&mut self.source, op) else {
            return None;
        };
        let first = 2 * stamps.passes.len();
        let (set, first) = (first / QUERIES as usize, first % QUERIES as usize);
        stamps.passes.push(op);
        if set == stamps.sets.len() {
            stamps.sets.push(query_set(device));
        }
        let first = u32::try_from(first).expect("less than QUERIES");
        Some((stamps.sets[set].clone(), first))
    }

    /// Timestamps written since the last reading.
    fn timestamps(&self) -> usize {
        match &self.source {
            Source::Device(stamps) => 2 * stamps.passes.len(),
            Source::Host(_) => 0,
        }
    }

    /// The query sets that hold the first `count` timestamps, with how many each of them holds.
    fn query_sets(&self, count: usize) -> Vec<(wgpu::QuerySet, u32)> {
        let Source::Device(stamps) = &self.source else {
            return Vec::new();
        };
        let counts = (0..count)
            .step_by(QUERIES as usize)
            .map(|first| u32::try_from(count - first).map_or(QUERIES, |left| left.min(QUERIES)));
        stamps.sets.iter().cloned().zip(counts).collect()
    }

    /// The work since the last call, the device being idle after work for `op`; `ticks` are its
    /// timestamps, if it has any.
    fn take(&mut self, op: Option<Op>, ticks: &[u64]) -> Work {
        if self.is_calibrating() {
            self.lap(op);
        }
        let bytes = std::mem::take(&mut self.bytes);
        let seconds = match &mut self.source {
            Source::Device(stamps) => stamps.seconds(ticks),
            Source::Host(watch) => watch.seconds(&bytes),
        };
        Work { seconds, bytes }
    }

    /// Whether each operation is to be waited for.
    pub(super) fn is_calibrating(&self) -> bool {
        matches!(&self.source, Source::Host(watch) if watch.is_calibrating())
    }

    /// The device is idle after work for `op` and has been waited for.
    pub(super) fn lap(&mut self, op: Option<Op>) {
        let Source::Host(watch) = &mut self.source else {
            return;
        };
        let seconds = watch.lap.begun.elapsed().as_secs_f64();
        if let Some(op) = op.filter(|_| watch.lap.bytes > 0.0) {
            watch.seconds[op] += seconds;
            watch.laps[op] += 1.0;
            watch.rate[op] = watch.rate[op].min(seconds / watch.lap.bytes);
        }
        watch.lap = Lap {
            begun: Instant::now(),
            bytes: 0.0,
        };
    }
}

impl Stopwatch {
    fn is_calibrating(&self) -> bool {
        Op::ALL.iter().any(|&op| self.laps[op] < LAPS)
    }

    /// Shares out the time since the first dispatch. The device is idle.
    fn seconds(&mut self, bytes: &PerOp) -> PerOp {
        let wall = self
            .begun
            .take()
            .map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        let measured = std::mem::take(&mut self.seconds);
        if self.is_calibrating() {
            return measured;
        }
        let shares = Op::ALL.map(|op| bytes[op] * self.rate[op]);
        let all: f64 = shares.iter().sum();
        if all == 0.0 {
            return PerOp::default();
        }
        PerOp::new(shares.map(|share| wall * share / all))
    }
}

fn query_set(device: &wgpu::Device) -> wgpu::QuerySet {
    device.create_query_set(&wgpu::QuerySetDescriptor {
        label: Some("timestamps"),
        ty: wgpu::QueryType::Timestamp,
        count: QUERIES,
    })
}

impl Timestamps {
    /// Sums the passes' times, and begins anew.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a pass is far shorter than 2^53 ticks"
    )]
    fn seconds(&mut self, ticks: &[u64]) -> PerOp {
        let mut seconds = PerOp::default();
        for (op, ticks) in self.passes.drain(..).zip(ticks.chunks_exact(2)) {
            seconds[op] += ticks[1].saturating_sub(ticks[0]) as f64 * self.period;
        }
        seconds
    }
}

impl Device {
    /// Waits until the device is idle; returns the work since the last call.
    pub(super) fn finish(&self) -> Result<Work, GpuError> {
        let count = self.commands(|commands| commands.clock.timestamps());
        let ticks = if count > 0 {
            let bytes = (count * TIMESTAMP) as u64;
            let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
            let resolved = self.buffer("timestamps", bytes, usage, false)?;
            self.commands(|commands| {
                let sets = commands.clock.query_sets(count);
                for (at, (set, count)) in (0..).step_by(SET_BYTES).zip(sets) {
                    let encoder = commands.encoder();
                    encoder.resolve_query_set(&set, 0..count, &resolved.raw, at);
                }
            });
            self.read(&[(&resolved.raw, 0, bytes)], |bytes| {
                let ticks = bytes.chunks_exact(TIMESTAMP);
                ticks.map(bytemuck::pod_read_unaligned).collect()
            })?
        } else {
            self.commands(Commands::submit);
            self.wait()?;
            Vec::new()
        };
        Ok(self.commands(|commands| {
            let op = commands.op();
            commands.clock.take(op, &ticks)
        }))
    }
}
