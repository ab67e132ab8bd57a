//! Memory of one rank that the others write to by MPI's one-sided calls.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::sync::atomic::{Ordering, fence};
use std::thread;

use mpi::environment::Universe;
use mpi::ffi;

use super::mpi::{Mpi, int};
use super::{Comm, Region};

/// An MPI window: the counters, 8 bytes each, then the memory.
pub(super) struct Window {
    window: ffi::MPI_Win,
    base: *mut u8,
    /// Where each rank's memory starts, behind its counters.
    starts: Vec<usize>,
    own_start: usize,
    world: ffi::MPI_Comm,
    _universe: Rc<Universe>,
}

impl Window {
    pub(super) fn new(mpi: &Mpi, bytes: usize, flags: usize) -> Self {
        let start = 8 * flags;
        let starts = mpi
            .gather(&start.to_ne_bytes())
            .iter()
            .map(|bytes| usize::from_ne_bytes(bytes.as_chunks().0[0]))
            .collect();
        let world = mpi.raw();
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
            _universe: mpi.universe(),
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
                // What was put before the counter was raised is read after it.
                fence(Ordering::Acquire);
                // SAFETY: this rank's window.
                unsafe { ffi::MPI_Win_sync(self.window) };
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
