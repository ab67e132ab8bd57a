//! What a run found out, as plain numbers.
//!
//! Reports are made from this alone, and it is what `--json` saves ([`crate::saved`]). Times are seconds of wall clock, the maximum over the ranks;
//! counts and bytes are sums over the ranks (HPCG: the arguments of `ReportResults`).

mod parts;
mod verdict;

use serde::{Deserialize, Serialize};

use crate::Precision;
use crate::meter::{Op, PerOp};
use crate::model::{Counts, Rating};

use parts::number;
pub use parts::*;
pub use verdict::{OFFICIAL_FILL, OFFICIAL_SECONDS, TRUE_RESIDUAL_FACTOR, TRUE_RESIDUAL_FLOOR};

/// Everything that a report says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Local time at which the run began, to the second.
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
    /// Processes that the ranks are: one each, or one for all.
    pub processes: u64,
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
    #[serde(deserialize_with = "number")]
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
    /// What the user should know about this run, one sentence each.
    pub notices: Vec<String>,
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

    /// GB/s that all operations moved over the time of the sets.
    pub fn gbytes_per_second(&self) -> f64 {
        self.gbytes_moved() / self.times.total
    }

    /// Iterations of all timed sets.
    pub fn iterations(&self) -> u64 {
        self.sets.count * self.optimised.iterations_per_set
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
        self.moved[op] / (324.0 * self.levels[0].rows as f64 * self.iterations() as f64)
    }

    /// Whether one set was to be timed, however short (`--rt 0`).
    pub fn is_quick(&self) -> bool {
        self.times.seconds_asked == 0.0
    }
}
