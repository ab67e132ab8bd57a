//! Ranks as processes under MPI. rsmpi has no safe one-sided or persistent calls, so those go
//! through its `ffi`; errors inside MPI end all ranks (`MPI_ERRORS_ARE_FATAL`, its default).

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::thread;

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use super::{Comm, Exchange, Library, Region};
use crate::error::Error;
use crate::halo::Neighbour;

/// The processes that `mpirun` started.
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
        let world = universe.world();
        let node = world.split_shared(world.rank());
        let local = (count(node.rank()), count(node.size()));
        Some(Self {
            world,
            local,
            tag: Cell::new(0),
            #[cfg(feature = "shmem")]
            shmem: std::cell::RefCell::default(),
            _universe: Rc::new(universe),
        })
    }

    /// The library and its version.
    pub fn library() -> String {
        mpi::environment::library_version()
            .unwrap_or_default()
            .lines()
            .next()
            .unwrap_or("MPI")
            .to_owned()
    }
}

fn count(n: c_int) -> usize {
    usize::try_from(n).expect("MPI counts from 0")
}

/// A count or a rank for MPI.
fn int(n: usize) -> c_int {
    c_int::try_from(n).expect("halos are shorter than 2 GiB")
}

impl Comm for Mpi {
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
            Library::Shmem => Err(Error::NoShmem),
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

/// An MPI window: the counters, 8 bytes each, then the memory.
struct Window {
    window: ffi::MPI_Win,
    base: *mut u8,
    /// Where each rank's memory starts, behind its counters.
    starts: Vec<usize>,
    own_start: usize,
    world: ffi::MPI_Comm,
    _universe: Rc<Universe>,
}

impl Window {
    fn new(mpi: &Mpi, bytes: usize, flags: usize) -> Self {
        let start = 8 * flags;
        let starts = mpi
            .gather(&start.to_ne_bytes())
            .iter()
            .map(|bytes| usize::from_ne_bytes(bytes.as_chunks().0[0]))
            .collect();
        let world = mpi.world.as_raw();
        let mut base: *mut u8 = std::ptr::null_mut();
        let mut window = MaybeUninit::uninit();
        // MPICH 4.0 mislays the parts of a window in shared memory unless they are whole pages.
        let len = ffi::MPI_Aint::try_from((start + bytes).next_multiple_of(4096)).expect("fits");
        // SAFETY: collective over `world`; MPI allocates `len` bytes and tells where in `base`.
        let window = unsafe {
            ffi::MPI_Win_allocate(
                len,
                1,
                ffi::RSMPI_INFO_NULL,
                world,
                (&raw mut base).cast(),
                window.as_mut_ptr(),
            );
            let window = window.assume_init();
            base.write_bytes(0, start + bytes);
            ffi::MPI_Win_lock_all(0, window);
            ffi::MPI_Win_sync(window);
            ffi::MPI_Barrier(world);
            window
        };
        Self {
            window,
            base,
            starts,
            own_start: start,
            world,
            _universe: Rc::clone(&mpi._universe),
        }
    }

    /// Where byte `offset` of the memory of `rank` is in its window.
    fn place(&self, rank: usize, offset: usize) -> ffi::MPI_Aint {
        ffi::MPI_Aint::try_from(self.starts[rank] + offset).expect("fits")
    }
}

impl Region for Window {
    fn put(&self, rank: usize, offset: usize, bytes: &[u8]) {
        let (len, place) = (int(bytes.len()), self.place(rank, offset));
        let start = bytes.as_ptr().cast();
        // SAFETY: inside the target's window; the flush ends the use of `bytes`.
        unsafe {
            ffi::MPI_Put(
                start,
                len,
                ffi::RSMPI_UINT8_T,
                int(rank),
                place,
                len,
                ffi::RSMPI_UINT8_T,
                self.window,
            );
            ffi::MPI_Win_flush(int(rank), self.window);
        }
    }
    fn raise(&self, rank: usize, flag: usize) {
        let one = 1u64;
        let place = ffi::MPI_Aint::try_from(8 * flag).expect("fits");
        // SAFETY: a counter of the target; the flush ends the use of `one`.
        unsafe {
            let (word, sum) = (ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM);
            ffi::MPI_Accumulate(
                (&raw const one).cast(),
                1,
                word,
                int(rank),
                place,
                1,
                word,
                sum,
                self.window,
            );
            ffi::MPI_Win_flush(int(rank), self.window);
        }
    }
    fn wait(&self, flag: usize, value: u64) {
        loop {
            // SAFETY: a counter of this rank's own window, read past the compiler after a sync;
            // the probe lets MPI work on what others send.
            let now = unsafe {
                ffi::MPI_Win_sync(self.window);
                self.base.cast::<u64>().add(flag).read_volatile()
            };
            if now >= value {
                return;
            }
            // SAFETY: a probe that ignores the status.
            unsafe {
                let (source, tag) = (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_ANY_TAG);
                let mut found: c_int = 0;
                ffi::MPI_Iprobe(
                    source,
                    tag,
                    self.world,
                    &raw mut found,
                    ffi::RSMPI_STATUS_IGNORE,
                );
            }
            thread::yield_now();
        }
    }
    fn barrier(&self) {
        // SAFETY: all puts are flushed; after the barrier the others' are too.
        unsafe {
            ffi::MPI_Barrier(self.world);
            ffi::MPI_Win_sync(self.window);
        }
    }
    fn read(&self, offset: usize, bytes: &mut [u8]) {
        // SAFETY: this rank's own window, which nobody writes to here by the caller's promise.
        unsafe {
            let start = self.base.add(self.own_start + offset);
            std::ptr::copy_nonoverlapping(start, bytes.as_mut_ptr(), bytes.len());
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: collective: all ranks drop their exchanges in the same order.
        unsafe {
            ffi::MPI_Win_unlock_all(self.window);
            ffi::MPI_Win_free(&raw mut self.window);
        }
    }
}
