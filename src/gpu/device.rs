//! An open GPU: what it can do, its queue, and what went wrong on it. Shared by the backends that
//! compute on it in different arithmetics, so that their work stays in order.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::commands::Commands;
use super::memory::Memory;
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

impl Adapter {
    /// Opens the device. No buffer will be larger than `limit` bytes, if one is given.
    ///
    /// # Errors
    /// If the driver refuses, or nothing could work under the limit.
    pub fn open(&self, limit: Option<u64>) -> Result<Device, GpuError> {
        let wanted =
            wgpu::Features::SHADER_F64 | wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::SUBGROUP;
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
        let memory = Memory::new(commands.allocated());
        Ok(Device(Rc::new(Open {
            adapter: self.clone(),
            raw,
            queue,
            limit,
            commands: commands.into(),
            memory,
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
        self.memory().bytes()
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

    /// Kernel times come from a stopwatch and a calibration, not from the device's own clock.
    pub fn times_are_estimated(&self) -> bool {
        !self.adapter().timestamps
    }

    pub(super) fn raw(&self) -> &wgpu::Device {
        &self.0.raw
    }

    pub(super) fn queue(&self) -> &wgpu::Queue {
        &self.0.queue
    }

    pub(super) fn memory(&self) -> &Rc<Memory> {
        &self.0.memory
    }

    /// Works with the queue of commands.
    pub(super) fn commands<T>(&self, work: impl FnOnce(&mut Commands) -> T) -> T {
        let mut commands = self.0.commands.borrow_mut();
        commands.forget(&self.memory().gone());
        work(&mut commands)
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

    /// Whether both are the same open device.
    pub(super) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Waits until the device is idle.
    ///
    /// # Errors
    /// If anything went wrong since the device was opened.
    pub(super) fn wait(&self) -> Result<(), GpuError> {
        self.wait_for(None)?;
        self.idle();
        Ok(())
    }

    /// Waits until the device has done what was submitted, or all of it.
    ///
    /// # Errors
    /// If anything went wrong since the device was opened.
    pub(super) fn wait_for(
        &self,
        submission: Option<wgpu::SubmissionIndex>,
    ) -> Result<(), GpuError> {
        let waited = self.raw().poll(wgpu::PollType::Wait {
            submission_index: submission,
            timeout: None,
        });
        self.check()?;
        waited.map(|_| ()).map_err(|error| self.failed(&error))
    }

    /// The device has done all that was submitted.
    pub(super) fn idle(&self) {
        self.commands(|commands| commands.pace.idle(Instant::now()));
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

    pub(super) fn failed(&self, reason: &dyn ToString) -> GpuError {
        GpuError::Failed {
            device: self.adapter().name.clone(),
            reason: reason.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::gpu::{Arithmetic, Gpu, adapters};
    use crate::params::Format;
    use crate::{Backend, Error, Op};

    #[test]
    fn a_lost_device_is_an_error() {
        let all = adapters();
        assert!(
            !all.is_empty(),
            "no GPU driver: install one, as tests/gpu says"
        );
        for adapter in all {
            let device = adapter.open(None).unwrap();
            let mut gpu = Gpu::new(&device, Arithmetic::F32, Format::Split).unwrap();
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
            assert!(Gpu::new(&device, Arithmetic::F32x2, Format::Split).is_err());
        }
    }
}
