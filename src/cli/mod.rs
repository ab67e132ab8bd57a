//! The command line: the commands with their raw flags.

mod device;
mod explain;
mod hpcg;
mod net;
mod outputs;
mod plan;
mod report;
mod stream;
mod values;

use clap::{Parser, Subcommand};

pub use device::DeviceFlags;
pub use explain::ExplainFlags;
pub use hpcg::HpcgFlags;
pub use net::NetFlags;
pub use outputs::Outputs;
pub use plan::PlanFlags;
pub use report::ReportFlags;
pub use stream::StreamFlags;

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
    /// Measure what the network between ranks gives, with messages and with HPCG's halos
    Net(NetFlags),
    /// Lay saved runs side by side
    Report(ReportFlags),
    /// Predict a run from its bytes and the memory, and tell where the rest of the time goes
    Explain(Box<ExplainFlags>),
}

impl Command {
    /// Whether every rank of `mpirun` takes part in it; else the first does it alone.
    pub fn is_for_all_ranks(&self) -> bool {
        match self {
            Self::Hpcg(_) | Self::Net(_) => true,
            Self::Explain(flags) => flags.run.is_none(),
            Self::Devices
            | Self::Validate(_)
            | Self::Plan(_)
            | Self::Stream(_)
            | Self::Report(_) => false,
        }
    }
}

impl Cli {
    /// The command that was given; `hpcg` if none was.
    pub fn command(self) -> Command {
        self.command.unwrap_or(Command::Hpcg(Box::new(self.hpcg)))
    }
}
