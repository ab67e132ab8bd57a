//! `cubie stream`: what the memory of a device gives, by McCalpin's STREAM.
//!
//! Copy `c = a`, Scale `b = q c`, Add `c = a + b`, Triad `a = b + q c`, and Dot `Σ a b` and Read `Σ a`,
//! on arrays that no cache holds; on a CPU also Gather `Σ c_i x_(j_i)` with x in cache. A rate is the bytes of the arrays over the least time; the reads
//! that a cache makes of lines to be written do not count. `-nt` are stores past the caches.

mod bind;
pub(crate) mod check;
mod cpu;
mod error;
mod gather;
mod kernels;
mod request;

use serde::{Deserialize, Serialize};

use crate::gpu;
use crate::machine::{Machine, cpu_name};
use crate::params::DeviceChoice;
use crate::topology::Topology;
use crate::{Error, Precision};

pub use bind::{Bind, PLANS, Plan};
pub use check::Check;
pub use error::StreamError;
pub use request::Request;

/// STREAM's q. A pass turns a into (2q + q²) a, so with about √2 − 1 the arrays keep their size
/// however often they are passed over, but never stay as they are. Exact in single precision.
pub(crate) const SCALAR: f64 = 53.0 / 128.0;
/// Bytes of an array on a GPU.
const GPU_ARRAY: u64 = 256 << 20;

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Streams {
    /// One for each binding.
    pub runs: Vec<Run>,
    /// Bindings that this machine cannot do: which one, and why.
    pub skipped: Vec<(String, String)>,
}

/// One measurement of all kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The device's name.
    pub device: String,
    /// How the threads were bound; empty on a GPU.
    pub bind: String,
    /// The CPU of each thread; empty on a GPU.
    pub cpus: Vec<usize>,
    /// `large` or `small`, as was asked of the system; empty on a GPU.
    #[serde(default)]
    pub pages: String,
    /// `f64` or `f32`.
    pub precision: String,
    /// Elements of each array.
    pub elements: usize,
    /// Bytes of an element.
    pub element_bytes: usize,
    /// How often each kernel ran.
    pub times: usize,
    /// Whose clock it was.
    pub clock: String,
    /// What was found.
    #[serde(flatten)]
    pub measured: Measured,
}

/// The rates and whether the results were right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The kernels in the order of the table.
    pub rows: Vec<Row>,
    /// Whether the arrays and sums hold what they must.
    pub check: Check,
}

/// A kernel's times in seconds, the first run left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Bytes of the arrays that it reads and writes.
    pub bytes: usize,
    /// The mean.
    pub avg: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

/// The kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Copy,
    Scale,
    Add,
    Triad,
    CopyNt,
    ScaleNt,
    AddNt,
    TriadNt,
    Dot,
    Read,
    Gather,
}

impl Kernel {
    /// Those of a CPU of this architecture, in the order in which they run and are shown. The sums come
    /// last, so that they are those of the final arrays.
    pub(crate) const ALL: &[Self] = if cfg!(target_arch = "x86_64") {
        &[
            Self::Copy,
            Self::Scale,
            Self::Add,
            Self::Triad,
            Self::CopyNt,
            Self::ScaleNt,
            Self::AddNt,
            Self::TriadNt,
            Self::Dot,
            Self::Read,
            Self::Gather,
        ]
    } else {
        &[
            Self::Copy,
            Self::Scale,
            Self::Add,
            Self::Triad,
            Self::Dot,
            Self::Read,
            Self::Gather,
        ]
    };

    /// Those of a GPU.
    pub(crate) const PLAIN: &[Self] = &[
        Self::Copy,
        Self::Scale,
        Self::Add,
        Self::Triad,
        Self::Dot,
        Self::Read,
    ];

    /// Its name in the table, and how many arrays it reads and writes.
    fn facts(self) -> (&'static str, usize) {
        match self {
            Self::Copy => ("Copy", 2),
            Self::Scale => ("Scale", 2),
            Self::Add => ("Add", 3),
            Self::Triad => ("Triad", 3),
            Self::CopyNt => ("Copy-nt", 2),
            Self::ScaleNt => ("Scale-nt", 2),
            Self::AddNt => ("Add-nt", 3),
            Self::TriadNt => ("Triad-nt", 3),
            Self::Dot => ("Dot", 2),
            Self::Read => ("Read", 1),
            Self::Gather => ("Gather", 1),
        }
    }

    /// Its row, with the seconds of each run on arrays of `bytes` bytes; for Gather that is an array
    /// with its columns.
    ///
    /// # Panics
    /// If it ran less than twice.
    pub(crate) fn row(self, bytes: usize, seconds: &[f64]) -> Row {
        let counted = &seconds[1..];
        assert!(!counted.is_empty(), "the first run does not count");
        let (name, arrays) = self.facts();
        Row {
            name: name.into(),
            bytes: arrays * bytes,
            avg: counted.iter().sum::<f64>() / counted.len() as f64,
            min: counted.iter().copied().fold(f64::INFINITY, f64::min),
            max: counted.iter().copied().fold(0.0, f64::max),
        }
    }
}

impl Row {
    /// Bytes per second at best.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.min
    }
}

impl Run {
    /// Bytes per second at best of a kernel, if it was among them.
    pub fn rate(&self, kernel: &str) -> Option<f64> {
        let row = self.measured.rows.iter().find(|row| row.name == kernel)?;
        Some(row.rate())
    }
}

impl Streams {
    /// Whether all results were right.
    pub fn is_valid(&self) -> bool {
        let mut checks = self.runs.iter().map(|run| &run.measured.check);
        checks.all(|check| check.failures.is_empty())
    }

