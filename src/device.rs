//! A device that was chosen, and the one place where device and precision meet.

use cubie_host::{Ordered, Ranks};

use crate::backend::Backend;
use crate::cpu::{self, Cpu};
use crate::error::Error;
use crate::gpu::{self, Arithmetic, Gpu};
use crate::machine::{self, Machine};
use crate::mg::{Mixed, Multigrid, System};
use crate::params::{DeviceChoice, Format, Params};
use crate::real::Precision;
use crate::results::{self, DeviceKind};

/// A device, found and open.
pub enum Device {
    /// The host's cores.
    Cpu {
        /// How many threads.
        threads: usize,
        /// How matrices are stored.
        format: Format,
    },
    /// A GPU.
    Gpu {
        /// The device.
        device: gpu::Device,
        /// How matrices are stored.
        format: Format,
    },
}

/// Work that can be done on any device in any precision.
pub trait Job {
    /// What it yields.
    type Output;
    /// Does it.
    ///
    /// # Errors
    /// If the device fails.
    fn run<B: Backend, S: System<B>>(self, backend: B, system: S) -> Result<Self::Output, Error>;
}

impl Device {
    /// Finds and opens the device that the parameters choose. Of several equal GPUs each local rank
    /// takes the next.
    ///
    /// # Errors
    /// If there is no such device; the message lists those that exist.
    pub fn open(params: &Params, local_rank: usize) -> Result<Self, Error> {
        // Looking for adapters loads drivers: not where nobody wants one.
        let adapters = match params.device {
            DeviceChoice::Cpu => Vec::new(),
            _ => gpu::adapters(),
        };
        let format = params.format.unwrap_or(Format::Split);
        match gpu::choose(&adapters, &params.device, local_rank)? {
            Some(adapter) => Ok(Self::Gpu {
                device: adapter.open(params.binding_limit)?,
                format,
            }),
            None => Ok(Self::Cpu {
                threads: params.threads,
                format,
            }),
        }
    }

