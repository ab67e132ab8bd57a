//! One-sided memory by OpenSHMEM 1.4 (Open MPI's), beside MPI, with the same processes and numbers.

use std::ffi::{c_int, c_long, c_void};
use std::rc::Rc;
use std::thread;

use super::mpi::Mpi;
use super::{Comm, Region};
use crate::error::Error;

// The library names what it needs of Open MPI's own, but does not ask for it.
#[link(name = "oshmem")]
#[link(name = "open-pal")]
#[link(name = "open-rte")]
unsafe extern "C" {
    fn shmem_init();
    fn shmem_finalize();
    fn shmem_my_pe() -> c_int;
    fn shmem_n_pes() -> c_int;
    fn shmem_malloc(bytes: usize) -> *mut c_void;
    fn shmem_free(start: *mut c_void);
    fn shmem_putmem(target: *mut c_void, source: *const c_void, bytes: usize, pe: c_int);
    fn shmem_fence();
    fn shmem_long_atomic_inc(target: *mut c_long, pe: c_int);
    fn shmem_long_test(word: *mut c_long, comparison: c_int, value: c_long) -> c_int;
    fn shmem_barrier_all();
}

/// `SHMEM_CMP_GE` of Open MPI's `shmem.h`.
const AT_LEAST: c_int = 5;

/// OpenSHMEM, from initialisation to finalisation.
pub(super) struct Shmem(());

impl Shmem {
    /// Initialises OpenSHMEM. MPI must have been initialised before, and must not be finalised after.
    pub(super) fn start() -> Self {
        // SAFETY: MPI is initialised, as the caller shows by being an `Mpi`.
        unsafe { shmem_init() };
        Self(())
    }

    /// Memory and counters that the other ranks can write to; the same place on all of them.
    pub(super) fn region(
        self: &Rc<Self>,
        mpi: &Mpi,
        bytes: usize,
        flags: usize,
    ) -> Result<Symmetric, Error> {
        // SAFETY: OpenSHMEM is initialised.
        let (pe, pes) = unsafe { (shmem_my_pe(), shmem_n_pes()) };
        if usize::try_from(pe) != Ok(mpi.rank()) || usize::try_from(pes) != Ok(mpi.size()) {
            return Err(Error::NoShmem);
        }
        let most = |n: usize| {
            let all = mpi.gather(&n.to_ne_bytes());
            all.iter()
                .map(|bytes| usize::from_ne_bytes(bytes.as_chunks().0[0]))
                .max()
                .unwrap_or(n)
        };
        let (bytes, flags) = (most(bytes), most(flags));
        let len = flags * size_of::<c_long>() + bytes;
        // SAFETY: all ranks allocate the same, together, and wait until all have zeroed theirs.
        let start = unsafe {
            let start = shmem_malloc(len).cast::<u8>();
            if !start.is_null() {
                start.write_bytes(0, len);
            }
            shmem_barrier_all();
            start
        };
        if start.is_null() {
            return Err(Error::ShmemMemory { bytes: len });
        }
        Ok(Symmetric {
            start,
            flags,
            _shmem: Rc::clone(self),
        })
    }
}

impl Drop for Shmem {
    fn drop(&mut self) {
        // SAFETY: all regions are gone, since they hold on to this.
        unsafe { shmem_finalize() };
    }
}

/// The counters, then the memory.
pub(super) struct Symmetric {
    start: *mut u8,
    flags: usize,
    _shmem: Rc<Shmem>,
}

fn pe(rank: usize) -> c_int {
    c_int::try_from(rank).expect("ranks are counted by MPI")
}

impl Symmetric {
    fn flag(&self, flag: usize) -> *mut c_long {
        assert!(flag < self.flags);
        // SAFETY: inside the allocation.
        unsafe { self.start.cast::<c_long>().add(flag) }
    }
    fn memory(&self, offset: usize) -> *mut u8 {
        // SAFETY: inside the allocation.
        unsafe { self.start.add(self.flags * size_of::<c_long>() + offset) }
    }
}

impl Region for Symmetric {
    fn put(&self, rank: usize, offset: usize, bytes: &[u8]) {
        // SAFETY: the same place exists on `rank`; the source may be reused on return.
        unsafe {
            shmem_putmem(
                self.memory(offset).cast(),
                bytes.as_ptr().cast(),
                bytes.len(),
                pe(rank),
            )
        };
    }
    fn raise(&self, rank: usize, flag: usize) {
        // SAFETY: the fence orders the counter after the puts to the same rank.
        unsafe {
            shmem_fence();
            shmem_long_atomic_inc(self.flag(flag), pe(rank));
        }
    }
    fn wait(&self, flag: usize, value: u64) {
        let value = c_long::try_from(value).expect("fewer exchanges than 2^63");
        // SAFETY: a counter of this rank.
        while unsafe { shmem_long_test(self.flag(flag), AT_LEAST, value) } == 0 {
            thread::yield_now();
        }
    }
    fn barrier(&self) {
        // SAFETY: completes all puts of all ranks.
        unsafe { shmem_barrier_all() };
    }
    fn read(&self, offset: usize, bytes: &mut [u8]) {
        // SAFETY: this rank's memory, which nobody writes to here by the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(self.memory(offset), bytes.as_mut_ptr(), bytes.len())
        };
    }
}

impl Drop for Symmetric {
    fn drop(&mut self) {
        // SAFETY: collective: all ranks drop their exchanges in the same order.
        unsafe { shmem_free(self.start.cast()) };
    }
}
