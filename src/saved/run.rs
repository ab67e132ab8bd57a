//! A run of `cubie hpcg` as its JSON tells it: what pages and comparisons are made of.

use std::path::Path;

use serde::{Deserialize, Deserializer};

use crate::Results;
use crate::number::{bytes, g, percent};
use crate::params::DeviceChoice;
use crate::results::RankDetail;
use crate::saved::{self, Kind, SavedError};

/// A run, with the name that tells it from others. What was no finite number is NaN.
#[derive(Clone, Debug, Deserialize)]
pub struct Run {
    /// What it is called beside other runs.
    #[serde(skip)]
    pub name: String,
    /// When it began.
    pub started: String,
    /// Whether the rating stands.
    pub valid: bool,
    /// Whether it may be handed in.
    pub official: bool,
    /// Why not; empty if it may.
    pub not_official_because: Vec<String>,
    /// What the user should know.
    pub notices: Vec<String>,
    /// The rating in GFLOP/s.
    #[serde(deserialize_with = "number")]
    pub gflops: f64,
    /// All flops over the time of the sets.
    #[serde(deserialize_with = "number")]
    pub gflops_raw: f64,
    /// ‖b − A x‖/‖b‖
    #[serde(deserialize_with = "number")]
    pub true_residual: f64,
    /// What was computed in.
    pub precision: String,
    /// Order of the rows.
    pub order: String,
    /// Storage of the matrix.
    pub format: String,
    /// The device.
    pub device: Device,
    /// Whether devices shared one box.
    pub hybrid: bool,
    /// Ranks.
    pub ranks: u64,
    /// Threads of each.
    pub threads: u64,
    /// Ranks in x, y and z.
    pub grid: [u64; 3],
    /// Points of a rank's box.
    pub local: [u64; 3],
    /// Points of the global grid.
    pub global: [u64; 3],
    /// Layers of ranks with the same `nz`, from the bottom up.
    pub layers: Vec<Layer>,
    /// The levels, finest first.
    pub levels: Vec<Level>,
    /// Memory.
    pub memory: Memory,
    /// The reference CG.
    pub reference: Cg,
    /// The optimised CG.
    pub optimised: Cg,
    /// Timed sets.
    pub sets: Sets,
    /// HPCG's checks.
    pub checks: Checks,
    /// Seconds.
    pub times: Times,
    /// Flops of the timed sets.
    pub flops: Ops,
    /// Bytes that the kernels as written moved.
    pub moved: Ops,
    /// What the exchange of halos cost; none on one rank.
    #[serde(default)]
    pub halo: Option<Halo>,
    /// Each rank's share.
    #[serde(default)]
    pub ranks_detail: Vec<RankDetail>,
}

/// The device.
#[derive(Clone, Debug, Deserialize)]
pub struct Device {
    /// `cpu` or `gpu`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its driver.
    pub driver: String,
    /// What it was reached through.
    pub backend: String,
}

/// Ranks in z up to `upper_ipz` have boxes of this height.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Layer {
    /// The last of them.
    pub upper_ipz: u64,
    /// Points in z.
    pub nz: u64,
}

/// A level of the global problem.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Level {
    /// Rows.
    pub rows: u64,
    /// Nonzeros.
    pub nnz: u64,
}

/// Bytes.
#[derive(Clone, Debug, Deserialize)]
pub struct Memory {
    /// On the host.
    pub host: u64,
    /// On the devices.
    pub device: u64,
    /// What the optimise phase added: on a CPU, what the timed sets work on.
    pub optimise: u64,
    /// Share of the devices' memory.
    pub fill: Option<f64>,
}

/// A CG.
#[derive(Clone, Debug, Deserialize)]
pub struct Cg {
    /// Iterations.
    pub iterations: u64,
    /// Iterations of each timed set; only the optimised CG has them.
    #[serde(default)]
    pub iterations_per_set: u64,
    /// normr/normr0 after each.
    #[serde(deserialize_with = "numbers")]
    pub scaled_residuals: Vec<f64>,
}

