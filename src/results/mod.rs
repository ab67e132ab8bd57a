//! What a run found out, as plain numbers.
//!
//! Reports are made from this alone. Times are seconds of wall clock, the maximum over the ranks;
//! counts and bytes are sums over the ranks (HPCG: the arguments of `ReportResults`).

mod verdict;

use std::fmt;

use crate::Precision;
use crate::meter::{Op, PerOp};
use crate::model::{Counts, Rating};

pub use verdict::{OFFICIAL_FILL, OFFICIAL_SECONDS, TRUE_RESIDUAL_FACTOR, TRUE_RESIDUAL_FLOOR};

/// Everything that a report says.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Local time at which the run began.
    pub started: jiff::civil::DateTime,
    /// The device that held the data.
    pub device: Device,
    /// What the optimised phases computed in.
    pub precision: Precision,
    /// Whether devices shared one box.
    pub hybrid: bool,
    /// The order of the rows, as on the command line.
    pub order: String,
    /// The storage format of the matrix, as on the command line.
    pub format: String,
    /// Ranks.
    pub ranks: u64,
    /// Threads of each rank.
    pub threads: u64,
    /// Ranks in x, y and z.
    pub grid: [u64; 3],
    /// Points of rank 0's box.
    pub local: [u64; 3],
    /// Points of the global grid.
    pub global: [u64; 3],
    /// Layers of ranks with the same `nz`, from the bottom up; one if all boxes are equal.
    pub layers: Vec<Layer>,
    /// The global problem on each level, finest first.
    pub levels: Vec<LevelSize>,
    /// Memory that was allocated.
    pub memory: Memory,
    /// Seconds of timed sets that were asked for (`--rt`); 0 is the quick path.
    pub seconds_asked: f64,
    /// Whether the run was interrupted, so that fewer sets were timed than planned.
    pub cut_short: bool,
    /// The reference phases.
    pub reference: Reference,
    /// The optimised CG that set the number of iterations.
    pub optimised: Optimised,
    /// The timed sets.
    pub sets: Sets,
    /// HPCG's four checks.
    pub checks: Checks,
    /// ‖b − A x‖/‖b‖ of the final x, computed in double precision on the host.
    pub true_residual: f64,
    /// How far the final x is from the exact solution, all ones.
    pub solution_error: SolutionError,
    /// Where the time went.
    pub times: Times,
    /// Bytes that the kernels as written moved in the timed sets.
    pub moved: PerOp,
    /// What the first of several devices that shared one box does alone, if that was asked for.
    pub alone: Option<Alone>,
    /// Bytes a second through the devices' memory, all ranks together, measured in this run; `None`
    /// if there was no room to measure.
    pub bandwidth: Option<f64>,
    /// What the exchange of halos cost; `None` if there is one rank.
    pub halo: Option<HaloCost>,
    /// Each rank's share of the work.
    pub ranks_detail: Vec<RankDetail>,
    /// Every phase in order with its seconds, for the log.
    pub phases: Vec<Phase>,
    /// What the user should know about this run, one sentence each.
    pub notices: Vec<String>,
}

/// The device that held the data (rank 0's, if there are several).
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// What it is.
    pub kind: DeviceKind,
    /// Its name.
    pub name: String,
    /// Its driver with version, or how the CPU backend was built; empty if unknown.
    pub driver: String,
    /// What it was reached through: `vulkan`, `metal`, `dx12` or `threads`.
    pub backend: String,
}

/// Kinds of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// The host's cores.
    Cpu,
    /// An adapter, a software rasteriser included.
    Gpu,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        })
    }
}

/// Ranks `lower_ipz <= ipz <= upper_ipz` have boxes of this height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// First layer.
    pub lower_ipz: u64,
    /// Last layer.
    pub upper_ipz: u64,
    /// Points in z.
    pub nz: u64,
}

/// Size of one level of the global problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelSize {
    /// Rows.
    pub rows: u64,
    /// Nonzeros.
    pub nnz: u64,
}

