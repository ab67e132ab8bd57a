//! Memory of a GPU: buffers, what they may hold, and how bytes get into and out of them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc;

use super::GpuError;
use super::commands::Commands;
use super::device::Device;

/// What is allocated on a device, and which buffers were dropped since anybody asked.
pub(super) struct Memory {
    bytes: Cell<u64>,
    /// Buffers ever created.
    buffers: Cell<u64>,
    gone: RefCell<Vec<u64>>,
}

/// A piece of device memory, freed on drop.
pub(super) struct Buffer {
    pub(super) raw: wgpu::Buffer,
    /// Never used twice, so that bind groups can be found by it.
    pub(super) id: u64,
    memory: Rc<Memory>,
}

/// A part of a buffer: its offset and its length in bytes.
pub(super) type Piece<'a> = (&'a wgpu::Buffer, u64, u64);

impl Memory {
    /// Memory of which `bytes` bytes are taken already.
    pub(super) fn new(bytes: u64) -> Rc<Self> {
        Rc::new(Self {
            bytes: bytes.into(),
            buffers: 0.into(),
            gone: RefCell::default(),
        })
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// The ids of the buffers that were dropped since the last call.
    pub(super) fn gone(&self) -> Vec<u64> {
        self.gone.take()
    }
}

impl Buffer {
    fn new(raw: wgpu::Buffer, memory: &Rc<Memory>) -> Self {
        memory.bytes.set(memory.bytes.get() + raw.size());
        memory.buffers.set(memory.buffers.get() + 1);
        Self {
            raw,
            id: memory.buffers.get(),
            memory: memory.clone(),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = &self.memory.bytes;
        bytes.set(bytes.get() - self.raw.size());
        self.memory.gone.borrow_mut().push(self.id);
    }
}

impl Device {
    /// A buffer of at least `bytes` bytes, all zero. `what` names it in errors.
    ///
    /// # Errors
    /// If it is over the limit, or memory is full.
    pub(super) fn buffer(
        &self,
        what: &str,
        bytes: u64,
        usage: wgpu::BufferUsages,
        mapped: bool,
    ) -> Result<Buffer, GpuError> {
        let scope = self.raw().push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let raw = self.checked(|device| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(what),
                size: bytes.max(16).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT),
                usage,
                mapped_at_creation: mapped,
            })
        });
        if pollster::block_on(scope.pop()).is_some() {
            return Err(GpuError::OutOfMemory {
                device: self.adapter().name.clone(),
                what: what.to_owned(),
                size: bytes,
                allocated: self.allocated(),
            });
        }
        let raw = raw?;
        Ok(Buffer::new(raw, self.memory()))
    }

    /// A buffer for `len` elements of `size` bytes that kernels read and write.
    ///
    /// # Errors
    /// As [`Self::buffer`].
    pub(super) fn storage(&self, what: &str, len: usize, size: u64) -> Result<Buffer, GpuError> {
        let bytes = len as u64 * size;
        if bytes > self.limit() {
            return Err(self.too_large(what, bytes, size));
        }
        self.buffer(what, bytes, Self::STORAGE, false)
    }

    /// The same for so many bytes, within the limit, to be [`Self::mapped`] and written.
    ///
    /// # Errors
    /// If memory is full.
    pub(super) fn mapped_storage(&self, what: &str, bytes: u64) -> Result<Buffer, GpuError> {
        self.buffer(what, bytes, Self::STORAGE, true)
    }

    /// A buffer for [`Self::read_through`].
    ///
    /// # Errors
    /// If memory is full.
    pub(super) fn staging(&self, what: &str, bytes: u64) -> Result<Buffer, GpuError> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        self.buffer(what, bytes, usage, false)
    }

    pub(super) const STORAGE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE
        .union(wgpu::BufferUsages::COPY_SRC)
        .union(wgpu::BufferUsages::COPY_DST);

    fn too_large(&self, what: &str, bytes: u64, size: u64) -> GpuError {
        let most = self.limit() / size;
        let edge = (8..)
            .step_by(8)
            .take_while(|n: &u64| n.pow(3) <= most)
            .last();
        GpuError::TooLarge {
            device: self.adapter().name.clone(),
            what: what.to_owned(),
            size: bytes,
            limit: self.limit(),
            largest: match edge {
                Some(n) => format!("at most {most} elements fit, such as a box of {n} x {n} x {n}"),
                None => format!("at most {most} elements fit"),
            },
        }
    }

    /// A buffer that was created mapped, to be written.
    pub(super) fn mapped(&self, buffer: &Buffer) -> Result<wgpu::BufferViewMut, GpuError> {
        let view = buffer.raw.get_mapped_range_mut(..);
        view.map_err(|error| self.failed(&error))
    }

    /// Overwrites the beginning of a buffer, after all that is queued.
    pub(super) fn write(&self, buffer: &Buffer, bytes: &[u8]) {
        self.write_at(buffer, 0, bytes);
    }

    /// Overwrites a part of a buffer, after all that is queued.
    pub(super) fn write_at(&self, buffer: &Buffer, offset: u64, bytes: &[u8]) {
        self.commands(Commands::submit);
        self.queue().write_buffer(&buffer.raw, offset, bytes);
    }

    /// Waits for these pieces, and gives them to `decode` as one.
    ///
    /// # Errors
    /// If there is no memory for them, or as [`Self::wait`].
    pub(super) fn read<T>(
        &self,
        pieces: &[Piece<'_>],
        decode: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, GpuError> {
        let bytes = pieces.iter().map(|(_, _, bytes)| bytes).sum();
        let staging = self.staging("a copy for the host", bytes)?;
        self.read_through(&staging, pieces, decode)
    }

    /// The same by way of a buffer that is used again and again.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub(super) fn read_through<T>(
        &self,
        staging: &Buffer,
        pieces: &[Piece<'_>],
        decode: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, GpuError> {
        let decoded = self.read_while(staging, pieces, || (), decode)?;
        self.idle();
        Ok(decoded)
    }

    /// The same, and the device does what `meanwhile` queues while the host has the pieces.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub(super) fn read_while<T>(
        &self,
        staging: &Buffer,
        pieces: &[Piece<'_>],
        meanwhile: impl FnOnce(),
        decode: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, GpuError> {
        let bytes: u64 = pieces.iter().map(|(_, _, bytes)| bytes).sum();
        let copied = self.commands(|commands| {
            let mut at = 0;
            for &(from, offset, bytes) in pieces {
                commands
                    .encoder()
                    .copy_buffer_to_buffer(from, offset, &staging.raw, at, bytes);
                at += bytes;
            }
            commands.submit()
        });
        let (send, receive) = mpsc::channel();
        staging
            .raw
            .map_async(wgpu::MapMode::Read, ..bytes, move |mapped| {
                // The receiver waits below; if it has left with an error, nobody wants the result.
                send.send(mapped).ok();
            });
        meanwhile();
        self.commands(Commands::submit);
        self.wait_for(copied)?;
        if !matches!(receive.try_recv(), Ok(Ok(()))) {
            return Err(self.failed(&"the driver did not hand over what was computed"));
        }
        let view = staging.raw.get_mapped_range(..bytes);
        let view = view.map_err(|error| self.failed(&error))?;
        let decoded = decode(&view);
        drop(view);
        staging.raw.unmap();
        Ok(decoded)
    }
}