    /// Bytes per second that memory gives to kernels that mostly read, as HPCG's do: the most of
    /// Read, Dot and Triad in any run.
    pub fn bandwidth(&self) -> Option<f64> {
        let rates = ["Read", "Dot", "Triad"].map(|kernel| self.rate(kernel));
        rates.into_iter().flatten().max_by(f64::total_cmp)
    }

    /// Bytes per second at best of a kernel in any run.
    pub fn rate(&self, kernel: &str) -> Option<f64> {
        let rates = self.runs.iter().filter_map(|run| run.rate(kernel));
        rates.max_by(f64::total_cmp)
    }

    /// The run with the best Triad.
    pub fn best(&self) -> Option<&Run> {
        let triad = |run: &&Run| run.rate("Triad").unwrap_or(0.0);
        self.runs
            .iter()
            .max_by(|a, b| triad(a).total_cmp(&triad(b)))
    }
}

/// Measures the memory of a device.
///
/// # Errors
/// If there is no such device, binding or memory, or the device fails.
pub fn run(device: &DeviceChoice, request: &Request) -> Result<Streams, Error> {
    // Looking for adapters loads drivers: not where nobody wants one.
    let adapters = match device {
        DeviceChoice::Cpu => Vec::new(),
        _ => gpu::adapters(),
    };
    match gpu::choose(&adapters, device, 0)? {
        Some(adapter) => on_gpu(&adapter.open(None)?, request),
        None => on_cpu(request),
    }
}

fn on_gpu(device: &gpu::Device, request: &Request) -> Result<Streams, Error> {
    let adapter = device.adapter();
    if request.bind.is_some() || request.threads.is_some() || request.pages.is_some() {
        let device = adapter.name.clone();
        return Err(StreamError::ThreadsOfGpu { device }.into());
    }
    if !request.single && !adapter.f64 {
        return Err(Error::Precision {
            device: adapter.name.clone(),
            precision: Precision::F64,
            able: "f32; add --single".into(),
        });
    }
    let (precision, element_bytes) = width(request.single);
    let fits = adapter.memory.map_or(GPU_ARRAY, |memory| memory / 8);
    let default = GPU_ARRAY.min(fits).min(device.limit());
    let elements = request
        .elements
        .unwrap_or(usize::try_from(default).unwrap_or(usize::MAX) / element_bytes);
    let measured = if request.single {
        gpu::stream::measure::<f32>(device, elements, request.times)?
    } else {
        gpu::stream::measure::<f64>(device, elements, request.times)?
    };
    let run = Run {
        device: adapter.name.clone(),
        bind: String::new(),
        cpus: Vec::new(),
        pages: String::new(),
        precision: precision.into(),
        elements,
        element_bytes,
        times: request.times,
        clock: if adapter.timestamps {
            "the device's timestamps"
        } else {
            "wall clock: this device has no timestamps"
        }
        .into(),
        measured,
    };
    Ok(Streams {
        runs: vec![run],
        skipped: Vec::new(),
    })
}

fn on_cpu(request: &Request) -> Result<Streams, Error> {
    let topology = Topology::here();
    let (bindings, skipped) = bindings(&topology, request)?;
    let (precision, element_bytes) = width(request.single);
    let line = 64 / element_bytes;
    let default = topology.beyond_caches() / element_bytes;
    // Whole cache lines, and at least one for each thread.
    let threads = bindings.iter().map(|(_, cpus)| cpus.len()).max();
    let lines = request
        .elements
        .unwrap_or(default)
        .div_ceil(line)
        .max(threads.unwrap_or(1));
    // Three arrays and columns.
    let needed = (3 * 64 + 4 + line) as u64 * lines as u64;
    if let Some(memory) = Machine::here().memory
        && needed > memory.free
    {
        let free = memory.free;
        return Err(StreamError::Memory { needed, free }.into());
    }
    let pages = request.pages.unwrap_or_default();
    let sides = request.local.map_or(gather::SIDES, |n| n.map(|n| n / 2));
    let measure = |(bind, cpus): (String, Vec<usize>)| {
        let measured = if request.single {
            cpu::measure::<f32, { cpu::F32_LINE }>(&cpus, lines, sides, request.times, pages)?
        } else {
            cpu::measure::<f64, { cpu::F64_LINE }>(&cpus, lines, sides, request.times, pages)?
        };
        Ok(Run {
            device: cpu_name(),
            bind,
            cpus,
            pages: pages.to_string(),
            precision: precision.into(),
            elements: lines * line,
            element_bytes,
            times: request.times,
            clock: "wall clock".into(),
            measured,
        })
    };
    let runs = bindings.into_iter().map(measure);
    Ok(Streams {
        runs: runs.collect::<Result<_, Error>>()?,
        skipped,
    })
}

/// Bindings by name, each with the CPUs of its threads.
type Bindings = Vec<(String, Vec<usize>)>;

/// What is to be run, and what cannot be with the reason.
fn bindings(
    topology: &Topology,
    request: &Request,
) -> Result<(Bindings, Vec<(String, String)>), StreamError> {
    let bind = request.bind.clone().unwrap_or_default();
    if bind != Bind::Plans {
        let cpus = bind.cpus(topology, request.threads)?;
        return Ok((vec![(bind.to_string(), cpus)], Vec::new()));
    }
    if request.threads.is_some() {
        return Err(StreamError::ThreadsOfPlans);
    }
    let (mut bindings, mut skipped) = (Vec::new(), Vec::new());
    for plan in PLANS {
        match plan.cpus(topology) {
            Ok(cpus) => bindings.push((plan.name.to_owned(), cpus)),
            Err(why) => skipped.push((plan.name.to_owned(), why)),
        }
    }
    Ok((bindings, skipped))
}

/// The name of a precision, and bytes of an element.
fn width(single: bool) -> (&'static str, usize) {
    if single { ("f32", 4) } else { ("f64", 8) }
}
