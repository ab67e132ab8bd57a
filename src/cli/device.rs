//! Flags that choose a device.

use clap::Args;
use cubie_host::Order;

use super::values::{PrecisionChoice, positive, positive_real, threads};
use crate::machine::Machine;
use crate::number::counted;
use crate::params::{DeviceChoice, Devices, InputError, Params};

/// Bytes of a GiB and of a MiB.
const GIB: f64 = (1u64 << 30) as f64;
const MIB: u64 = 1 << 20;

/// Flags that choose a device.
#[derive(Clone, Debug, Args)]
pub struct DeviceFlags {
    /// auto, cpu, gpu, or a number or part of a name from `cubie devices`; a comma list gives one
    /// to each local rank with a box of its own; joined with + (gpu+cpu) they share one box
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: Devices,
    /// auto, f64, f32x2, mixed or f32
    #[arg(long, value_name = "PRECISION", default_value = "auto")]
    pub(super) precision: PrecisionChoice,
    /// Threads of each rank [default: the cores this process may use]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub(super) threads: Option<usize>,
    /// The device's memory, where its driver does not tell it right
    #[arg(long, value_name = "GIB", value_parser = positive_real, allow_negative_numbers = true)]
    pub(super) device_memory: Option<f64>,
    /// Let no GPU binding be larger than this; a testing aid
    #[arg(long, value_name = "MIB", value_parser = positive, allow_negative_numbers = true)]
    pub(super) binding_limit: Option<usize>,
}

impl DeviceFlags {
    /// Parameters for the one device that is named, and the least box.
    ///
    /// # Errors
    /// [`InputError::OneDevice`].
    pub fn params_of_one(&self, machine: &Machine) -> Result<Params, InputError> {
        self.device.only()?;
        Ok(self.params(machine, Vec::new()))
    }

    /// The flags as they were given, each after a blank; none where they are left to the program.
    pub fn spelled(&self) -> String {
        let device = self.device.of(0);
        let device = (*device != DeviceChoice::Auto).then(|| format!(" --device '{device}'"));
        let precision = self
            .precision
            .0
            .map(|value| format!(" --precision {value}"));
        let threads = self.threads.map(|value| format!(" --threads {value}"));
        let memory = self.device_memory;
        let memory = memory.map(|value| format!(" --device-memory {value}"));
        let limit = self.binding_limit;
        let limit = limit.map(|value| format!(" --binding-limit {value}"));
        let given = [device, precision, threads, memory, limit];
        given.into_iter().flatten().collect()
    }

    /// Parameters for the first device and the least box.
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
