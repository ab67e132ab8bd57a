//! What a run shall do: checked parameters (HPCG: `HPCG_Params`, filled by `HPCG_Init`).

pub mod dat;
mod error;
mod sizes;

use std::fmt;
use std::str::FromStr;

use cubie_host::{Grid, Order};

use crate::Precision;

pub use error::InputError;
pub use sizes::{Sizes, UnequalBoxes};

/// Checked parameters of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The grid of ranks and their boxes.
    pub grid: Grid,
    /// Seconds that the timed sets shall take; 0 is the quick path.
    pub seconds: u64,
    /// Which device shall compute on this rank.
    pub device: DeviceChoice,
    /// Whether the ranks are devices that share one box; its shares are found when they are known.
    pub hybrid: Option<Hybrid>,
    /// What it shall compute in; `None` leaves it to the device: f64 if it can, else f32x2.
    pub precision: Option<Precision>,
    /// The order of the rows.
    pub order: Order,
    /// The storage format of the matrix; `None` leaves it to the device.
    pub format: Option<Format>,
    /// Threads of each rank.
    pub threads: usize,
    /// The most bytes that a GPU binding may have, below the device's own limit; a testing aid.
    pub binding_limit: Option<u64>,
    /// Bytes of memory of the device, where the user knows better than the driver tells.
    pub device_memory: Option<u64>,
    /// What was overridden or assumed, one sentence each.
    pub notices: Vec<String>,
}

/// Which device shall compute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first discrete, else integrated GPU, else the CPU.
    #[default]
    Auto,
    /// The host's cores.
    Cpu,
    /// The first discrete, else integrated GPU.
    Gpu,
    /// The adapter with this number in `cubie devices`.
    Index(usize),
    /// The adapter whose name contains this.
    Name(String),
}

/// Devices that share one box.
#[derive(Clone, Debug, PartialEq)]
pub struct Hybrid {
    /// Ranks in x, y and z; `None` stacks all of them in z.
    pub np: Option<[usize; 3]>,
    /// Their shares as the user wants them, one for each local rank in turn; `None` leaves it to a
    /// short trial.
    pub weights: Option<Vec<f64>>,
}

/// The devices of the ranks on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// One for each local rank, in turn.
    Each(Vec<DeviceChoice>),
    /// The same, but all ranks together share one box.
    Together(Vec<DeviceChoice>),
}

impl Devices {
    /// Ranks that a process is, unless `mpirun` starts one for each.
    pub fn here(&self) -> usize {
        match self {
            Self::Each(_) => 1,
            Self::Together(devices) => devices.len(),
        }
    }

    /// Refuses more devices than there are ranks on this machine.
    ///
    /// # Errors
    /// [`InputError::DevicesLeftOver`].
    pub fn check(&self, ranks_here: usize) -> Result<(), InputError> {
        let (Self::Each(devices) | Self::Together(devices)) = self;
        if devices.len() > ranks_here {
            return Err(InputError::DevicesLeftOver {
                devices: devices.len(),
                ranks: ranks_here,
            });
        }
        Ok(())
    }

    /// The device, where only one makes sense.
    ///
    /// # Errors
    /// [`InputError::OneDevice`].
    pub fn only(&self) -> Result<&DeviceChoice, InputError> {
        match self {
            Self::Each(devices) if devices.len() == 1 => Ok(&devices[0]),
            _ => Err(InputError::OneDevice),
        }
    }

    /// The device of a local rank.
    pub fn of(&self, local: usize) -> &DeviceChoice {
        let (Self::Each(devices) | Self::Together(devices)) = self;
        &devices[local % devices.len()]
    }
}

impl FromStr for Devices {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |list: &str, separator: char| -> Result<Vec<DeviceChoice>, String> {
            list.split(separator).map(str::parse).collect()
        };
        if text.contains('+') && text.contains(',') {
            return Err("join devices with + to share one box, or list them with commas, one for each local rank".into());
        }
        if text.contains('+') {
            return Ok(Self::Together(parse(text, '+')?));
        }
        Ok(Self::Each(parse(text, ',')?))
    }
}

impl FromStr for DeviceChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text.trim() {
            "" => return Err("a device is auto, cpu, gpu, a number or a name".into()),
            "auto" => Self::Auto,
            "cpu" => Self::Cpu,
            "gpu" => Self::Gpu,
            text => match text.parse() {
                Ok(index) => Self::Index(index),
                Err(_) => Self::Name(text.to_owned()),
            },
        })
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Cpu => f.pad("cpu"),
            Self::Gpu => f.pad("gpu"),
            Self::Index(index) => index.fmt(f),
            Self::Name(name) => f.pad(name),
        }
    }
}

/// Storage formats of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ELLPACK with 28 entries a row.
    Ell28,
    /// Lower part, diagonal and upper part in the order of the sweep.
    Split,
}

impl FromStr for Format {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ell28" => Ok(Self::Ell28),
            "split" => Ok(Self::Split),
            _ => Err(format!("'{text}' is not a format; use ell28 or split")),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ell28 => "ell28",
            Self::Split => "split",
        })
    }
}
