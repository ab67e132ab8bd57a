//! What can be wrong with a problem; each message says what to do.

/// Errors of the distributed problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Local rows are numbered with 32 bits.
    #[error("a box of {} x {} x {} points has more rows than 32-bit row numbers can name; use smaller boxes on more ranks", n[0], n[1], n[2])]
    TooManyRows {
        /// Points of the box.
        n: [usize; 3],
    },
    /// OpenSHMEM is not part of this build, or not of this way of running ranks.
    #[error(
        "this run has no OpenSHMEM: build with --features shmem and start the ranks with mpirun, or use another --halo transport"
    )]
    NoShmem,
    /// The symmetric heap is full.
    #[error(
        "OpenSHMEM has no {bytes} bytes of symmetric memory left; enlarge it with SHMEM_SYMMETRIC_SIZE, or use another --halo transport"
    )]
    ShmemMemory {
        /// Bytes needed.
        bytes: usize,
    },
}
