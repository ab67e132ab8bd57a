//! Flags of `cubie explain`.

use std::path::PathBuf;

use clap::Args;
use cubie_host::Order;

use super::values::{positive, positive_real, whole};
use super::{DeviceFlags, HpcgFlags, Outputs};
use crate::explain::{Network, RankCount, Scaling};
use crate::params::{Format, InputError};

/// Side of the box of a run that is only measured to be explained.
const SIDE: usize = 64;

/// Flags of `cubie explain`.
#[derive(Clone, Debug, Args)]
pub struct ExplainFlags {
    /// What `cubie hpcg --json` wrote [default: a run is measured now]
    #[arg(value_name = "JSON", conflicts_with_all = ["rt", "device", "precision", "threads", "device_memory", "binding_limit", "order", "format"])]
    pub run: Option<PathBuf>,
    /// What `cubie stream --json` wrote on the same device [default: the memory is measured now]
    #[arg(long, value_name = "JSON")]
    pub stream: Option<PathBuf>,
    /// Write everything as JSON too; - is the standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Points of a rank's box in x: with --ranks of the ranks to predict, else of the run [default: 64]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    nx: Option<usize>,
    /// Points in y [default: as in x]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true, requires = "nx")]
    ny: Option<usize>,
    /// Points in z [default: as in x]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true, requires = "nx")]
    nz: Option<usize>,
    /// Seconds of timed sets of a run that is measured now
    #[arg(long, value_name = "SECONDS", value_parser = whole, allow_negative_numbers = true, default_value = "5")]
    rt: usize,
    /// Predict the rating of these ranks: 1024 nodes of one, or 36x8, 36 nodes of 8; a comma list
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "network")]
    ranks: Vec<RankCount>,
    /// What `cubie net --json` wrote on such a network
    #[arg(long, value_name = "JSON", requires = "ranks", group = "network")]
    pub net: Option<PathBuf>,
    /// Microseconds of a message without bytes, instead of what was measured
    #[arg(long, value_name = "US", value_parser = positive_real, requires = "ranks", requires = "beta", group = "network")]
    alpha: Option<f64>,
    /// GB/s between two ranks
    #[arg(long, value_name = "GBS", value_parser = positive_real, requires = "alpha")]
    beta: Option<f64>,
    /// GB/s of a node's memory, instead of what is measured
    #[arg(long, value_name = "GBS", value_parser = positive_real, conflicts_with = "stream")]
    pub bandwidth: Option<f64>,
    #[command(flatten)]
    device: DeviceFlags,
    /// Order of the rows of a run that is measured now
    #[arg(long, value_name = "ORDER", default_value = "color8")]
    order: Order,
    /// Its storage of the matrix
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
}

impl ExplainFlags {
    /// Refuses a box that nobody would use.
    ///
    /// # Errors
    /// [`InputError::BoxOfSavedRun`].
    pub fn check(&self) -> Result<(), InputError> {
        if self.run.is_some() && self.nx.is_some() && self.ranks.is_empty() {
            return Err(InputError::BoxOfSavedRun);
        }
        Ok(())
    }

    /// The run to measure now.
    pub fn hpcg(&self) -> HpcgFlags {
        let nx = self.nx.filter(|_| self.ranks.is_empty()).unwrap_or(SIDE);
        let side = |n: Option<usize>| n.filter(|_| self.ranks.is_empty()).or(Some(nx));
        HpcgFlags {
            positional: Vec::new(),
            nx: Some(nx),
            ny: side(self.ny),
            nz: side(self.nz),
            fill: None,
            rt: Some(self.rt),
            npx: None,
            npy: None,
            npz: None,
            pz: None,
            zl: None,
            zu: None,
            device: self.device.clone(),
            order: self.order.clone(),
            format: self.format,
            halo: Default::default(),
            reduce: Default::default(),
            overlap: None,
            split: None,
            compare: false,
            outputs: Outputs {
                output: PathBuf::from("."),
                json: None,
                html: None,
                quiet: false,
            },
        }
    }

    /// The network, if it is given by hand.
    pub fn network(&self) -> Option<Network> {
        Some(Network::given(self.alpha? * 1e-6, self.beta? * 1e9))
    }

    /// What is to be extrapolated from a run with boxes of `local` points.
    pub fn scaling(&self, local: [usize; 3], network: Network) -> Scaling {
        let local = match self.nx {
            Some(nx) => [nx, self.ny.unwrap_or(nx), self.nz.unwrap_or(nx)],
            None => local,
        };
        Scaling {
            counts: self.ranks.clone(),
            local,
            network,
        }
    }
}
