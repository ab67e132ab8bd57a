//! Ranks as processes under MPI. rsmpi has no safe persistent calls, so those go
//! through its `ffi`; errors inside MPI end all ranks (`MPI_ERRORS_ARE_FATAL`, its default).

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::rc::Rc;

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::*;

use super::window::Window;
use super::{Comm, Exchange, Library, Region};
use crate::error::Error;
use crate::halo::Neighbour;

/// The processes that `mpirun` started, or the first of them.
pub struct Mpi {
    world: SimpleCommunicator,
    local: (usize, usize),
    /// Exchanges made so far: their messages' tag.
    tag: Cell<c_int>,
    #[cfg(feature = "shmem")]
    shmem: std::cell::RefCell<Option<Rc<super::shmem::Shmem>>>,
    /// MPI is finalised when nothing uses it any more.
    _universe: Rc<Universe>,
}

impl Mpi {
    /// Initialises MPI; `None` if that has been done before.
    pub fn start() -> Option<Self> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)?;
        Some(Self::on(universe.world(), Rc::new(universe)))
    }

    fn on(world: SimpleCommunicator, universe: Rc<Universe>) -> Self {
        let node = world.split_shared(world.rank());
        let local = (count(node.rank()), count(node.size()));
        Self {
            world,
            local,
            tag: Cell::new(0),
            #[cfg(feature = "shmem")]
            shmem: std::cell::RefCell::default(),
            _universe: universe,
        }
    }

    /// The communicator, as MPI knows it.
    pub(super) fn raw(&self) -> ffi::MPI_Comm {
        self.world.as_raw()
    }

    /// What keeps MPI from being finalised.
    pub(super) fn universe(&self) -> Rc<Universe> {
        Rc::clone(&self._universe)
    }
}

fn count(n: c_int) -> usize {
    usize::try_from(n).expect("MPI counts from 0")
}

/// A count or a rank for MPI.
pub(super) fn int(n: usize) -> c_int {
    c_int::try_from(n).expect("messages are shorter than 2 GiB")
}