/// Bytes that were really allocated, over all ranks. `host + device` is everything; it is also the
/// sum of `levels` and `optimise`.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// On the host.
    pub host: u64,
    /// On the devices; 0 where the device is the host.
    pub device: u64,
    /// Data as generated, per level; the finest includes the vectors of the reference CG.
    pub levels: Vec<u64>,
    /// What the optimise phase added: permutations, converted matrices, the device's vectors.
    pub optimise: u64,
    /// Memory of the devices that hold the data (of the host, if it is the device), whether used
    /// or not; `None` if nothing tells.
    pub capacity: Option<u64>,
}

/// The reference phases: the sequential kernels in natural order and double precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Iterations of the reference CG (50).
    pub iterations: u64,
    /// ‖b − A x0‖.
    pub normr0: f64,
    /// normr/normr0 after each iteration.
    pub scaled_residuals: Vec<f64>,
    /// ‖b − A x‖/‖b‖ of its final x.
    pub true_residual: f64,
    /// Seconds for one SpMV and one MG.
    pub spmv_mg_seconds: f64,
}

/// The optimised CG that was run to the reference's residual.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimised {
    /// Iterations it needed.
    pub iterations: u64,
    /// Iterations of each timed set: at least the reference's.
    pub iterations_per_set: u64,
    /// normr/normr0 after each iteration.
    pub scaled_residuals: Vec<f64>,
}

/// The timed sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Sets {
    /// Sets that were timed.
    pub count: u64,
    /// Sets that were planned.
    pub planned: u64,
    /// normr/normr0 at the end of each.
    pub scaled_residuals: Vec<f64>,
}

/// HPCG's four checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Checks {
    /// CG on a matrix with few distinct eigenvalues.
    pub spectral: Spectral,
    /// A and the preconditioner are symmetric.
    pub symmetry: Symmetry,
    /// All sets end at the same residual.
    pub norms: Norms,
    /// Whether the optimised CG reached the reference's residual.
    pub iterations_passed: bool,
}

/// The spectral test (HPCG: `TestCG`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spectral {
    /// Whether no run needed more iterations than expected.
    pub passed: bool,
    /// Most iterations without the preconditioner.
    pub unpreconditioned: u64,
    /// Iterations allowed without it.
    pub unpreconditioned_expected: u64,
    /// Most iterations with the preconditioner.
    pub preconditioned: u64,
    /// Iterations allowed with it.
    pub preconditioned_expected: u64,
}

/// The symmetry test (HPCG: `TestSymmetry`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Symmetry {
    /// Whether both departures are at most 1.
    pub passed: bool,
    /// Departure of SpMV, in units of what double precision explains.
    pub spmv: f64,
    /// Departure of MG.
    pub mg: f64,
    /// max|b − A xexact|, which should be 0.
    pub exact_residual: f64,
}

/// The norms test (HPCG: `TestNorms`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norms {
    /// Whether the variance is small enough.
    pub passed: bool,
    /// Mean of the sets' scaled residuals.
    pub mean: f64,
    /// Their variance.
    pub variance: f64,
}

/// Distance of x from the exact solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolutionError {
    /// max |x_i − 1|
    pub max: f64,
    /// √Σ(x_i − 1)²
    pub norm2: f64,
}

/// Where the time went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Generating the problem.
    pub setup: f64,
    /// Permuting, converting, uploading.
    pub optimise: f64,
    /// All timed sets, until the device was idle.
    pub total: f64,
    /// Of the timed sets, per operation.
    pub ops: PerOp,
    /// Whether `ops` is shared out by bytes because the device has no timestamps.
    pub estimated: bool,
    /// Seconds in the reductions of dot products; only in runs under MPI.
    pub allreduce: Option<Allreduce>,
}

/// Seconds in `MPI_Allreduce` over the ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allreduce {
    /// The least of any rank.
    pub min: f64,
    /// The most of any rank.
    pub max: f64,
    /// The mean.
    pub avg: f64,
}

/// The rating of one device alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Alone {
    /// Its name.
    pub device: String,
    /// Its rating in GFLOP/s.
    pub gflops: f64,
}

