//! Flags of `cubie hpcg`, and how they become checked parameters (HPCG: `HPCG_Init`).

use std::io;
use std::path::Path;

use clap::Args;
use cubie_host::Order;
use cubie_host::comm::{Reduce, Transport};

use super::values::{Weights, positive, share, whole};
use super::{DeviceFlags, Outputs};
use crate::Error;
use crate::launch::Launch;
use crate::machine::Machine;
use crate::params::dat::{self, Dat};
use crate::params::{Devices, Format, Hybrid, InputError, Params, Sizes, UnequalBoxes};

/// Side of the box where nobody gives one.
const DEFAULT_SIDE: usize = 64;
/// Seconds to run where nobody gives a size.
const DEFAULT_SECONDS: u64 = 10;
/// Seconds to run where somebody gives a size.
const SECONDS: u64 = 60;

/// Flags of `cubie hpcg`.
#[derive(Clone, Debug, Args)]
pub struct HpcgFlags {
    /// The reference's short form: nx, ny, nz and the seconds to run
    #[arg(value_name = "NX NY NZ RT", num_args = 0..=4, value_parser = whole, allow_negative_numbers = true)]
    pub(super) positional: Vec<usize>,
    /// Points of a rank's box in x, a multiple of 8; a missing side takes the largest given. Devices
    /// joined with + share one box: then it is that of all ranks together
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(super) nx: Option<usize>,
    /// Points of a rank's box in y
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(super) ny: Option<usize>,
    /// Points of a rank's box in z
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(super) nz: Option<usize>,
    /// Instead of a size: the largest box that fills this share of the device's memory, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true, conflicts_with_all = ["positional", "nx", "ny", "nz", "pz"])]
    pub(super) fill: Option<f64>,
    /// Seconds that the timed sets shall take; 0 is the quick path [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = whole, allow_negative_numbers = true)]
    pub(super) rt: Option<usize>,
    /// Ranks in x [default: the least surface, as the reference chooses it]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(super) npx: Option<usize>,
    /// Ranks in y
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(super) npy: Option<usize>,
    /// Ranks in z
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(super) npz: Option<usize>,
    /// Unequal boxes: layers of ranks below this one have nz = ZL, the others ZU
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    pub(super) pz: Option<usize>,
    /// Height of the boxes below --pz
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(super) zl: Option<usize>,
    /// Height of the other boxes
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub(super) zu: Option<usize>,
    #[command(flatten)]
    pub(super) device: DeviceFlags,
    /// natural, color8, color8:DIGITS in the order of visiting, or plane2:K; GPUs run color8 only
    #[arg(long, value_name = "ORDER", default_value = "color8")]
    pub(super) order: Order,
    /// Storage of the matrix: ell28 or split [default: split]
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<Format>,
    /// How halos travel between ranks: isend, put-barrier, put-flag, shmem-barrier or shmem-flag
    #[arg(long, value_name = "TRANSPORT", default_value_t)]
    pub(super) halo: Transport,
    /// How dot products are summed over ranks: fast, or ordered for the same bits everywhere
    #[arg(long, value_name = "HOW", default_value_t)]
    pub(super) reduce: Reduce,
    /// Work on rows that need no halo while it travels: true or false [default: if ranks are on
    /// several machines]
    #[arg(long, value_name = "BOOL")]
    pub(super) overlap: Option<bool>,
    /// Shares of the devices joined with +, such as 3:1, along z [default: by a short trial]
    #[arg(long, value_name = "A:B")]
    pub(super) split: Option<Weights>,
    /// After devices joined with +, rate the first of them alone on the same box too
    #[arg(long)]
    pub(super) compare: bool,
    #[command(flatten)]
    pub(super) outputs: Outputs,
}

