//! The command line: raw flags, and how they become checked parameters (HPCG: `HPCG_Init`).

mod explain;
mod report;
mod stream;

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use cubie_host::Order;
use cubie_host::comm::{Reduce, Transport};

use crate::launch::Launch;
use crate::machine::Machine;
use crate::params::dat::{self, Dat};
use crate::params::{DeviceChoice, Devices, Format, Hybrid, InputError, Params, Sizes, Split};
use crate::report::file;
use crate::report::number::counted;
use crate::{Error, Precision, plan};

pub use explain::ExplainFlags;
pub use report::ReportFlags;
pub use stream::StreamFlags;

/// Side of the box where nobody gives one.
const DEFAULT_SIDE: usize = 64;
/// Seconds to run where nobody gives a size.
const DEFAULT_SECONDS: u64 = 10;
/// Seconds to run where somebody gives a size.
const SECONDS: u64 = 60;
/// Bytes of a GiB and of a MiB.
const GIB: f64 = (1u64 << 30) as f64;
const MIB: u64 = 1 << 20;

/// Rates this machine with the HPCG 3.1 benchmark, on any GPU and every CPU.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "cubie",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Without a command, cubie runs hpcg. Exit codes: 0 valid, 1 ran but failed its checks, 2 could not run."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    hpcg: HpcgFlags,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Rate this machine
    Hpcg(Box<HpcgFlags>),
    /// List the CPU and the GPUs with their features and limits
    Devices,
    /// Compare every kernel on a device with its plain sequential twin
    Validate(DeviceFlags),
    /// Tell the largest box for a share of the memory, what it needs and how long it takes; starts nothing
    Plan(Box<PlanFlags>),
    /// Measure what the memory gives: STREAM on the CPU or a GPU
    Stream(Box<StreamFlags>),
    /// Lay saved runs side by side
    Report(ReportFlags),
    /// Predict a run from its bytes and the memory, and tell where the rest of the time goes
    Explain(Box<ExplainFlags>),
}

impl Cli {
    /// The command that was given; `hpcg` if none was.
    pub fn command(self) -> Command {
        self.command.unwrap_or(Command::Hpcg(Box::new(self.hpcg)))
    }
}

/// Flags that choose a device.
#[derive(Clone, Debug, Args)]
pub struct DeviceFlags {
    /// auto, cpu, gpu, or a number or part of a name from `cubie devices`; a comma list gives one
    /// for each local rank; joined with + (gpu+cpu) they share one box
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: Devices,
    /// auto, f64, f32x2, mixed or f32
    #[arg(long, value_name = "PRECISION", default_value = "auto")]
    precision: PrecisionChoice,
    /// Threads of each rank [default: the cores this process may use]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// The device's memory, where its driver does not tell it right
    #[arg(long, value_name = "GIB", value_parser = positive_real, allow_negative_numbers = true)]
    device_memory: Option<f64>,
    /// Let no GPU binding be larger than this; a testing aid
    #[arg(long, value_name = "MIB", value_parser = positive, allow_negative_numbers = true)]
    binding_limit: Option<usize>,
}

