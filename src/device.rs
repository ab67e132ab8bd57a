//! A device that was chosen, and the one place where device and precision meet.

use cubie_host::Ordered;

use crate::backend::Backend;
use crate::cpu::Cpu;
use crate::error::Error;
use crate::machine::{self, Machine};
use crate::mg::{Mixed, Multigrid, System};
use crate::params::{DeviceChoice, Format, Params};
use crate::real::Precision;
use crate::results::{self, DeviceKind};

/// A device, found and able.
pub enum Device {
    /// The host's cores.
    Cpu {
        /// How many threads.
        threads: usize,
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
    /// Finds and opens the device that the parameters choose.
    ///
    /// # Errors
    /// If there is no such device; the message lists those that exist.
    pub fn open(params: &Params) -> Result<Self, Error> {
        match params.device {
            DeviceChoice::Auto | DeviceChoice::Cpu => Ok(Self::Cpu {
                threads: params.threads,
                format: params.format,
            }),
            ref other => Err(Error::NoGpu {
                asked: other.to_string(),
            }),
        }
    }

    /// The precision to compute in: the one asked for, else the best.
    ///
    /// # Errors
    /// If the device cannot; the message says what it can.
    pub fn precision(&self, asked: Option<Precision>) -> Result<Precision, Error> {
        match asked {
            Some(Precision::F32x2) => Err(cannot_do_pairs()),
            asked => Ok(asked.unwrap_or(Precision::F64)),
        }
    }

    /// What the user should know about the choice.
    pub fn notices(&self, _: &Params, _: Precision) -> Vec<String> {
        Vec::new()
    }

    /// What reports say about it.
    pub fn describe(&self) -> results::Device {
        results::Device {
            kind: DeviceKind::Cpu,
            name: machine::cpu_name(),
            driver: String::new(),
            backend: "threads".into(),
        }
    }
    /// Threads that compute.
    pub fn threads(&self, params: &Params) -> usize {
        params.threads
    }
    /// Whether times per operation are estimates.
    pub fn times_are_estimated(&self) -> bool {
        false
    }
    /// Whether its memory is the host's.
    pub fn is_host(&self) -> bool {
        true
    }
    /// Bytes of memory, if known.
    pub fn capacity(&self, params: &Params) -> Option<u64> {
        let host = || Machine::here().memory.map(|memory| memory.total);
        params.device_memory.or_else(host)
    }

    /// Uploads the levels in `precision` and does the job with them.
    ///
    /// # Errors
    /// If the device cannot hold the levels or fails.
    pub fn run<J: Job>(
        &self,
        precision: Precision,
        levels: &[Ordered<'_>],
        job: J,
    ) -> Result<J::Output, Error> {
        match (self, precision) {
            (Self::Cpu { threads, format }, Precision::F64) => {
                multigrid(Cpu::<f64>::new(*threads, *format), levels, job)
            }
            (Self::Cpu { threads, format }, Precision::F32) => {
                multigrid(Cpu::<f32>::new(*threads, *format), levels, job)
            }
            (Self::Cpu { threads, format }, Precision::Mixed) => {
                let mut outer = Cpu::<f64>::new(*threads, *format);
                let inner = outer.sibling::<f32>();
                let system = Mixed::new(&mut outer, inner, levels)?;
                job.run(outer, system)
            }
            (Self::Cpu { .. }, Precision::F32x2) => Err(cannot_do_pairs()),
        }
    }
}

/// Pairs are for GPUs that have no f64.
fn cannot_do_pairs() -> Error {
    Error::Precision {
        device: "the CPU".into(),
        precision: Precision::F32x2,
        able: "f64, mixed, f32".into(),
    }
}

fn multigrid<B: Backend, J: Job>(
    mut backend: B,
    levels: &[Ordered<'_>],
    job: J,
) -> Result<J::Output, Error> {
    let system = Multigrid::new(&mut backend, levels)?;
    job.run(backend, system)
}
