//! What the world can do to a run; each message says what to do.

use std::io;
use std::path::PathBuf;

use cubie_host as host;

use crate::number::bytes;
use crate::params::InputError;
use crate::real::Precision;

/// Errors of the package.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The problem cannot be set up.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// The device does not compute in this precision.
    #[error("{device} cannot compute in {precision}; it can in {able}")]
    Precision {
        /// Which device.
        device: String,
        /// What was asked for.
        precision: Precision,
        /// What it can do.
        able: String,
    },
    /// Another rank cannot go on.
    #[error("rank {rank}: {what}")]
    OfAnotherRank {
        /// Which rank.
        rank: usize,
        /// What it says.
        what: String,
    },
    /// Ranks that were told different things.
    #[error(
        "rank {0} was given another box, another grid of ranks or another time than rank 0; give all ranks the same flags and the same hpcg.dat"
    )]
    UnlikeRankZero(usize),
    /// Several processes, but no MPI to talk with.
    #[error(
        "mpirun started several processes, but this build has no MPI; build with --features mpi"
    )]
    WithoutMpi,
    /// A second run would need processes of its own.
    #[error(
        "--compare rates one device alone, which mpirun's other ranks cannot take part in; leave it out, and rate that device in a run of its own"
    )]
    CompareUnderMpi,
    /// The second run could not follow the first.
    #[error(
        "--compare cannot rate the first device alone on the whole box: {0}; or leave --compare out"
    )]
    CannotCompare(String),
    /// A box has too few planes to share.
    #[error(
        "{nz} planes are too few for {devices} devices: each needs at least 8; use a larger --nz"
    )]
    TooThin {
        /// Planes of the box.
        nz: usize,
        /// Devices that share it.
        devices: usize,
    },
    /// Ranks whose numbers do not fit together.
    #[error(
        "the ranks compute in {0}, which do not go together; choose one --precision that all devices can"
    )]
    MixedPrecisions(String),
    /// The generated problem is not HPCG's: a defect of this program or of the memory.
    #[error(
        "the generated problem is wrong: {0}; test this machine's memory, and report it if that is sound"
    )]
    Problem(String),
    /// A flag or a line of `hpcg.dat` makes no sense.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The host has too little memory.
    #[error("this run needs {} of memory on the host, and {} are free; use a smaller box", bytes(*needed), bytes(*free))]
    HostMemory {
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The device has too little memory.
    #[error("this run needs {} of memory on the device, which has {}; use a smaller box", bytes(*needed), bytes(*memory))]
    DeviceMemory {
        /// Bytes needed.
        needed: u64,
        /// Bytes it has.
        memory: u64,
    },
    /// The directory for the reports is not usable.
    #[error("cannot write reports into the directory '{}': {why}; choose another one with --output", path.display())]
    OutputDirectory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        why: io::Error,
    },
    /// Two outputs would overwrite each other.
    #[error("{first} and {second} both go to '{}'; choose another path for one of them", path.display())]
    SameFile {
        /// One flag.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// An output would overwrite an input.
    #[error("{flag} would overwrite '{}', which is read; choose another path", path.display())]
    OverInput {
        /// The flag.
        flag: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write '{}': {why}; choose another path", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: io::Error,
    },
    /// Memory cannot be measured like this.
    #[error(transparent)]
    Stream(#[from] crate::stream::StreamError),
    /// The network cannot be measured like this, or does not work.
    #[error(transparent)]
    Net(#[from] crate::net::NetError),
    /// Figures of the network that do not suffice.
    #[error(transparent)]
    NoFigures(#[from] crate::net::NoFigures),
    /// Figures of memory that do not suffice.
    #[error(transparent)]
    NoRate(#[from] crate::explain::NoRate),
    /// JSON of ours that cannot be used.
    #[error(transparent)]
    Saved(#[from] crate::saved::SavedError),
    /// A GPU cannot do what was asked for, or failed.
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
}
