//! An open GPU: its memory, its queue, and what went wrong on it. Shared by the backends that
//! compute on it in different arithmetics, so that their work stays in order.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use crate::{Error, Precision};

use super::commands::Commands;
use super::kernels::SLICE;
use super::{Adapter, Arithmetic, GpuError};

/// An open GPU; copies are the same one.
#[derive(Clone)]
pub struct Device(Rc<Open>);

struct Open {
    adapter: Adapter,
    raw: wgpu::Device,
    queue: wgpu::Queue,
    limit: u64,
    commands: RefCell<Commands>,
    memory: Rc<Memory>,
    failure: Failure,
}

/// The first error that no call was waiting for.
type Failure = Arc<Mutex<Option<String>>>;

/// What is allocated, and which buffers are gone since anybody looked.
#[derive(Default)]
struct Memory {
    bytes: Cell<u64>,
    next: Cell<u64>,
    gone: RefCell<Vec<u64>>,
}

/// A piece of device memory, freed on drop.
pub(super) struct Buffer {
    pub(super) raw: wgpu::Buffer,
    /// Never used twice, so that bind groups can be found by it.
    pub(super) id: u64,
    memory: Rc<Memory>,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.memory
            .bytes
            .set(self.memory.bytes.get() - self.raw.size());
        self.memory.gone.borrow_mut().push(self.id);
    }
}

impl Adapter {
    /// Opens the device. No buffer will be larger than `limit` bytes, if one is given.
    ///
    /// # Errors
    /// If the driver refuses, or nothing could work under the limit.
    pub fn open(&self, limit: Option<u64>) -> Result<Device, GpuError> {
        let wanted = wgpu::Features::SHADER_F64 | wgpu::Features::TIMESTAMP_QUERY;
        let (raw, queue) = pollster::block_on(self.raw.request_device(&wgpu::DeviceDescriptor {
            label: Some("cubie"),
            required_features: self.raw.features() & wanted,
            required_limits: self.raw.limits(),
            // Few and large buffers: no room is taken in advance.
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        }))
        .map_err(|error| GpuError::Open {
            device: self.name.clone(),
            reason: error.to_string(),
        })?;
        let limit = limit.unwrap_or(u64::MAX).min(self.max_binding);
        let least = 1 << 16;
        if limit < least {
            return Err(GpuError::LimitTooSmall { limit, least });
        }
        let failure = Failure::default();
        let note = failure.clone();
        raw.on_uncaptured_error(Arc::new(move |error| note_failure(&note, &error)));
        let note = failure.clone();
        raw.set_device_lost_callback(move |_, reason| note_failure(&note, &reason));
        let commands = Commands::new(&raw, &queue, self.timestamps);
        let memory = Memory::default();
        memory.bytes.set(commands.allocated());
        Ok(Device(Rc::new(Open {
            adapter: self.clone(),
            raw,
            queue,
            limit,
            commands: commands.into(),
            memory: memory.into(),
            failure,
        })))
    }
}

fn note_failure(failure: &Failure, error: &dyn ToString) {
    let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
    first.get_or_insert_with(|| error.to_string());
}

impl Device {
    /// What was opened.
    pub fn adapter(&self) -> &Adapter {
        &self.0.adapter
    }

    /// Bytes of the largest buffer.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Bytes allocated.
    pub fn allocated(&self) -> u64 {
        self.0.memory.bytes.get()
    }

    /// The arithmetics that the device can do, best first.
    pub fn arithmetics(&self) -> Vec<Arithmetic> {
        let can = |a: &Arithmetic| *a != Arithmetic::F64 || self.adapter().f64;
        Arithmetic::ALL.into_iter().filter(can).collect()
    }

    /// What stands in for double precision here, in `mixed` too: f64 or else f32x2.
    pub fn double(&self) -> Arithmetic {
        self.arithmetics()[0]
    }