/// Flags of `cubie hpcg`.
#[derive(Clone, Debug, Args)]
pub struct HpcgFlags {
    /// The reference's short form: nx, ny, nz and the seconds to run
    #[arg(value_name = "NX NY NZ RT", num_args = 0..=4, value_parser = whole, allow_negative_numbers = true)]
    positional: Vec<usize>,
    /// Points of a rank's box in x, a multiple of 8; a missing side takes the largest given
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    nx: Option<usize>,
    /// Points of a rank's box in y
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    ny: Option<usize>,
    /// Points of a rank's box in z
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    nz: Option<usize>,
    /// Instead of a size: the largest box that fills this share of the device's memory, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true, conflicts_with_all = ["positional", "nx", "ny", "nz", "pz"])]
    fill: Option<f64>,
    /// Seconds that the timed sets shall take; 0 is the quick path [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = whole, allow_negative_numbers = true)]
    rt: Option<usize>,
    /// Ranks in x [default: the least surface, as the reference chooses it]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    npx: Option<usize>,
    /// Ranks in y
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    npy: Option<usize>,
    /// Ranks in z
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    npz: Option<usize>,
    /// Unequal boxes: layers of ranks below this one have nz = ZL, the others ZU
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pz: Option<usize>,
    /// Height of the boxes below --pz
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    zl: Option<usize>,
    /// Height of the other boxes
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    zu: Option<usize>,
    #[command(flatten)]
    device: DeviceFlags,
    /// natural, color8, color8:DIGITS in the order of visiting, or plane2:K; GPUs run color8 only
    #[arg(long, value_name = "ORDER", default_value = "color8")]
    order: Order,
    /// Storage of the matrix: ell28 or split [default: split]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// How halos travel between ranks: isend, put-barrier, put-flag, shmem-barrier or shmem-flag
    #[arg(long, value_name = "TRANSPORT", default_value_t)]
    halo: Transport,
    /// How dot products are summed over ranks: fast, or ordered for the same bits everywhere
    #[arg(long, value_name = "HOW", default_value_t)]
    reduce: Reduce,
    /// Shares of the devices joined with +, such as 3:1 [default: by a short trial]
    #[arg(long, value_name = "A:B")]
    split: Option<Weights>,
    /// After devices joined with +, rate the first of them alone on the same box too
    #[arg(long)]
    compare: bool,
    #[command(flatten)]
    outputs: Outputs,
}

/// Where the results go.
#[derive(Clone, Debug, Args)]
pub struct Outputs {
    /// Directory for the report and the log
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// Write the results as JSON too; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write one page with plots too; on one rank the memory is measured for it after the run
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// No progress, no table: one line with the rating
    #[arg(long)]
    pub quiet: bool,
}

/// Flags of `cubie plan`.
#[derive(Clone, Debug, Args)]
pub struct PlanFlags {
    /// Share of the device's memory to fill, 0 to 1; official runs need 0.25
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true, default_value = "0.25")]
    fill: f64,
    /// Ranks, one a device
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true, default_value = "1")]
    ranks: usize,
    /// Seconds that the timed sets shall take; official runs need 1800
    #[arg(long, value_name = "SECONDS", value_parser = whole, allow_negative_numbers = true, default_value = "1800")]
    rt: usize,
    /// The device's memory bandwidth in GB/s [default: measured on a CPU, assumed on a GPU]
    #[arg(long, value_name = "GBS", value_parser = positive_real, allow_negative_numbers = true)]
    bandwidth: Option<f64>,
    /// The device.
    #[command(flatten)]
    pub device: DeviceFlags,
}

impl PlanFlags {
    /// What is to be planned.
    pub fn request(&self) -> plan::Request {
        plan::Request {
            fill: self.fill,
            ranks: self.ranks,
            seconds: self.rt as u64,
            bandwidth: self.bandwidth,
        }
    }
}

/// Shares of devices, as `3:1`.
#[derive(Clone, Debug)]
struct Weights(Vec<f64>);

impl FromStr for Weights {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.split(':')
            .map(positive_real)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// A precision or `auto`.
#[derive(Clone, Copy, Debug)]
struct PrecisionChoice(Option<Precision>);

impl FromStr for PrecisionChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self(None));
        }
        let found = Precision::ALL.into_iter().find(|p| p.name() == text);
        found
            .map(|precision| Self(Some(precision)))
            .ok_or_else(|| "use auto, f64, f32x2, mixed or f32".into())
    }
}

/// A whole number that may be 0.
fn whole(text: &str) -> Result<usize, String> {
    match text.parse::<u32>() {
        Ok(number) => Ok(number as usize),
        Err(_) if text.parse::<i128>().is_ok_and(|number| number > 0) => {
            Err(format!("use at most {}", u32::MAX))
        }
        Err(_) => Err("use a whole number such as 0, 16 or 1800".into()),
    }
}

