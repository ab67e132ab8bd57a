//! A run with a name: one that ended just now, or one that `cubie hpcg --json` saved.

use std::path::Path;

use super::{Kind, SavedError};
use crate::Results;
use crate::params::DeviceChoice;
use crate::results::DeviceKind;

/// A run, with the name that tells it from others.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What it is called beside other runs.
    pub name: String,
    /// What it found out.
    pub results: Results,
}

impl Run {
    /// A run that ended just now.
    pub fn of(results: Results) -> Self {
        Self {
            name: "this run".into(),
            results,
        }
    }

    /// A saved run, named after its file.
    ///
    /// # Errors
    /// If the file is not one that this version's `cubie hpcg --json` wrote.
    pub fn read(path: &Path) -> Result<Self, SavedError> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: name.into_owned(),
            results: super::read(path, Kind::Hpcg)?,
        })
    }

    /// The flag that finds its device again.
    pub fn device_choice(&self) -> DeviceChoice {
        let device = &self.results.device;
        match device.kind {
            DeviceKind::Cpu => DeviceChoice::Cpu,
            DeviceKind::Gpu => DeviceChoice::Name(flag(device.kind, &device.name).into()),
        }
    }

    /// The command that repeats it.
    pub fn command(&self) -> String {
        let results = &self.results;
        let details = || results.ranks_detail.iter();
        let (mpirun, [nx, ny, nz], device) = if results.hybrid {
            let devices: Vec<_> = details()
                .map(|rank| flag(rank.kind, &rank.device))
                .collect();
            let shares: Vec<_> = details().map(|rank| rank.local[2].to_string()).collect();
            let device = format!("'{}' --split {}", devices.join("+"), shares.join(":"));
            (String::new(), results.global, device)
        } else {
            let mpirun = match results.ranks {
                1 => String::new(),
                ranks => format!("mpirun -n {ranks} "),
            };
            let device = flag(results.device.kind, &results.device.name);
            (mpirun, results.local, format!("'{device}'"))
        };
        let layers = match results.layers[..] {
            [lower, upper] if !results.hybrid => {
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
            results.times.seconds_asked,
            results.threads,
            results.precision,
            results.order,
            results.format
        )
    }
}

/// A device as `--device` takes it: a part of a name will do, and commas and + mean more devices.
fn flag(kind: DeviceKind, name: &str) -> &str {
    match kind {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Gpu => name.split([',', '+']).next().unwrap_or(name).trim(),
    }
}