    /// The precision to compute in: the one asked for, else the best. Beside GPUs that compute in
    /// pairs of singles a CPU computes in double.
    ///
    /// # Errors
    /// If the device cannot; the message says what it can.
    pub fn precision(&self, asked: Option<Precision>, ranks: &Ranks) -> Result<Precision, Error> {
        let able = self.precisions();
        match (self, asked) {
            (Self::Cpu { .. }, Some(Precision::F32x2)) if !ranks.is_alone() => {
                return Ok(Precision::F64);
            }
            _ => {}
        }
        match asked {
            Some(asked) if !able.contains(&asked) => Err(Error::Precision {
                device: self.describe().name,
                precision: asked,
                able: able
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
            Some(asked) => Ok(asked),
            None => Ok(able[0]),
        }
    }

    /// What it can compute in, best first.
    pub fn precisions(&self) -> Vec<Precision> {
        let able = |precision: &Precision| match self {
            Self::Cpu { .. } => *precision != Precision::F32x2,
            Self::Gpu { device, .. } => *precision != Precision::F64 || device.adapter().f64,
        };
        Precision::ALL.into_iter().filter(able).collect()
    }

    /// How it stores matrices.
    pub fn format(&self) -> Format {
        match self {
            Self::Cpu { format, .. } | Self::Gpu { format, .. } => *format,
        }
    }

    /// What the user should know about a run in `precision` on it.
    pub fn notices(&self, precision: Precision) -> Vec<String> {
        let Self::Gpu { device, .. } = self else {
            return Vec::new();
        };
        let mut notices = Vec::new();
        if !device.adapter().f64 && precision == Precision::F32x2 {
            notices.push(
                "this device has no double precision: pairs of singles (f32x2) take its place, \
                 and the result is not an official HPCG rating"
                    .into(),
            );
        }
        if !device.adapter().f64 && precision == Precision::Mixed {
            notices.push("this device has no double precision: CG is in pairs of singles (f32x2), the V-cycle in single".into());
        }
        notices
    }

    /// What reports say about it.
    pub fn describe(&self) -> results::Device {
        match self {
            Self::Cpu { .. } => results::Device {
                kind: DeviceKind::Cpu,
                name: machine::cpu_name(),
                driver: format!("SIMD level {}", cpu::simd_name()),
                backend: "threads".into(),
            },
            Self::Gpu { device, .. } => {
                let adapter = device.adapter();
                results::Device {
                    kind: DeviceKind::Gpu,
                    name: adapter.name.clone(),
                    driver: format!("{} {}", adapter.driver, adapter.driver_info)
                        .trim()
                        .into(),
                    backend: adapter.backend.to_lowercase(),
                }
            }
        }
    }

    /// Whether times per operation are estimates.
    pub fn times_are_estimated(&self) -> bool {
        match self {
            Self::Cpu { .. } => false,
            Self::Gpu { device, .. } => device.times_are_estimated(),
        }
    }

    /// Bytes a second through its memory, by a short measurement: reads on the host, a copy on a GPU.
    /// `None` if there is no room to measure.
    pub fn bandwidth(&self) -> Option<f64> {
        match self {
            Self::Cpu { threads, .. } => Some(cpu::read_bandwidth(*threads)),
            Self::Gpu { device, .. } => device.copy_bandwidth().ok(),
        }
    }

    /// What tells it from all other devices of a run.
    pub fn key(&self) -> String {
        let results::Device { name, kind, .. } = self.describe();
        let turn = match self {
            Self::Cpu { .. } => 0,
            Self::Gpu { device, .. } => device.adapter().index,
        };
        format!("{:?} {kind} {name} {turn}", machine::host_name())
    }

    /// Bytes of its memory: what the user says, else what the system or the driver says.
    pub fn memory(&self, params: &Params) -> Option<u64> {
        params.device_memory.or_else(|| match self {
            Self::Cpu { .. } => Machine::here().memory.map(|memory| memory.total),
            Self::Gpu { device, .. } => device.adapter().memory,
        })
    }

    /// Bytes of its memory for this rank: a fair share where several ranks use the same device.
    pub fn capacity(&self, params: &Params, ranks: &Ranks) -> Option<u64> {
        let sharing = machine::sum_alike(ranks, &self.key(), 1);
        self.memory(params).map(|bytes| bytes / sharing)
    }

    /// Uploads the levels in `precision` and does the job with them.
    ///
    /// # Errors
    /// If the device cannot hold the levels or fails.
    pub fn run<J: Job>(
        &self,
        precision: Precision,
        levels: &[Ordered<'_>],
        ranks: &Ranks,
        job: J,
    ) -> Result<J::Output, Error> {
        match (self, precision) {
            (Self::Cpu { threads, format }, Precision::F64) => {
                multigrid(Cpu::<f64>::new(*threads, *format), levels, ranks, job)
            }
            (Self::Cpu { threads, format }, Precision::F32) => {
                multigrid(Cpu::<f32>::new(*threads, *format), levels, ranks, job)
            }
            (Self::Cpu { threads, format }, Precision::Mixed) => {
                let mut outer = Cpu::<f64>::new(*threads, *format);
                let inner = outer.sibling::<f32>();
                let system = Mixed::new(&mut outer, inner, levels, ranks)?;
                job.run(outer, system)
            }
            (Self::Cpu { .. }, Precision::F32x2) => panic!("`precision` refuses pairs on a CPU"),
            (Self::Gpu { device, format }, Precision::F64) => {
                on_gpu(device, Arithmetic::F64, *format, levels, ranks, job)
            }
            (Self::Gpu { device, format }, Precision::F32x2) => {
                on_gpu(device, Arithmetic::F32x2, *format, levels, ranks, job)
            }
            (Self::Gpu { device, format }, Precision::F32) => {
                on_gpu(device, Arithmetic::F32, *format, levels, ranks, job)
            }
            (Self::Gpu { device, format }, Precision::Mixed) => {
                let mut outer = Gpu::new(device, device.double(), *format)?;
                let inner = Gpu::new(device, Arithmetic::F32, *format)?;
                let system = Mixed::new(&mut outer, inner, levels, ranks)?;
                job.run(outer, system)
            }
        }
    }
}

fn on_gpu<J: Job>(
    device: &gpu::Device,
    arithmetic: Arithmetic,
    format: Format,
    levels: &[Ordered<'_>],
    ranks: &Ranks,
    job: J,
) -> Result<J::Output, Error> {
    multigrid(Gpu::new(device, arithmetic, format)?, levels, ranks, job)
}

fn multigrid<B: Backend, J: Job>(
    mut backend: B,
    levels: &[Ordered<'_>],
    ranks: &Ranks,
    job: J,
) -> Result<J::Output, Error> {
    let system = Multigrid::new(&mut backend, levels, ranks)?;
    job.run(backend, system)
}