impl HpcgFlags {
    /// Checks the flags, and `hpcg.dat` in `dir` where it counts. With `--fill` the box of the
    /// result only stands in until the device is known (see [`crate::fit`]).
    ///
    /// # Errors
    /// The first thing that makes no sense, with what would.
    pub fn check(&self, ranks: usize, machine: &Machine, dir: &Path) -> Result<Params, Error> {
        let mut notices = Vec::new();
        let mut n = [0, 1, 2].map(|a| self.positional.get(a).copied());
        for (n, (flag, name)) in
            n.iter_mut()
                .zip([(self.nx, "--nx"), (self.ny, "--ny"), (self.nz, "--nz")])
        {
            if n.is_some() && flag.is_some() {
                return Err(InputError::GivenTwice { name }.into());
            }
            *n = n.or(flag);
        }
        let positional_rt = self.positional.get(3);
        if positional_rt.is_some() && self.rt.is_some() {
            return Err(InputError::GivenTwice { name: "--rt" }.into());
        }
        let rt = positional_rt.copied().or(self.rt).map(|rt| rt as u64);

        let mut np = self.rank_grid()?;
        let sized = n.iter().any(Option::is_some);
        let seconds = if sized || self.fill.is_some() {
            rt.unwrap_or(SECONDS)
        } else if let Some(dat) = read_dat(dir)? {
            n = dat.n.map(Some);
            np = np.or(dat.np);
            notices.push("sizes are taken from hpcg.dat".into());
            rt.unwrap_or(dat.seconds)
        } else {
            n = [Some(DEFAULT_SIDE); 3];
            notices.push(format!(
                "no size given: a short look at {DEFAULT_SIDE} x {DEFAULT_SIDE} x {DEFAULT_SIDE} points; \
                 for a real run use a box that fills a quarter of the memory for half an hour: cubie hpcg --fill 0.26 --rt 1800"
            ));
            rt.unwrap_or(DEFAULT_SECONDS)
        };
        let unequal = self.unequal_boxes()?;
        if let (Some(UnequalBoxes { pz, zl, zu }), Some(nz)) = (unequal, n[2])
            && sized
        {
            notices.push(format!(
                "nz = {nz} is overridden by --pz {pz} --zl {zl} --zu {zu}"
            ));
        }
        if self.fill.is_some() {
            n = [Some(16); 3];
        }
        let together = self.device.device.here();
        if let Some(Weights(weights)) = &self.split
            && weights.len() != together
        {
            return Err(InputError::WeightsCount {
                weights: weights.len(),
                devices: together,
            }
            .into());
        }
        if self.compare && together == 1 {
            return Err(InputError::CompareAlone.into());
        }
        let mut hybrid = None;
        if together > 1 {
            if unequal.is_some() || self.fill.is_some() {
                return Err(InputError::HybridSizes.into());
            }
            hybrid = Some(Hybrid {
                np: np.take(),
                weights: self.split.as_ref().map(|weights| weights.0.clone()),
            });
        }
        // Devices that share a box divide it when they are known; nobody holds the whole.
        let ranks = if together > 1 { 1 } else { ranks };
        let grid = Sizes { n, np, unequal }.grid(ranks)?;
        if together == 1 {
            for rank in 0..grid.size() {
                grid.geometry(rank)?;
            }
        }
        Ok(Params {
            grid,
            seconds,
            order: self.order.clone(),
            format: self.format,
            hybrid,
            ..self.device.params(machine, notices)
        })
    }

    /// The share of the memory to fill, if that is how the size is given.
    pub fn fill(&self) -> Option<f64> {
        self.fill
    }

    /// Whether the user says how ranks talk.
    pub fn says_how_ranks_talk(&self) -> bool {
        self.halo != Transport::default()
            || self.reduce != Reduce::default()
            || self.overlap.is_some()
    }

    /// How the ranks are started and talk.
    pub fn launch(&self) -> Launch {
        Launch {
            here: self.device.device.here(),
            transport: self.halo,
            reduce: self.reduce,
            overlap: self.overlap,
        }
    }

    /// The same run on the first of the devices that share the box, if `--compare` asks for it.
    pub fn alone(&self) -> Option<Self> {
        let mut alone = self.clone();
        alone.device.device = Devices::Each(vec![self.devices().of(0).clone()]);
        alone.split = None;
        alone.compare = false;
        // The grid is that of all devices, also in hpcg.dat: flags win over the file.
        (alone.npx, alone.npy, alone.npz) = (Some(1), Some(1), Some(1));
        (self.compare && self.device.device.here() > 1).then_some(alone)
    }

    /// The devices of the ranks on a machine.
    pub fn devices(&self) -> &Devices {
        &self.device.device
    }

    /// Whether the first of several devices is to be rated alone too.
    pub fn compares(&self) -> bool {
        self.compare
    }

    /// Threads of each rank, if they are given.
    pub fn threads(&self) -> Option<usize> {
        self.device.threads
    }

    /// Where the results go.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    fn rank_grid(&self) -> Result<Option<[usize; 3]>, InputError> {
        match (self.npx, self.npy, self.npz) {
            (None, None, None) => Ok(None),
            (Some(x), Some(y), Some(z)) => Ok(Some([x, y, z])),
            _ => Err(InputError::GridIncomplete),
        }
    }

    fn unequal_boxes(&self) -> Result<Option<UnequalBoxes>, InputError> {
        match (self.pz, self.zl, self.zu) {
            (None | Some(0), None, None) => Ok(None),
            (Some(pz), Some(zl), Some(zu)) => Ok(Some(UnequalBoxes { pz, zl, zu })),
            _ => Err(InputError::UnequalIncomplete),
        }
    }
}

fn read_dat(dir: &Path) -> Result<Option<Dat>, InputError> {
    match std::fs::read_to_string(dir.join("hpcg.dat")) {
        Ok(text) => dat::parse(&text).map(Some),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(InputError::DatUnreadable {
            why: why.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    /// 2048³ points are too many for one rank, and few for those of a cluster.
    #[test]
    fn a_box_that_many_ranks_share_may_be_too_large_for_one() {
        let check = |device: &str| {
            let cli = Cli::try_parse_from(["cubie", "--nx", "2048", "--device", device]).unwrap();
            let Command::Hpcg(flags) = cli.command() else {
                panic!("hpcg is the command without a name");
            };
            flags.check(64, &Machine::here(), Path::new("."))
        };
        assert!(check("gpu+cpu").is_ok());
        assert!(check("gpu").is_err());
    }
}
