//! Memory for matrices and vectors: zeros at first, on large pages where the system has them.
//!
//! A kernel walks through some thirty streams at a time, and with pages of 4 KiB it waits for
//! addresses to be translated more than for memory. A page belongs to the socket of the thread that
//! writes to it first; the system's allocator would hand out pages that others have used.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// A slice of its own pages.
pub struct Pages<T> {
    map: MmapMut,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Pages<T> {
    /// `len` zeros, in pages that nobody has touched.
    ///
    /// # Panics
    /// If the system has no more memory, as everywhere.
    pub fn zeros(len: usize) -> Self {
        let bytes = (len * size_of::<T>()).max(1);
        let map = MmapMut::map_anon(bytes).unwrap_or_else(|error| {
            panic!("the system gives no {bytes} bytes of memory: {error}; use a smaller box")
        });
        // Where there are no large pages, small ones do the same more slowly.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Self {
            map,
            len,
            element: PhantomData,
        }
    }
}

impl<T: Pod> Deref for Pages<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.map[..self.len * size_of::<T>()])
    }
}

impl<T: Pod> DerefMut for Pages<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.map[..self.len * size_of::<T>()])
    }
}