    /// The precision to compute in: the one asked for, else the best.
    ///
    /// # Errors
    /// If the device cannot; the message says what it can.
    pub fn precision(&self, asked: Option<Precision>) -> Result<Precision, Error> {
        let able = |precision: &Precision| *precision != Precision::F64 || self.adapter().f64;
        match asked {
            Some(precision) if !able(&precision) => Err(Error::Precision {
                device: self.adapter().name.clone(),
                precision,
                able: Precision::ALL
                    .into_iter()
                    .filter(able)
                    .map(Precision::name)
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
            Some(precision) => Ok(precision),
            None if self.adapter().f64 => Ok(Precision::F64),
            None => Ok(Precision::F32x2),
        }
    }

    /// Kernel times come from a stopwatch and a calibration, not from the device's own clock.
    pub fn times_are_estimated(&self) -> bool {
        !self.adapter().timestamps
    }

    pub(super) fn raw(&self) -> &wgpu::Device {
        &self.0.raw
    }

    /// Works with the queue of commands.
    pub(super) fn commands<T>(&self, work: impl FnOnce(&mut Commands) -> T) -> T {
        let mut commands = self.0.commands.borrow_mut();
        commands.forget(&mut self.0.memory.gone.borrow_mut());
        work(&mut commands)
    }

    /// Rows of the largest part of the matrix that fits a buffer.
    pub(super) fn panel_rows(&self, arithmetic: Arithmetic) -> usize {
        let row = cubie_host::WIDTH as u64 * arithmetic.bytes();
        let slices = self.limit() / (row * SLICE as u64);
        usize::try_from(slices)
            .unwrap_or(usize::MAX)
            .saturating_mul(SLICE)
    }

    /// Creates what may be refused; errors come back instead of going to the noted failure.
    pub(super) fn checked<T>(
        &self,
        create: impl FnOnce(&wgpu::Device) -> T,
    ) -> Result<T, GpuError> {
        self.check()?;
        let scopes = [wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::Internal]
            .map(|filter| self.raw().push_error_scope(filter));
        let created = create(self.raw());
        let errors = scopes
            .into_iter()
            .rev()
            .map(|scope| pollster::block_on(scope.pop()));
        match errors.flatten().next() {
            None => Ok(created),
            Some(error) => Err(self.failed(&error)),
        }
    }

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
        let memory = self.0.memory.clone();
        memory.bytes.set(memory.bytes.get() + raw.size());
        memory.next.set(memory.next.get() + 1);
        let id = memory.next.get();
        Ok(Buffer { raw, id, memory })
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
        self.0.queue.write_buffer(&buffer.raw, offset, bytes);
    }

    /// Whether both are the same open device.
    pub(super) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Waits until the device is idle.
    ///
    /// # Errors
    /// If anything went wrong since the device was opened.
    pub(super) fn wait(&self) -> Result<(), GpuError> {
        let waited = self.raw().poll(wgpu::PollType::wait_indefinitely());
        self.check()?;
        waited.map(|_| ()).map_err(|error| self.failed(&error))
    }

    /// # Errors
    /// If anything went wrong since the device was opened, as far as is known.
    fn check(&self) -> Result<(), GpuError> {
        let failure = &self.0.failure;
        let failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
        match &*failure {
            Some(reason) => Err(self.failed(reason)),
            None => Ok(()),
        }
    }

    fn failed(&self, reason: &dyn ToString) -> GpuError {
        GpuError::Failed {
            device: self.adapter().name.clone(),
            reason: reason.to_string(),
        }
    }

    /// Waits, and returns these pieces (buffer, offset, bytes) one after the other.
    ///
    /// # Errors
    /// If there is no memory for them, or as [`Self::wait`].
    pub(super) fn read(&self, pieces: &[(&wgpu::Buffer, u64, u64)]) -> Result<Vec<u8>, GpuError> {
        let bytes = pieces.iter().map(|(_, _, bytes)| bytes).sum();
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = self.buffer("a copy for the host", bytes, usage, false)?;
        self.commands(|commands| {
            let mut at = 0;
            for &(from, offset, bytes) in pieces {
                commands
                    .encoder()
                    .copy_buffer_to_buffer(from, offset, &staging.raw, at, bytes);
                at += bytes;
            }
            commands.submit();
        });
        let (send, receive) = mpsc::channel();
        staging
            .raw
            .map_async(wgpu::MapMode::Read, ..bytes, move |mapped| {
                // The receiver waits below; if it has left with an error, nobody wants the result.
                send.send(mapped).ok();
            });
        self.wait()?;
        let unmapped = |_| self.failed(&"the driver did not hand over what was computed");
        receive
            .recv()
            .map_err(|_| unmapped(()))?
            .map_err(|_| unmapped(()))?;
        let view = staging
            .raw
            .get_mapped_range(..bytes)
            .map_err(|_| unmapped(()))?;
        Ok(view.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use crate::gpu::{Arithmetic, Gpu, adapters};
    use crate::{Backend, Error, Op};

    #[test]
    fn a_lost_device_is_an_error() {
        let all = adapters();
        assert!(
            !all.is_empty(),
            "no GPU driver: install one, as tests/gpu.rs says"
        );
        for adapter in all {
            let device = adapter.open(None).unwrap();
            let mut gpu = Gpu::new(&device, Arithmetic::F32).unwrap();
            let mut x = gpu.vector(1000).unwrap();
            gpu.enter(Op::Dot);
            gpu.zero(&mut x);
            device.raw().destroy();
            gpu.write(&mut x, &[1.0; 1000]);
            gpu.dot(&x, &x);
            gpu.submit();
            let read = gpu.read(&x);
            let Err(Error::Gpu(error)) = read else {
                panic!("read {read:?} from a lost device");
            };
            assert!(error.to_string().contains("failed"), "{error}");
            assert!(gpu.finish().is_err());
            assert!(gpu.vector(10).is_err());
            assert!(Gpu::new(&device, Arithmetic::F32x2).is_err());
        }
    }
}
