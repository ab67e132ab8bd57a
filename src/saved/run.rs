//! A run with a name: one that ended just now, or one that `cubie hpcg --json` saved.

use std::path::Path;

use cubie_host::geometry::process_grid;

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

    /// How halos travelled, if there were any.
    pub fn transport(&self) -> Option<&str> {
        let halo = self.results.halo.as_ref();
        halo.map(|halo| halo.transport.as_str())
    }

    /// A saved run, named after its file.
    ///
    /// # Errors
    /// If the file is not one that this version's `cubie hpcg --json` wrote.
    pub fn read(path: &Path) -> Result<Self, SavedError> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let results: Results = super::read(path, Kind::Hpcg)?;
        if results.levels.is_empty() {
            return Err(SavedError::Different {
                path: path.to_owned(),
                kind: Kind::Hpcg,
                why: "it has no levels".into(),
            });
        }
        Ok(Self {
            name: name.into_owned(),
            results,
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
        let mpirun = match results.processes {
            1 => String::new(),
            processes => format!("mpirun -n {processes} "),
        };
        let [nx, ny, nz] = match results.hybrid {
            true => results.global,
            false => results.local,
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
        let np = results.grid;
        let by_itself = match results.hybrid {
            true => [1, 1, results.ranks],
            false => process_grid(usize::try_from(results.ranks).unwrap_or(1)).map(|n| n as u64),
        };
        let grid = if np == by_itself {
            String::new()
        } else {
            format!(" --npx {} --npy {} --npz {}", np[0], np[1], np[2])
        };
        format!(
            "{mpirun}cubie hpcg --nx {nx} --ny {ny} --nz {nz}{grid}{layers} --rt {} --device {} --threads {} --precision {} --order {} --format {}",
            results.times.seconds_asked,
            self.devices(),
            results.threads,
            results.precision,
            results.order,
            results.format
        )
    }

    /// Its devices as `--device` takes them, and their shares if they share one box.
    fn devices(&self) -> String {
        let results = &self.results;
        let details = || results.ranks_detail.iter();
        let names: Vec<&str> = details()
            .map(|rank| flag(rank.kind, &rank.device))
            .collect();
        let heights: Vec<String> = details().map(|rank| rank.local[2].to_string()).collect();
        let both: Vec<_> = names.iter().zip(&heights).collect();
        if names.is_empty() {
            return format!("'{}'", flag(results.device.kind, &results.device.name));
        }
        if !results.hybrid {
            return format!("'{}'", names[..period(&names)].join(","));
        }
        let n = match results.processes {
            1 => both.len(),
            _ => period(&both),
        };
        let (names, shares) = (names[..n].join("+"), heights[..n].join(":"));
        format!("'{names}' --split {shares}")
    }
}

/// After how many values they begin anew.
fn period<T: PartialEq>(values: &[T]) -> usize {
    let len = values.len();
    let repeats = |&n: &usize| len.is_multiple_of(n) && values[n..] == values[..len - n];
    (1..len).find(repeats).unwrap_or(len)
}

/// A device as `--device` takes it: a part of a name will do, and commas and + mean more devices.
fn flag(kind: DeviceKind, name: &str) -> &str {
    match kind {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Gpu => name.split([',', '+']).next().unwrap_or(name).trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_begin_anew() {
        assert_eq!(period(&["gpu", "cpu", "gpu", "cpu"]), 2);
        assert_eq!(period(&["gpu", "cpu", "cpu", "gpu"]), 4);
        assert_eq!(period(&["gpu", "cpu", "gpu"]), 3);
        assert_eq!(period(&[1, 1, 1]), 1);
    }
}
