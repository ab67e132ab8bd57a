//! Starting the ranks of a run: one alone, those that `mpirun` started, or threads of this process.
//! What `mpirun` started several of is one rank each; devices that share a box are then one to a rank.

use std::{env, fmt};

use cubie_host::Ranks;
use cubie_host::comm::{Comm, Reduce, Transport, threads};

use crate::error::Error;

/// How ranks are started and talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Ranks in this process, unless `mpirun` starts one for each: 1, the devices that share a box, or as
    /// many threads as are asked for.
    pub here: usize,
    /// How halos travel.
    pub transport: Transport,
    /// How dot products are summed.
    pub reduce: Reduce,
    /// Whether work goes on while a halo travels; `None` leaves it to where the ranks are.
    pub overlap: Option<bool>,
}

impl Launch {
    fn ranks(&self, comm: Box<dyn Comm>) -> Ranks {
        let Self {
            transport,
            reduce,
            overlap,
            ..
        } = *self;
        match overlap {
            Some(overlap) => Ranks::overlapping(comm, transport, reduce, overlap),
            None => Ranks::new(comm, transport, reduce),
        }
    }
}

/// Variables by which `mpirun` of Open MPI, MPICH and others tell a process how many there are.
const MPI_SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE"];

/// Variables by which they tell a process its rank.
const MPI_RANKS: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];

/// Whether this process is the one that speaks for all, as far as can be told before MPI is up.
pub fn speaks() -> bool {
    !MPI_RANKS
        .iter()
        .any(|name| env::var(name).is_ok_and(|rank| rank != "0"))
}

/// Whether `mpirun` started this process as one of several.
pub fn is_one_of_several() -> bool {
    MPI_SIZES
        .iter()
        .any(|name| env::var(name).is_ok_and(|size| size.parse().is_ok_and(|n: usize| n > 1)))
}

/// Runs `rank` as every rank that this process is; returns what the first of them
/// yields, or nothing if `failed` has been told why.
///
/// Under `mpirun` it is `failed` that is told of an error: on the rank that alone knows of it, before
/// it ends all the others, or on the first rank if all agree on it.
///
/// # Errors
/// What `rank` fails with, unless `failed` has been told. [`Error::WithoutMpi`] under `mpirun` in a
/// build without MPI; [`cubie_host::Error::NoShmem`] where OpenSHMEM is wanted and cannot be had.
pub fn launch<T: Send>(
    how: &Launch,
    rank: impl Fn(&Ranks) -> Result<T, Failure> + Sync,
    failed: impl Fn(&str),
) -> Result<Option<T>, Error> {
    launch_then(how, rank, |value| value, failed)
}

/// As [`launch`], and does `last` with what the first rank yields before the ranks part: an
/// interrupted `mpirun` lets nobody part any more.
///
/// # Errors
/// As [`launch`].
pub fn launch_then<T: Send, R>(
    how: &Launch,
    rank: impl Fn(&Ranks) -> Result<T, Failure> + Sync,
    last: impl FnOnce(T) -> R,
    failed: impl Fn(&str),
) -> Result<Option<R>, Error> {
    let here = how.here;
    let several = is_one_of_several();
    if how.transport.is_shmem() && (cfg!(not(feature = "shmem")) || (here > 1 && !several)) {
        return Err(cubie_host::Error::NoShmem.into());
    }
    if several {
        return under_mpi(how, rank, last, failed);
    }
    let outcome = if here == 1 {
        rank(&Ranks::serial())
    } else {
        threads::run(here, |comm| rank(&how.ranks(Box::new(comm))))
            .map(|all| all.into_iter().next().expect("at least one rank"))
    };
    outcome
        .map(|value| Some(last(value)))
        .map_err(|Failure { error, .. }| error)
}

/// Why a rank cannot go on.
#[derive(Debug)]
pub struct Failure {
    error: Error,
    /// Whether all ranks know.
    #[cfg_attr(
        not(feature = "mpi"),
        expect(dead_code, reason = "only processes end each other")
    )]
    agreed: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            agreed: false,
        }
    }
}

/// Lets all ranks fail if one does, with the first one's error; to be used where nothing has begun.
///
/// # Errors
/// The error of this rank or of another one.
pub fn agree<T>(ranks: &Ranks, outcome: Result<T, Error>) -> Result<T, Failure> {
    let message = outcome
        .as_ref()
        .err()
        .map(ToString::to_string)
        .unwrap_or_default();
    let messages = ranks.gather_bytes(message.as_bytes());
    let first = messages.iter().position(|message| !message.is_empty());
    match (first, outcome) {
        (None, Ok(value)) => Ok(value),
        (Some(rank), Err(error)) if rank == ranks.rank() => Err(Failure {
            error,
            agreed: true,
        }),
        (Some(rank), _) => {
            let what = String::from_utf8_lossy(&messages[rank]).into_owned();
            Err(Failure {
                error: Error::OfAnotherRank { rank, what },
                agreed: true,
            })
        }
        (None, Err(_)) => unreachable!("an error has a message"),
    }
}

#[cfg(feature = "mpi")]
fn under_mpi<T, R>(
    how: &Launch,
    rank: impl Fn(&Ranks) -> Result<T, Failure>,
    last: impl FnOnce(T) -> R,
    failed: impl Fn(&str),
) -> Result<Option<R>, Error> {
    let comm = cubie_host::comm::mpi::Mpi::start().ok_or(Error::WithoutMpi)?;
    let ranks = how.ranks(Box::new(comm));
    die_of_a_panic();
    let error = match rank(&ranks) {
        Ok(value) => return Ok(Some(last(value))),
        Err(Failure {
            error,
            agreed: false,
        }) => {
            failed(&format!("rank {}: {error}", ranks.rank()));
            ranks.abort(2)
        }
        Err(Failure {
            error,
            agreed: true,
        }) => error,
    };
    // `mpirun` ends all ranks as soon as one ends badly: nobody does before the first has spoken.
    if ranks.rank() == 0 {
        failed(&error.to_string());
    }
    ranks.barrier();
    Ok(None)
}

/// Lets a panic end this process at once, so that `mpirun` ends the other ranks: unwinding would free
/// windows and finalise MPI, and wait for ranks that wait for this one.
#[cfg(feature = "mpi")]
fn die_of_a_panic() {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        say(panic);
        std::process::abort();
    }));
}

#[cfg(not(feature = "mpi"))]
fn under_mpi<T, R>(
    _: &Launch,
    _: impl Fn(&Ranks) -> Result<T, Failure>,
    _: impl FnOnce(T) -> R,
    _: impl Fn(&str),
) -> Result<Option<R>, Error> {
    Err(Error::WithoutMpi)
}
