//! Messages that start where a page of memory does: one that is not larger lies in no more pages
//! than it needs, whatever the allocator does. What copies from process to process does so by pages.

use std::ops::{Deref, DerefMut};

/// Bytes of a page, or a multiple of them.
const PAGE: usize = 4096;

/// So many elements from the start of a page on.
pub(super) struct Paged<T> {
    memory: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Paged<T> {
    /// Zeros.
    pub(super) fn new(len: usize) -> Self {
        let memory = vec![T::default(); len + PAGE / size_of::<T>()];
        let start = memory.as_ptr().align_offset(PAGE);
        Self { memory, start, len }
    }
}

impl<T> Deref for Paged<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Paged<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..self.start + self.len]
    }
}