/// Timed sets.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Sets {
    /// How many.
    pub count: u64,
}

/// The checks, each with whether it passed.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Checks {
    /// Spectral test.
    pub spectral: Check,
    /// Symmetry test.
    pub symmetry: Check,
    /// Norms test.
    pub norms: Check,
    /// The reference's residual was reached.
    pub iterations: Check,
}

/// A check.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Check {
    /// Whether it passed.
    pub passed: bool,
}

/// Seconds.
#[derive(Clone, Debug, Deserialize)]
pub struct Times {
    /// Generating the problem.
    pub setup: f64,
    /// Permuting, converting, uploading.
    pub optimise: f64,
    /// The timed sets.
    pub total: f64,
    /// Whether `ops` are estimates.
    pub estimated: bool,
    /// `--rt`.
    pub seconds_asked: f64,
    /// Every phase.
    pub phases: Vec<Phase>,
    /// Of the timed sets, per operation.
    #[serde(flatten)]
    pub ops: Ops,
}

/// A phase.
#[derive(Clone, Debug, Deserialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Its seconds.
    pub seconds: f64,
}

/// A value for each operation.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Ops {
    /// Dot products.
    pub dot: f64,
    /// Vector updates.
    pub waxpby: f64,
    /// SpMV.
    pub spmv: f64,
    /// The preconditioner.
    pub mg: f64,
}

/// The exchange of halos.
#[derive(Clone, Debug, Deserialize)]
pub struct Halo {
    /// How they travelled.
    pub transport: String,
    /// Exchanges of each rank.
    pub exchanges: u64,
    /// Bytes that all ranks sent.
    pub bytes: u64,
    /// Seconds of the slowest rank.
    pub seconds: f64,
}

impl Ops {
    /// The names that HPCG's report has for the operations.
    pub const NAMES: [&str; 4] = ["DDOT", "WAXPBY", "SpMV", "MG"];

    /// In the order of the names.
    pub fn all(&self) -> [f64; 4] {
        [self.dot, self.waxpby, self.spmv, self.mg]
    }

    /// Their sum.
    pub fn sum(&self) -> f64 {
        self.all().iter().sum()
    }
}

impl Run {
    /// A run that ended just now.
    pub fn of(results: &Results) -> Self {
        let json = crate::report::json::json(results);
        let run = serde_json::from_value(json).expect("written by this version");
        Self {
            name: "this run".into(),
            ..run
        }
    }

