//! Flags of `cubie stream`.

use std::path::PathBuf;

use clap::Args;

use super::values::positive;
use crate::cpu::PageSize;
use crate::params::DeviceChoice;
use crate::stream::{Bind, Request};

/// Flags of `cubie stream`.
#[derive(Clone, Debug, Args)]
pub struct StreamFlags {
    /// Elements of each of the three arrays [default: four times the last-level caches; 256 MiB on a GPU]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    elements: Option<usize>,
    /// How often each kernel runs; the first time does not count
    #[arg(long, value_name = "N", value_parser = times, allow_negative_numbers = true, default_value = "10")]
    times: usize,
    /// In single precision
    #[arg(long)]
    single: bool,
    /// Where threads of a CPU are pinned: compact, spread, cores:LIST, per-socket:N, or plans
    /// [default: compact]
    #[arg(long, value_name = "BIND")]
    bind: Option<Bind>,
    /// Print comma-separated values instead of the table
    #[arg(long)]
    pub csv: bool,
    /// Write the figures as JSON too; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// auto, cpu, gpu, or a number or part of a name from `cubie devices`
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
    /// Threads, each on a CPU of its own [default: all that the binding has]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Pages of a CPU's arrays: large, as HPCG's runs have them where the system can, or small, as
    /// of most other programs [default: large]
    #[arg(long, value_name = "PAGES")]
    pages: Option<PageSize>,
}

/// The first run does not count, so there must be another.
fn times(text: &str) -> Result<usize, String> {
    let times = positive(text).ok().filter(|&times| times > 1);
    times.ok_or_else(|| "use a whole number from 2 on".into())
}

impl StreamFlags {
    /// What is to be measured.
    pub fn request(&self) -> Request {
        Request {
            elements: self.elements,
            times: self.times,
            single: self.single,
            threads: self.threads,
            bind: self.bind.clone(),
            local: None,
            pages: self.pages,
        }
    }
}