/// A whole number of at least 1.
fn positive(text: &str) -> Result<usize, String> {
    whole(text)
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| format!("use a whole number from 1 to {}", u32::MAX))
}

/// The most threads that a rank may have; more than any machine has cores.
const MOST_THREADS: usize = 4096;

fn threads(text: &str) -> Result<usize, String> {
    let number = positive(text).ok().filter(|&number| number <= MOST_THREADS);
    number.ok_or_else(|| format!("use a whole number from 1 to {MOST_THREADS}"))
}

fn positive_real(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|&number: &f64| number > 0.0 && number.is_finite())
        .ok_or_else(|| "use a number above 0".into())
}

fn share(text: &str) -> Result<f64, String> {
    positive_real(text)
        .ok()
        .filter(|&share| share <= 1.0)
        .ok_or_else(|| "use a share above 0 and at most 1, such as 0.25".into())
}

impl HpcgFlags {
    /// Checks the flags, and `hpcg.dat` in `dir` where it counts. With `--fill` the box of the
    /// result only stands in until the device is known (see [`crate::fit`]).
    ///
    /// # Errors
    /// The first thing that makes no sense, with what would.
    pub fn check(&self, ranks: usize, machine: &Machine, dir: &Path) -> Result<Params, Error> {
        let mut notices = Vec::new();
        let mut n = [0, 1, 2].map(|a| self.positional.get(a).copied());
        for (n, (flag, name)) in
            n.iter_mut()
                .zip([(self.nx, "--nx"), (self.ny, "--ny"), (self.nz, "--nz")])
        {
            if n.is_some() && flag.is_some() {
                return Err(InputError::GivenTwice { name }.into());
            }
            *n = n.or(flag);
        }
        let positional_rt = self.positional.get(3);
        if positional_rt.is_some() && self.rt.is_some() {
            return Err(InputError::GivenTwice { name: "--rt" }.into());
        }
        let rt = positional_rt.copied().or(self.rt).map(|rt| rt as u64);

        let mut np = self.rank_grid()?;
        let sized = n.iter().any(Option::is_some);
        let seconds = if sized || self.fill.is_some() {
            rt.unwrap_or(SECONDS)
        } else if let Some(dat) = read_dat(dir)? {
            n = dat.n.map(Some);
            np = np.or(dat.np);
            notices.push("sizes are taken from hpcg.dat".into());
            rt.unwrap_or(dat.seconds)
        } else {
            n = [Some(DEFAULT_SIDE); 3];
            notices.push(format!(
                "no size given: a short look at {DEFAULT_SIDE} x {DEFAULT_SIDE} x {DEFAULT_SIDE} points; \
                 for a real run use a box that fills a quarter of the memory for half an hour: cubie hpcg --fill 0.26 --rt 1800"
            ));
            rt.unwrap_or(DEFAULT_SECONDS)
        };
        let split = self.split()?;
        if let (Some(Split { pz, zl, zu }), Some(nz)) = (split, n[2])
            && sized
        {
            notices.push(format!(
                "nz = {nz} is overridden by --pz {pz} --zl {zl} --zu {zu}"
            ));
        }
        if self.fill.is_some() {
            n = [Some(16); 3];
        }
        let together = self.device.device.here();
        if let Some(Weights(weights)) = &self.split
            && weights.len() != together
        {
            return Err(InputError::WeightsCount {
                weights: weights.len(),
                devices: together,
            }
            .into());
        }
        if together > 1 && (np.is_some() || split.is_some() || self.fill.is_some()) {
            return Err(InputError::HybridSizes.into());
        }
        // Devices that share a box divide it when they are known.
        let grid = Sizes { n, np, split }.grid(if together > 1 { 1 } else { ranks })?;
        for rank in 0..grid.size() {
            grid.geometry(rank)?;
        }
        Ok(Params {
            grid,
            seconds,
            order: self.order.clone(),
            format: self.format,
            hybrid: (together > 1).then(|| Hybrid {
                weights: self.split.as_ref().map(|w| w.0.clone()),
            }),
            ..self.device.params(machine, notices)
        })
    }

