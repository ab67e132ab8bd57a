//! Flags of `cubie net`.

use std::path::PathBuf;

use clap::Args;

use super::values::{positive, positive_real};
use crate::Error;
use crate::launch::{Launch, is_one_of_several};
use crate::net::{MAX_BYTES, NetError, Operation, Request, SECONDS};
use crate::params::Sizes;

/// The most that a message may have: MPI counts with 32 bits.
const MOST_BYTES: usize = 1 << 30;
/// Side of the box whose halos are sent.
const SIDE: usize = 64;

/// Flags of `cubie net`.
#[derive(Clone, Debug, Args)]
pub struct NetFlags {
    /// pingpong, exchange, bcast, allreduce, barrier, halo [default: all of them]
    #[arg(value_name = "OPERATION")]
    operations: Vec<Operation>,
    /// Ranks as threads of this process; mpirun starts them as processes
    #[arg(long, value_name = "N", value_parser = ranks, allow_negative_numbers = true)]
    ranks: Option<usize>,
    /// The largest message, at most 1 GiB
    #[arg(long, value_name = "BYTES", value_parser = bytes, allow_negative_numbers = true, default_value_t = MAX_BYTES)]
    max_bytes: usize,
    /// The most seconds that an operation takes on one size
    #[arg(long, value_name = "SECONDS", value_parser = positive_real, default_value_t = SECONDS)]
    time: f64,
    /// Points of a rank's box in x, for its halos [default: 64]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    nx: Option<usize>,
    /// Points in y [default: as in x]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true, requires = "nx")]
    ny: Option<usize>,
    /// Points in z [default: as in x]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true, requires = "nx")]
    nz: Option<usize>,
    /// Print comma-separated values instead of the tables
    #[arg(long)]
    pub csv: bool,
    /// Write the figures as JSON too; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The most ranks in a process; more than any machine has cores.
const MOST_RANKS: usize = 1024;

fn ranks(text: &str) -> Result<usize, String> {
    let number = positive(text).ok().filter(|&number| number <= MOST_RANKS);
    number.ok_or_else(|| format!("use a whole number from 2 to {MOST_RANKS}"))
}

fn bytes(text: &str) -> Result<usize, String> {
    let number = positive(text).ok().filter(|&number| number <= MOST_BYTES);
    number.ok_or_else(|| format!("use a whole number of bytes from 1 to {MOST_BYTES}"))
}

impl NetFlags {
    /// How the ranks are started.
    pub fn launch(&self) -> Launch {
        let here = if is_one_of_several() {
            1
        } else {
            self.ranks.unwrap_or(1)
        };
        Launch {
            here,
            transport: Default::default(),
            reduce: Default::default(),
            overlap: None,
        }
    }

    /// What so many ranks are to measure.
    ///
    /// # Errors
    /// If the box is not one of HPCG's, or `mpirun` has started other ranks than `--ranks` says.
    pub fn request(&self, started: usize) -> Result<Request, Error> {
        if let Some(asked) = self.ranks.filter(|&asked| asked != started) {
            return Err(NetError::RanksUnderMpi { asked, started }.into());
        }
        let nx = self.nx.unwrap_or(SIDE);
        let local = [nx, self.ny.unwrap_or(nx), self.nz.unwrap_or(nx)];
        let sizes = Sizes {
            n: local.map(Some),
            ..Sizes::default()
        };
        sizes.grid(1)?.geometry(0)?;
        let operations = match self.operations.is_empty() {
            true => Operation::ALL.to_vec(),
            false => self.operations.clone(),
        };
        Ok(Request {
            operations,
            max_bytes: self.max_bytes,
            seconds: self.time,
            local,
        })
    }
}
