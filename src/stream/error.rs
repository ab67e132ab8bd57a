//! What can be wrong with a measurement of memory; each message says what would work.

use crate::number::{bytes, counted};

/// Errors of `cubie stream`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// A CPU that is not there, or not for this process.
    #[error("there is no CPU {id} for this process; use some of {allowed}")]
    NoCpu {
        /// The CPU asked for.
        id: usize,
        /// Those that there are.
        allowed: String,
    },
    /// Each thread gets a CPU of its own.
    #[error("{asked} threads need as many CPUs, but this binding has {}; use --threads {all} or fewer", counted(*all as u64, "CPU"))]
    TooManyThreads {
        /// Threads asked for.
        asked: usize,
        /// CPUs that there are.
        all: usize,
    },
    /// A socket has fewer CPUs than are to be taken from it.
    #[error("socket {socket} has {} for this process, fewer than {count}; use per-socket:{has} or less", counted(*has as u64, "CPU"))]
    SmallSocket {
        /// CPUs wanted of each socket.
        count: usize,
        /// The socket.
        socket: usize,
        /// What it has.
        has: usize,
    },
    /// A GPU has no threads to pin, and its driver chooses the pages.
    #[error(
        "--bind, --threads and --pages are for a CPU, and {device} is a GPU; leave them out, or add --device cpu"
    )]
    ThreadsOfGpu {
        /// The GPU.
        device: String,
    },
    /// Each plan has a number of threads.
    #[error("--bind plans tries several numbers of threads by itself; leave out --threads")]
    ThreadsOfPlans,
    /// The arrays do not fit into memory.
    #[error("the three arrays need {} of memory, and {} are free; use fewer --elements", bytes(*needed), bytes(*free))]
    Memory {
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The system refused memory that seemed free.
    #[error("the system does not hand out {} for an array; use fewer --elements", bytes(*needed))]
    Refused {
        /// Bytes of one array.
        needed: u64,
    },
    /// The system refuses to pin a thread.
    #[error(
        "the system does not let this program pin a thread to CPU {cpu}; use other CPUs with --bind cores:LIST"
    )]
    Pin {
        /// The CPU.
        cpu: usize,
    },
}
