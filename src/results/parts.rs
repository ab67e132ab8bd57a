//! The parts of [`super::Results`]. What is no finite number is `null` in JSON, and NaN read back.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::meter::PerOp;

/// Reads a number, or NaN for `null`.
pub(super) fn number<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or(f64::NAN))
}

/// Reads numbers, NaN for each `null`.
fn numbers<'de, D: Deserializer<'de>>(values: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Option<f64>>::deserialize(values)?;
    Ok(values
        .into_iter()
        .map(|value| value.unwrap_or(f64::NAN))
        .collect())
}

/// The device that held the data (rank 0's, if there are several).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// First layer.
    pub lower_ipz: u64,
    /// Last layer.
    pub upper_ipz: u64,
    /// Points in z.
    pub nz: u64,
}

/// Size of one level of the global problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelSize {
    /// Rows.
    pub rows: u64,
    /// Nonzeros.
    pub nnz: u64,
}

/// Bytes that were really allocated, over all ranks. `host + device` is everything; it is also the
/// sum of `levels` and `optimise`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Iterations of the reference CG (50).
    pub iterations: u64,
    /// ‖b − A x0‖.
    #[serde(deserialize_with = "number")]
    pub normr0: f64,
    /// normr/normr0 after each iteration.
    #[serde(deserialize_with = "numbers")]
    pub scaled_residuals: Vec<f64>,
    /// ‖b − A x‖/‖b‖ of its final x.
    #[serde(deserialize_with = "number")]
    pub true_residual: f64,
    /// Seconds for one SpMV and one MG.
    pub spmv_mg_seconds: f64,
}

/// The optimised CG that was run to the reference's residual.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Optimised {
    /// Iterations it needed.
    pub iterations: u64,
    /// Iterations of each timed set: at least the reference's.
    pub iterations_per_set: u64,
    /// normr/normr0 after each iteration.
    #[serde(deserialize_with = "numbers")]
    pub scaled_residuals: Vec<f64>,
}

/// The timed sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sets {
    /// Sets that were timed.
    pub count: u64,
    /// Sets that were planned.
    pub planned: u64,
    /// normr/normr0 at the end of each.
    #[serde(deserialize_with = "numbers")]
    pub scaled_residuals: Vec<f64>,
}

/// HPCG's four checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checks {
    /// CG on a matrix with few distinct eigenvalues.
    pub spectral: Spectral,
    /// A and the preconditioner are symmetric.
    pub symmetry: Symmetry,
    /// All sets end at the same residual.
    pub norms: Norms,
    /// The optimised CG reached the reference's residual.
    pub iterations: Iterations,
}

/// The spectral test (HPCG: `TestCG`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Symmetry {
    /// Whether both departures are at most 1.
    pub passed: bool,
    /// Departure of SpMV, in units of what double precision explains.
    #[serde(deserialize_with = "number")]
    pub spmv: f64,
    /// Departure of MG.
    #[serde(deserialize_with = "number")]
    pub mg: f64,
    /// max|b − A xexact|, which should be 0.
    #[serde(deserialize_with = "number")]
    pub exact_residual: f64,
}

/// The norms test (HPCG: `TestNorms`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Norms {
    /// Whether the variance is small enough.
    pub passed: bool,
    /// Mean of the sets' scaled residuals.
    #[serde(deserialize_with = "number")]
    pub mean: f64,
    /// Their variance.
    #[serde(deserialize_with = "number")]
    pub variance: f64,
}

/// Whether the optimised CG reached the reference's residual within 500 iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iterations {
    /// Whether it did.
    pub passed: bool,
}

/// Distance of x from the exact solution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolutionError {
    /// max |x_i − 1|
    #[serde(deserialize_with = "number")]
    pub max: f64,
    /// √Σ(x_i − 1)²
    #[serde(deserialize_with = "number")]
    pub norm2: f64,
}

/// Where the time went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Generating the problem.
    pub setup: f64,
    /// Permuting, converting, uploading.
    pub optimise: f64,
    /// All timed sets, until the device was idle.
    pub total: f64,
    /// Seconds of timed sets that were asked for (`--rt`); 0 is the quick path.
    pub seconds_asked: f64,
    /// Every phase in order.
    pub phases: Vec<Phase>,
    /// Of the timed sets, per operation.
    #[serde(flatten)]
    pub ops: PerOp,
    /// Whether `ops` is shared out by bytes because the device has no timestamps.
    pub estimated: bool,
    /// Seconds in the reductions of dot products; only with several ranks.
    pub allreduce: Option<Allreduce>,
}

/// Seconds in `MPI_Allreduce` over the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allreduce {
    /// The least of any rank.
    pub min: f64,
    /// The most of any rank.
    pub max: f64,
    /// The mean.
    pub avg: f64,
}

/// The rating of one device alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alone {
    /// Its name.
    pub device: String,
    /// Its rating in GFLOP/s.
    pub gflops: f64,
}

/// What the exchange of halos cost in the timed sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankDetail {
    /// The rank.
    pub rank: u64,
    /// Its device's name.
    pub device: String,
    /// Its device's kind.
    pub kind: DeviceKind,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Its seconds.
    pub seconds: f64,
}
