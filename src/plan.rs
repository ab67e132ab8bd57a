//! What a run would need, told without starting it.
//!
//! An iteration takes as long as its bytes need through memory: bytes / bandwidth.

use cubie_host::{Grid, Ranks};

use crate::cpu;
use crate::device::Device;
use crate::fit::Room;
use crate::machine::Machine;
use crate::model::{Counts, Need, level_sizes};
use crate::params::Sizes;
use crate::results::DeviceKind;
use crate::{Error, Params, Precision, results};

/// GB/s that a GPU is assumed to have where nobody says better.
const ASSUMED_GPU_BANDWIDTH: f64 = 300.0;
/// Iterations' worth of work on the device before the timed sets: checks, warm-up and one CG.
const CHECK_ITERATIONS: f64 = 90.0;
/// Iterations' worth of work of the reference phases.
const REFERENCE_ITERATIONS: f64 = 60.0;
/// The share of the host's bandwidth that they reach in natural order.
const REFERENCE_EFFICIENCY: f64 = 0.5;

/// What is to be planned.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The flags that choose the device, each after a blank.
    pub device_flags: String,
    /// Share of the device's memory to fill.
    pub fill: f64,
    /// Ranks, one a device.
    pub ranks: usize,
    /// Seconds that the timed sets shall take.
    pub seconds: u64,
    /// GB/s through the device's memory, if the user knows.
    pub bandwidth: Option<f64>,
}

/// A run that fills a share of the memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The device.
    pub device: results::Device,
    /// The precision.
    pub precision: Precision,
    /// The flags that chose the device, each after a blank.
    pub device_flags: String,
    /// The ranks and their boxes.
    pub grid: Grid,
    /// Rows of the global problem.
    pub rows: u64,
    /// Nonzeros of the global problem.
    pub nnz: u64,
    /// Bytes that each rank needs.
    pub need: Need,
    /// Bytes of memory that each rank's device has.
    pub capacity: u64,
    /// Bytes free on this host, if known.
    pub host_free: Option<u64>,
    /// GB/s through the memory of the device.
    pub bandwidth: f64,
    /// Where the bandwidth is from.
    pub bandwidth_is: BandwidthIs,
    /// Flops that one iteration of all ranks earns.
    pub flops: f64,
    /// Seconds that one iteration takes.
    pub iteration: f64,
    /// Seconds before the timed sets.
    pub before: f64,
    /// Seconds of timed sets: as asked for, but at least one set.
    pub timed: f64,
}

/// Where a bandwidth is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandwidthIs {
    /// The user's word.
    Given,
    /// A short measurement, just now.
    Measured,
    /// A guess.
    Assumed,
}

impl Plan {
    /// Plans a run on devices like the one that the parameters choose.
    ///
    /// # Errors
    /// If there is no such device, its memory is unknown, or nothing fits.
    pub fn new(params: &Params, machine: Machine, request: &Request) -> Result<Self, Error> {
        let &Request {
            ref device_flags,
            fill,
            ranks,
            seconds,
            bandwidth,
        } = request;
        let device = Device::open(params, 0)?;
        let precision = device.precision(params.precision, &Ranks::serial())?;
        let room = Room::of(&device, params, machine, &Ranks::serial())?;
        let least = Sizes {
            n: [Some(16); 3],
            ..Sizes::default()
        };
        let np = least.grid(ranks)?.np;
        let grid = room.fill(fill, np)?;
        let geometry = grid.geometry(grid.middle())?;

        let host = cpu::read_bandwidth(params.threads) / 1e9;
        let (bandwidth, bandwidth_is) = match (bandwidth, room.kind) {
            (Some(given), _) => (given, BandwidthIs::Given),
            (None, DeviceKind::Cpu) => (host, BandwidthIs::Measured),
            (None, DeviceKind::Gpu) => (ASSUMED_GPU_BANDWIDTH, BandwidthIs::Assumed),
        };
        let counts = Counts::new(&level_sizes(&geometry), 1, 1);
        let gbytes = counts.reads.sum() / 1e9 / ranks as f64;
        // A value and its column take 12 bytes, or 8 with single-precision values.
        let narrower = match precision {
            Precision::F64 | Precision::F32x2 => 1.0,
            Precision::Mixed | Precision::F32 => 8.0 / 12.0,
        };
        let iteration = narrower * gbytes / bandwidth;
        let reference = REFERENCE_ITERATIONS * gbytes / (host * REFERENCE_EFFICIENCY);
        Ok(Self {
            device: device.describe(),
            precision,
            device_flags: device_flags.clone(),
            rows: geometry.global_rows(),
            nnz: geometry.global_nnz(),
            need: room.need(&geometry),
            capacity: room.capacity.unwrap_or_default(),
            host_free: machine.memory.map(|memory| memory.free),
            grid,
            bandwidth,
            bandwidth_is,
            flops: counts.flops.sum(),
            iteration,
            before: reference + CHECK_ITERATIONS * iteration,
            timed: (seconds as f64).max(50.0 * iteration),
        })
    }

    /// The rating to expect in GFLOP/s, the preparation left out.
    pub fn gflops(&self) -> f64 {
        self.flops / self.iteration / 1e9
    }
}