impl Comm for Mpi {
    /// The library and its version, such as `Open MPI v4.1.4`.
    fn name(&self) -> String {
        let version = mpi::environment::library_version().unwrap_or_default();
        // Open MPI tells who built it behind a comma, MPICH its date on further lines.
        let name = version.split([',', '\n']).next().unwrap_or_default();
        name.split_whitespace().collect::<Vec<_>>().join(" ")
    }
    fn rank(&self) -> usize {
        count(self.world.rank())
    }
    fn size(&self) -> usize {
        count(self.world.size())
    }
    fn local(&self) -> (usize, usize) {
        self.local
    }
    fn barrier(&self) {
        self.world.barrier();
    }
    fn sum(&self, values: &mut [f64]) {
        let mine = values.to_vec();
        self.world
            .all_reduce_into(&mine[..], values, SystemOperation::sum());
    }

    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut counts = vec![0; self.size()];
        self.world
            .all_gather_into(&int(bytes.len()), &mut counts[..]);
        let starts: Vec<c_int> = counts
            .iter()
            .scan(0, |start, count| {
                Some(std::mem::replace(start, *start + count))
            })
            .collect();
        let total = counts.iter().map(|&n| count(n)).sum();
        if total == 0 {
            // Open MPI takes an exchange of nothing for a mistake.
            return vec![Vec::new(); counts.len()];
        }
        let mut all = vec![0u8; total];
        self.world.all_gather_varcount_into(
            bytes,
            &mut PartitionMut::new(&mut all[..], &counts[..], &starts[..]),
        );
        let mut rest = &all[..];
        counts
            .iter()
            .map(|&n| rest.split_off(..count(n)).expect("long enough").to_vec())
            .collect()
    }

    fn send(&self, rank: usize, bytes: &[u8]) {
        self.world.process_at_rank(int(rank)).send(bytes);
    }
    fn receive(&self, rank: usize, bytes: &mut [u8]) {
        self.world.process_at_rank(int(rank)).receive_into(bytes);
    }
    fn broadcast(&self, root: usize, bytes: &mut [u8]) {
        // The address of an empty slice may be Open MPI's MPI_IN_PLACE.
        let mut nothing = [0];
        let bytes = match bytes.is_empty() {
            true => &mut nothing[..0],
            false => bytes,
        };
        self.world.process_at_rank(int(root)).broadcast_into(bytes);
    }
    fn allreduce(&self, mine: &[f32], sums: &mut [f32]) {
        let sum = SystemOperation::sum();
        self.world.all_reduce_into(mine, sums, sum);
    }

    fn subset(&self, size: usize) -> Option<Box<dyn Comm>> {
        let color = match self.rank() < size {
            true => Color::with_value(0),
            false => Color::undefined(),
        };
        let world = self.world.split_by_color(color)?;
        Some(Box::new(Self::on(world, Rc::clone(&self._universe))))
    }

    /// OpenSHMEM works on all processes only.
    fn has(&self, library: Library) -> bool {
        let all = || self.world.size() == self._universe.world().size();
        library == Library::Own || (cfg!(feature = "shmem") && all())
    }

    fn messages(&self, neighbours: &[Neighbour], element: usize) -> Box<dyn Exchange> {
        let tag = self.tag.replace(self.tag.get() + 1);
        let bytes = |end: Option<usize>| vec![0u8; end.unwrap_or(0) * element];
        let mut outgoing = bytes(neighbours.last().map(|last| last.send.end));
        let mut incoming = bytes(neighbours.last().map(|last| last.recv.end));
        let comm = self.world.as_raw();
        let mut requests = Vec::with_capacity(2 * neighbours.len());
        for neighbour in neighbours {
            let send = &mut outgoing[neighbour.send.start * element..neighbour.send.end * element];
            let recv = &mut incoming[neighbour.recv.start * element..neighbour.recv.end * element];
            let (send_bytes, recv_bytes, rank) =
                (int(send.len()), int(recv.len()), int(neighbour.rank));
            let mut request = MaybeUninit::uninit();
            // SAFETY: the buffers belong to the exchange as long as the requests do, and do not move.
            unsafe {
                let start = recv.as_mut_ptr().cast::<c_void>();
                ffi::MPI_Recv_init(
                    start,
                    recv_bytes,
                    ffi::RSMPI_UINT8_T,
                    rank,
                    tag,
                    comm,
                    request.as_mut_ptr(),
                );
                requests.push(request.assume_init());
                let start = send.as_ptr().cast::<c_void>();
                ffi::MPI_Send_init(
                    start,
                    send_bytes,
                    ffi::RSMPI_UINT8_T,
                    rank,
                    tag,
                    comm,
                    request.as_mut_ptr(),
                );
                requests.push(request.assume_init());
            }
        }
        Box::new(Messages {
            outgoing,
            incoming,
            requests,
            _universe: Rc::clone(&self._universe),
        })
    }

    fn region(
        &self,
        library: Library,
        bytes: usize,
        flags: usize,
    ) -> Result<Box<dyn Region>, Error> {
        if !self.has(library) {
            return Err(Error::NoShmem);
        }
        match library {
            Library::Own => Ok(Box::new(Window::new(self, bytes, flags))),
            #[cfg(feature = "shmem")]
            Library::Shmem => {
                let mut shmem = self.shmem.borrow_mut();
                let shmem = shmem.get_or_insert_with(|| {
                    // Finalising OpenSHMEM finalises MPI as well.
                    std::mem::forget(Rc::clone(&self._universe));
                    Rc::new(super::shmem::Shmem::start())
                });
                Ok(Box::new(shmem.region(self, bytes, flags)?))
            }
            #[cfg(not(feature = "shmem"))]
            Library::Shmem => unreachable!("not part of this build"),
        }
    }

    fn abort(&self, code: i32) -> ! {
        self.world.abort(code)
    }
}

/// Two-sided messages by persistent requests.
struct Messages {
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    requests: Vec<ffi::MPI_Request>,
    _universe: Rc<Universe>,
}

impl Exchange for Messages {
    fn outgoing(&mut self) -> &mut [u8] {
        &mut self.outgoing
    }
    fn start(&mut self) {
        // SAFETY: the requests are inactive: `finish` has waited for them.
        unsafe { ffi::MPI_Startall(int(self.requests.len()), self.requests.as_mut_ptr()) };
    }
    fn finish(&mut self) -> &[u8] {
        // SAFETY: the requests have been started; nobody wants their statuses.
        unsafe {
            let requests = self.requests.as_mut_ptr();
            ffi::MPI_Waitall(
                int(self.requests.len()),
                requests,
                ffi::RSMPI_STATUSES_IGNORE,
            );
        }
        &self.incoming
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        for request in &mut self.requests {
            // SAFETY: an inactive persistent request; MPI is not finalised yet.
            unsafe { ffi::MPI_Request_free(request) };
        }
    }
}