/// What the exchange of halos cost in the timed sets.
#[derive(Clone, Debug, PartialEq)]
pub struct HaloCost {
    /// How halos travelled.
    pub transport: String,
    /// Exchanges of each rank.
    pub exchanges: u64,
    /// Bytes that all ranks sent.
    pub bytes: u64,
    /// Seconds of the rank that spent most on it.
    pub seconds: f64,
}

/// One rank's share of the work in the timed sets, with its seconds.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RankDetail {
    /// The rank.
    pub rank: u64,
    /// Its device's name.
    pub device: String,
    /// Its device's kind.
    pub kind: String,
    /// Points of its box.
    pub local: [u64; 3],
    /// Its share of the rows.
    pub share: f64,
    /// Seconds in dot products.
    pub dot: f64,
    /// Seconds in vector updates.
    pub waxpby: f64,
    /// Seconds in SpMV.
    pub spmv: f64,
    /// Seconds in MG.
    pub mg: f64,
    /// Seconds of its own work: the operations above without waiting for other ranks.
    pub busy: f64,
    /// Seconds in exchanges of halos.
    pub halo: f64,
    /// Seconds in sums over the ranks.
    pub allreduce: f64,
}

/// A phase of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Its seconds.
    pub seconds: f64,
}

impl Results {
    /// The mean of the ranks' own work over the largest: 1 if all work equally long.
    pub fn balance(&self) -> f64 {
        let busy = || self.ranks_detail.iter().map(|rank| rank.busy);
        let most = busy().fold(0.0, f64::max);
        if most > 0.0 {
            busy().sum::<f64>() / most / self.ranks_detail.len() as f64
        } else {
            1.0
        }
    }

    /// What HPCG counts for the timed sets.
    pub fn counts(&self) -> Counts {
        Counts::new(
            &self.levels,
            self.sets.count,
            self.optimised.iterations_per_set,
        )
    }

    /// The share of the iterations that earns flops: what an order needs beyond the reference's
    /// iterations does not.
    pub fn credited(&self) -> f64 {
        self.reference.iterations as f64 / self.optimised.iterations_per_set as f64
    }

    /// The seconds that the rating divides by: the sets, and for each set a tenth of the
    /// preparation.
    pub fn charged_seconds(&self) -> f64 {
        let preparation = self.times.optimise + self.times.setup;
        self.times.total + self.sets.count as f64 * preparation / 10.0
    }

    /// When the run began, as ISO 8601 has it, to the second.
    pub fn start(&self) -> String {
        self.started.strftime("%Y-%m-%dT%H:%M:%S").to_string()
    }

    /// The ratings in GFLOP/s.
    pub fn rating(&self) -> Rating {
        let gflop = self.counts().flops.sum() / 1e9;
        let credited = self.credited() * gflop;
        let historical = self.times.total + self.sets.count as f64 * self.times.optimise / 10.0;
        Rating {
            raw: gflop / self.times.total,
            convergence: credited / self.times.total,
            historical: credited / historical,
            official: credited / self.charged_seconds(),
        }
    }

    /// Gigabytes that moved in the timed sets.
    pub fn gbytes_moved(&self) -> f64 {
        self.moved.sum() / 1e9
    }

    /// GFLOP/s of one operation.
    pub fn gflops_of(&self, op: Op) -> f64 {
        self.counts().flops[op] / self.times.ops[op] / 1e9
    }

    /// GB/s that one operation really moved.
    pub fn gbytes_per_second_of(&self, op: Op) -> f64 {
        self.moved[op] / self.times.ops[op] / 1e9
    }

    /// Bytes that one operation moved in an iteration, as passes over the finest matrix of 324
    /// bytes a row (27 values of 8 bytes and columns of 4); vectors are included.
    pub fn passes_of(&self, op: Op) -> f64 {
        let iterations = self.sets.count * self.optimised.iterations_per_set;
        self.moved[op] / (324.0 * self.levels[0].rows as f64 * iterations as f64)
    }

    /// Whether one set was to be timed, however short (`--rt 0`).
    pub fn is_quick(&self) -> bool {
        self.seconds_asked == 0.0
    }
}
