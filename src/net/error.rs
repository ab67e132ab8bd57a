//! What can be wrong with a measurement of the network; each message says what would work.

use crate::number::bytes;

/// Errors of `cubie net`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// There is nobody to talk to.
    #[error(
        "one rank has nobody to talk to; start more with `mpirun -n 2 cubie net` (a build with --features mpi), or as threads of this process with `cubie net --ranks 2`"
    )]
    Alone,
    /// Two who tell how many ranks there are.
    #[error("mpirun has started {started} ranks, but --ranks says {asked}; leave --ranks out")]
    RanksUnderMpi {
        /// What `--ranks` says.
        asked: usize,
        /// What `mpirun` says.
        started: usize,
    },
    /// The messages do not fit into memory.
    #[error("messages of up to {} on {ranks} ranks need {} of memory, and {} are free; use fewer --max-bytes", bytes(*most), bytes(*needed), bytes(*free))]
    Memory {
        /// Bytes of the largest message.
        most: u64,
        /// Ranks on this machine.
        ranks: usize,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// Something else arrived than was sent.
    #[error(
        "{operation} of {size} bytes on {processes} ranks delivered something else than was sent; the network, this MPI or the memory is broken: try another MPI, and test the memory"
    )]
    Corrupted {
        /// The operation.
        operation: String,
        /// Bytes of a message.
        size: usize,
        /// Ranks that took part.
        processes: usize,
    },
}

/// What is missing in saved figures of the network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the net figures have no {0} with a fit; write them anew with `cubie net halo allreduce --json`"
)]
pub struct NoFigures(pub &'static str);
