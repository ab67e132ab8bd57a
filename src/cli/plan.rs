//! Flags of `cubie plan`.

use clap::Args;

use super::DeviceFlags;
use super::values::{positive, positive_real, share, whole};
use crate::plan;

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
            device_flags: self.device.spelled(),
            fill: self.fill,
            ranks: self.ranks,
            seconds: self.rt as u64,
            bandwidth: self.bandwidth,
        }
    }
}