    /// A saved run, named after its file.
    ///
    /// # Errors
    /// If the file is not one that this version's `cubie hpcg --json` wrote.
    pub fn read(path: &Path) -> Result<Self, SavedError> {
        let run: Self = saved::read(path, Kind::Hpcg)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: name.into_owned(),
            ..run
        })
    }

    /// The flag that finds its device again.
    pub fn device_choice(&self) -> DeviceChoice {
        match self.device.kind.as_str() {
            "cpu" => DeviceChoice::Cpu,
            kind => DeviceChoice::Name(flag(kind, &self.device.name).into()),
        }
    }

    /// What may be said of the rating.
    pub fn status(&self) -> &'static str {
        match (self.official, self.valid) {
            (true, _) => "valid, official",
            (false, true) => "valid, not official",
            (false, false) => "NOT VALID",
        }
    }

    /// GB/s that all kernels moved over the time of the sets.
    pub fn gbytes_per_second(&self) -> f64 {
        self.moved.sum() / self.times.total / 1e9
    }

    /// The rating, were the bytes of the kernels moved at `bandwidth` bytes per second.
    pub fn bound(&self, bandwidth: f64) -> f64 {
        self.gflops * self.times.total / (self.moved.sum() / bandwidth)
    }

    /// The command that repeats it.
    pub fn command(&self) -> String {
        let (mpirun, [nx, ny, nz], device) = if self.hybrid {
            let devices: Vec<_> = self
                .ranks_detail
                .iter()
                .map(|rank| flag(&rank.kind, &rank.device))
                .collect();
            let shares: Vec<_> = self
                .ranks_detail
                .iter()
                .map(|rank| rank.local[2].to_string())
                .collect();
            let device = format!("'{}' --split {}", devices.join("+"), shares.join(":"));
            (String::new(), self.global, device)
        } else {
            let mpirun = if self.ranks > 1 {
                format!("mpirun -n {} ", self.ranks)
            } else {
                String::new()
            };
            (
                mpirun,
                self.local,
                format!("'{}'", flag(&self.device.kind, &self.device.name)),
            )
        };
        let layers = match self.layers[..] {
            [lower, upper] if !self.hybrid => {
                format!(
                    " --pz {} --zl {} --zu {}",
                    lower.upper_ipz + 1,
                    lower.nz,
                    upper.nz
                )
            }
            _ => String::new(),
        };
        format!(
            "{mpirun}cubie hpcg --nx {nx} --ny {ny} --nz {nz}{layers} --rt {} --device {device} --threads {} --precision {} --order {} --format {}",
            self.times.seconds_asked, self.threads, self.precision, self.order, self.format
        )
    }

    /// What a comparison shows, by name.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let sides = |n: [u64; 3]| format!("{} x {} x {}", n[0], n[1], n[2]);
        let mut facts = vec![
            ("GFLOP/s", g(self.gflops)),
            ("status", self.status().into()),
            ("device", self.device.name.clone()),
            ("backend", self.device.backend.clone()),
            ("precision", self.precision.clone()),
            ("order", self.order.clone()),
            ("format", self.format.clone()),
            ("ranks", self.ranks.to_string()),
            ("threads", self.threads.to_string()),
            ("local box", sides(self.local)),
            ("global grid", sides(self.global)),
            ("memory", bytes(self.memory.host + self.memory.device)),
            ("iterations", self.optimised.iterations.to_string()),
            (
                "iterations a set",
                self.optimised.iterations_per_set.to_string(),
            ),
            ("true residual", format!("{:.2e}", self.true_residual)),
            ("sets", self.sets.count.to_string()),
            ("set-up s", format!("{:.3}", self.times.setup)),
            ("optimise s", format!("{:.3}", self.times.optimise)),
            ("timed s", format!("{:.3}", self.times.total)),
        ];
        let iterations = (self.sets.count * self.optimised.iterations_per_set) as f64;
        let names = ["DDOT ms/it", "WAXPBY ms/it", "SpMV ms/it", "MG ms/it"];
        for (name, seconds) in names.into_iter().zip(self.times.ops.all()) {
            facts.push((name, format!("{:.4}", 1e3 * seconds / iterations)));
        }
        facts.push(("raw GFLOP/s", g(self.gflops_raw)));
        facts.push(("GB/s moved", format!("{:.2}", self.gbytes_per_second())));
        let halo = self.halo.as_ref();
        let share = halo.map(|halo| percent(halo.seconds / self.times.total));
        facts.push(("halo", share.unwrap_or_else(|| "none".into())));
        facts
    }
}

/// A device as `--device` takes it: a part of a name will do, and commas and + mean more devices.
fn flag<'a>(kind: &str, name: &'a str) -> &'a str {
    match kind {
        "cpu" => "cpu",
        _ => name.split([',', '+']).next().unwrap_or(name).trim(),
    }
}

fn number<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or(f64::NAN))
}

fn numbers<'de, D: Deserializer<'de>>(values: D) -> Result<Vec<f64>, D::Error> {
    let values: Vec<Option<f64>> = Vec::deserialize(values)?;
    Ok(values
        .into_iter()
        .map(|value| value.unwrap_or(f64::NAN))
        .collect())
}
