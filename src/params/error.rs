//! What can be wrong with what the user typed; each message says what would work.

/// Errors of the command line and of `hpcg.dat`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The coarser grids halve each side three times.
    #[error("{side} is {n}, but each of the three coarser grids halves it, so it must be a multiple of 8; the nearest are {} and {}", n / 8 * 8, n / 8 * 8 + 8)]
    NotMultipleOf8 {
        /// Which side of the box.
        side: &'static str,
        /// What was asked for.
        n: usize,
    },
    /// HPCG's least box.
    #[error("{side} is {n}, but the least is 16")]
    TooSmall {
        /// Which side of the box.
        side: &'static str,
        /// What was asked for.
        n: usize,
    },
    /// HPCG's rule for the shape of a box.
    #[error("a box of {} x {} x {} points is too long: the shortest side must be at least an eighth of the longest; make the longest at most {} or the shortest at least {}", n[0], n[1], n[2], 8 * min(n), (max(n).div_ceil(8)).next_multiple_of(8))]
    BoxTooLong {
        /// Points of the box.
        n: [usize; 3],
    },
    /// HPCG's rule for the shape of the grid of ranks.
    #[error("a grid of {} x {} x {} ranks is too long: its shortest side must be at least an eighth of its longest; {advice}", np[0], np[1], np[2])]
    GridTooLong {
        /// Ranks in x, y and z.
        np: [usize; 3],
        /// What would work.
        advice: String,
    },
    /// The grid of ranks must use every rank once.
    #[error("a grid of {} x {} x {} ranks needs {} ranks, but there {}; leave out --npx, --npy and --npz to get {} x {} x {}", np[0], np[1], np[2], np[0].saturating_mul(np[1]).saturating_mul(np[2]), there_are(*ranks), fits[0], fits[1], fits[2])]
    GridSize {
        /// Ranks in x, y and z that were asked for.
        np: [usize; 3],
        /// Ranks that there are.
        ranks: usize,
        /// The grid that they would get.
        fits: [usize; 3],
    },
    /// Each device has one share.
    #[error(
        "--split has {weights} shares, but {devices} devices share the box; join the devices with +, and give one share for each"
    )]
    WeightsCount {
        /// Shares given.
        weights: usize,
        /// Devices joined.
        devices: usize,
    },
    /// Nothing to compare with.
    #[error(
        "--compare rates the first of several devices alone too; join devices with +, such as --device gpu+cpu"
    )]
    CompareAlone,
    /// Devices that share a box divide it by themselves.
    #[error(
        "devices joined with + share the box of --nx, --ny and --nz by themselves; leave out --pz, --zl, --zu and --fill"
    )]
    HybridSizes,
    /// A side of a shared box cannot be divided.
    #[error(
        "{side} is {n} for the box that all ranks share, which {ranks} ranks beside each other cannot divide into multiples of 8; use a multiple of {}", 8 * ranks
    )]
    Undivided {
        /// Which side of the box.
        side: &'static str,
        /// Its points.
        n: usize,
        /// Ranks in that direction.
        ranks: usize,
    },
    /// Devices that nobody would use.
    #[error(
        "--device names {devices} devices, but there {} on this machine to use them; start as many ranks with mpirun, or join the devices with + to share one box in one process", counted_ranks(*ranks)
    )]
    DevicesLeftOver {
        /// Devices named.
        devices: usize,
        /// Ranks on this machine.
        ranks: usize,
    },
    /// A saved run has its box.
    #[error(
        "beside a saved run --nx, --ny and --nz are the box of the ranks to predict; add --ranks, or leave them out"
    )]
    BoxOfSavedRun,
    /// A list where one device makes sense.
    #[error("this command takes one --device; name one of them")]
    OneDevice,
    /// A value is given by its place and by its flag.
    #[error("{name} is given twice: as a number by its place and as a flag; leave one out")]
    GivenTwice {
        /// The flag.
        name: &'static str,
    },
    /// Some of the three sides of the grid of ranks are missing.
    #[error("give all of --npx, --npy and --npz, or none of them")]
    GridIncomplete,
    /// `--pz`, `--zl` and `--zu` belong together.
    #[error(
        "--pz, --zl and --zu belong together: layers of ranks below --pz get boxes of height --zl, the others of height --zu"
    )]
    UnequalIncomplete,
    /// Both parts of unequal boxes must have ranks.
    #[error("--pz is {pz}, but there {} of ranks in z, and both parts need at least one; {}", if *npz == 1 { "is 1 layer".to_owned() } else { format!("are {npz} layers") }, if *npz == 1 { "leave out --pz, --zl and --zu".to_owned() } else { format!("use a value from 1 to {}", npz - 1) })]
    UnequalOutside {
        /// Layers in the lower part.
        pz: usize,
        /// Layers that there are.
        npz: usize,
    },
    /// Not even the least box fits.
    #[error(
        "not even a box of 16 x 16 x 16 points fits into {percent} % of the memory; use a larger --fill"
    )]
    FillTooSmall {
        /// The share asked for.
        percent: String,
    },
    /// Nobody knows of what the share is to be taken.
    #[error(
        "--fill needs to know how much memory the device has, and its driver does not tell; add --device-memory GIB, or give --nx instead"
    )]
    FillOfUnknown,
    /// `hpcg.dat` is malformed.
    #[error("hpcg.dat, line {line}: {what}. {FORM}")]
    Dat {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// `hpcg.dat` cannot be read.
    #[error("cannot read hpcg.dat: {why}; make it readable, or give --nx")]
    DatUnreadable {
        /// What the system says.
        why: String,
    },
}

const FORM: &str = "The file has two lines of text, then a line 'nx ny nz', a line with the seconds to run, and perhaps a line 'npx npy npz'";

fn min(n: &[usize; 3]) -> usize {
    n[0].min(n[1]).min(n[2])
}

fn max(n: &[usize; 3]) -> usize {
    n[0].max(n[1]).max(n[2])
}

fn counted_ranks(ranks: usize) -> String {
    let ranks_word = if ranks == 1 { "rank" } else { "ranks" };
    format!("{} {ranks_word}", there_are(ranks))
}

fn there_are(ranks: usize) -> String {
    if ranks == 1 {
        "is 1".into()
    } else {
        format!("are {ranks}")
    }
}