    /// The share of the memory to fill, if that is how the size is given.
    pub fn fill(&self) -> Option<f64> {
        self.fill
    }

    /// How the ranks are started and talk.
    pub fn launch(&self) -> Launch {
        Launch {
            here: self.device.device.here(),
            transport: self.halo,
            reduce: self.reduce,
        }
    }

    /// The same run on the first of the devices that share the box, if `--compare` asks for it.
    pub fn alone(&self) -> Option<Self> {
        let mut alone = self.clone();
        alone.device.device = Devices::Each(vec![self.device_of(0).clone()]);
        alone.split = None;
        (self.compare && self.device.device.here() > 1).then_some(alone)
    }

    /// The device of a local rank.
    pub fn device_of(&self, local: usize) -> &DeviceChoice {
        self.device.device.of(local)
    }

    /// Threads of each rank, if they are given.
    pub fn threads(&self) -> Option<usize> {
        self.device.threads
    }

    /// Where the results go.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    fn rank_grid(&self) -> Result<Option<[usize; 3]>, InputError> {
        match (self.npx, self.npy, self.npz) {
            (None, None, None) => Ok(None),
            (Some(x), Some(y), Some(z)) => Ok(Some([x, y, z])),
            _ => Err(InputError::GridIncomplete),
        }
    }

    fn split(&self) -> Result<Option<Split>, InputError> {
        match (self.pz, self.zl, self.zu) {
            (None | Some(0), None, None) => Ok(None),
            (Some(pz), Some(zl), Some(zu)) => Ok(Some(Split { pz, zl, zu })),
            _ => Err(InputError::SplitIncomplete),
        }
    }
}

impl DeviceFlags {
    /// Parameters for this device and the least box.
    pub fn params(&self, machine: &Machine, mut notices: Vec<String>) -> Params {
        if let Some(threads) = self.threads.filter(|&threads| threads > machine.threads) {
            notices.push(format!(
                "{threads} threads share the {} that this process may use, so they wait for each other",
                counted(machine.threads as u64, "core")
            ));
        }
        Params {
            grid: cubie_host::Grid::uniform([1; 3], [16; 3]),
            seconds: 0,
            device: self.device.of(0).clone(),
            hybrid: None,
            precision: self.precision.0,
            order: Order::COLOR8,
            format: None,
            threads: self.threads.unwrap_or(machine.threads),
            binding_limit: self.binding_limit.map(|mib| mib as u64 * MIB),
            device_memory: self.device_memory.map(|gib| bytes(gib * GIB)),
            notices,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be positive, and saturates"
)]
fn bytes(bytes: f64) -> u64 {
    bytes as u64
}

impl Outputs {
    /// Finds out before the run whether everything can be written after it.
    ///
    /// # Errors
    /// The first path that cannot.
    pub fn probe(&self) -> Result<(), Error> {
        file::probe_directory(&self.output)?;
        self.json_file().map_or(Ok(()), file::probe)?;
        self.html.as_deref().map_or(Ok(()), file::probe)
    }

    /// The file for JSON, unless that goes to the standard output.
    pub fn json_file(&self) -> Option<&Path> {
        self.json.as_deref().filter(|path| *path != Path::new("-"))
    }

    /// Whether the standard output is for JSON.
    pub fn json_on_stdout(&self) -> bool {
        self.json.is_some() && self.json_file().is_none()
    }
}

fn read_dat(dir: &Path) -> Result<Option<Dat>, InputError> {
    match std::fs::read_to_string(dir.join("hpcg.dat")) {
        Ok(text) => dat::parse(&text).map(Some),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(InputError::DatUnreadable {
            why: why.to_string(),
        }),
    }
}
