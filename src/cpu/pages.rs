//! Memory for matrices and vectors: zeros at first, on large pages where the system has them.
//!
//! A kernel walks through some thirty streams at a time, and with pages of 4 KiB it waits for
//! addresses to be translated more than for memory. A page belongs to the socket of the thread that
//! writes to it first; the system's allocator would hand out pages that others have used.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::str::FromStr;

use bytemuck::Pod;
use memmap2::MmapMut;

/// How large pages shall be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageSize {
    /// Large where the system has them: on x86-64 2 MiB.
    #[default]
    Large,
    /// The usual ones: on x86-64 4 KiB.
    Small,
}

impl FromStr for PageSize {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "large" => Ok(Self::Large),
            "small" => Ok(Self::Small),
            _ => Err("use large or small".into()),
        }
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Large => "large",
            Self::Small => "small",
        })
    }
}

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
        Self::new(len, PageSize::Large).unwrap_or_else(|error| {
            let bytes = len * size_of::<T>();
            panic!("the system gives no {bytes} bytes of memory: {error}; use a smaller box")
        })
    }

    /// `len` zeros, in pages of that size that nobody has touched.
    ///
    /// # Errors
    /// If the system has no more memory.
    pub fn new(len: usize, size: PageSize) -> io::Result<Self> {
        let map = MmapMut::map_anon((len * size_of::<T>()).max(1))?;
        // Where the system does not listen, pages of another size do the same at another speed.
        #[cfg(target_os = "linux")]
        let _ = map.advise(match size {
            PageSize::Large => memmap2::Advice::HugePage,
            PageSize::Small => memmap2::Advice::NoHugePage,
        });
        #[cfg(not(target_os = "linux"))]
        let _ = size;
        Ok(Self {
            map,
            len,
            element: PhantomData,
        })
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
