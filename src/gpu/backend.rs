//! A GPU that computes in one arithmetic, its vectors and its numbers.

use std::collections::HashMap;
use std::ops::Neg;

use crate::params::Format;

use super::device::Device;
use super::kernels::Kernel;
use super::matrix::SUMS;
use super::memory::Buffer;
use super::pipelines::Pipelines;
use super::{Arithmetic, GpuError};

/// Numbers that stay on the device: enough for the norms of thousands of iterations.
const SCALARS: u32 = 1 << 16;

/// Numbers that are read through the same staging buffer, since a run on many ranks reads one
/// several times an iteration.
pub(super) const READ: usize = 16;

/// Elements that a thread of a dot product adds up at least: what a workgroup's tree and its
/// barriers cost is then small beside them.
const ELEMENTS: usize = 8;

/// A GPU computing in one arithmetic.
pub struct Gpu {
    pub(super) device: Device,
    pub(super) pipelines: Pipelines,
    pub(super) format: Format,
    pub(super) scalars: Buffer,
    /// A few of them where the host can read them.
    pub(super) staging: Buffer,
    /// Scalars in use, from the first on.
    pub(super) used: u32,
    /// Where constants stand, by their bits.
    pub(super) constants: HashMap<u64, u32>,
    pub(super) partials: Buffer,
}

/// A vector on a GPU.
pub struct GpuVector {
    pub(super) buffer: Buffer,
    pub(super) len: usize,
}

/// A number in the device's memory, or its negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuScalar {
    pub(super) slot: u32,
    pub(super) negative: bool,
}

impl Neg for GpuScalar {
    type Output = Self;
    fn neg(self) -> Self {
        Self {
            negative: !self.negative,
            ..self
        }
    }
}

impl Gpu {
    /// A backend on `device` in one of its [`Device::arithmetics`], with matrices in `format`;
    /// f32x2 is tested first.
    ///
    /// # Errors
    /// If the device fails the test of f32x2, or has no room.
    pub fn new(device: &Device, arithmetic: Arithmetic, format: Format) -> Result<Self, GpuError> {
        assert!(
            device.arithmetics().contains(&arithmetic),
            "only what the device can do"
        );
        let size = arithmetic.bytes();
        let mut gpu = Self {
            pipelines: Pipelines::new(device, arithmetic)?,
            format,
            staging: device.staging("scalars", READ as u64 * size)?,
            scalars: device.storage("the scalars", SCALARS as usize, size)?,
            used: 0,
            constants: HashMap::new(),
            partials: device.storage("the partial sums", SUMS, size)?,
            device: device.clone(),
        };
        if arithmetic == Arithmetic::F32x2 {
            gpu.self_test()?;
        }
        Ok(gpu)
    }

    /// The device it computes on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What it takes for real numbers.
    pub fn arithmetic(&self) -> Arithmetic {
        self.pipelines.arithmetic
    }

    /// Threads of a workgroup.
    pub(super) fn workgroup(&self) -> usize {
        self.pipelines.workgroup as usize
    }

    /// A vector of `len` zeros.
    pub(super) fn zeros(&self, len: usize) -> Result<GpuVector, GpuError> {
        let buffer = self
            .device
            .storage("a vector", len, self.arithmetic().bytes())?;
        Ok(GpuVector { buffer, len })
    }

    /// All elements of `x`.
    pub(super) fn fetch(&self, x: &GpuVector) -> Result<Vec<f64>, GpuError> {
        let bytes = x.len as u64 * self.arithmetic().bytes();
        let decode = |bytes: &[u8]| self.arithmetic().decode(bytes);
        self.device.read(&[(&x.buffer.raw, 0, bytes)], decode)
    }

    /// Queues a kernel that binds `buffers`, with one thread for each of `n` elements; it moves
    /// `reals` real numbers and `others` bytes.
    pub(super) fn each(
        &self,
        kernel: Kernel,
        buffers: &[&Buffer],
        n: usize,
        reals: usize,
        others: usize,
    ) {
        let bytes = reals as u64 * self.arithmetic().bytes() + others as u64;
        self.dispatch(kernel, buffers, &[word(n)], n, bytes);
    }

    /// Queues a kernel that binds `buffers` over `n` threads; it moves `bytes` bytes.
    pub(super) fn dispatch(
        &self,
        kernel: Kernel,
        buffers: &[&Buffer],
        params: &[u32],
        n: usize,
        bytes: u64,
    ) {
        self.device.commands(|commands| {
            commands.dispatch(&self.pipelines, kernel, buffers, params, n, bytes);
        });
    }

    /// Runs the self-test kernel on three vectors; the four results stand in `results`.
    pub(super) fn self_test_kernel(&self, [a, b, c]: [&GpuVector; 3], results: &GpuVector) {
        let buffers = [&a.buffer, &b.buffer, &c.buffer, &results.buffer];
        self.each(Kernel::SelfTest, &buffers, a.len, 7 * a.len, 0);
    }

    /// Room for a number on the device.
    pub(super) fn new_scalar(&mut self) -> u32 {
        assert!(
            self.used < SCALARS,
            "more than {SCALARS} scalars since forget_scalars"
        );
        self.used += 1;
        self.used - 1
    }

    /// x_i = 0 from i = `first` on.
    pub(super) fn zero_from(&self, x: &GpuVector, first: usize) {
        let n = x.len - first;
        let bytes = n as u64 * self.arithmetic().bytes();
        self.dispatch(
            Kernel::Zero,
            &[&x.buffer],
            &[word(n), word(first)],
            n,
            bytes,
        );
    }

    /// Queues a sum over `n` elements, for which `reals` real numbers are moved: `kernel` leaves
    /// partial sums, which are then added up.
    pub(super) fn sum(
        &self,
        kernel: Kernel,
        buffers: &[&Buffer],
        params: &[u32],
        n: usize,
        reals: usize,
        slot: u32,
    ) -> GpuScalar {
        let groups = n.div_ceil(ELEMENTS * self.workgroup()).clamp(1, SUMS);
        let threads = groups * self.workgroup();
        let bytes = reals as u64 * self.arithmetic().bytes();
        self.dispatch(kernel, buffers, params, threads, bytes);
        self.add_up(&self.partials, groups, slot)
    }

    /// Queues the second stage of a sum: adds up so many partial sums.
    pub(super) fn add_up(&self, partials: &Buffer, count: usize, slot: u32) -> GpuScalar {
        let bytes = count as u64 * self.arithmetic().bytes();
        let params = [word(count), slot];
        self.dispatch(
            Kernel::DotSum,
            &[partials, &self.scalars],
            &params,
            1,
            bytes,
        );
        GpuScalar {
            slot,
            negative: false,
        }
    }
}

/// A number of rows as a kernel's parameter.
pub(super) fn word(n: usize) -> u32 {
    u32::try_from(n).expect("rows are numbered with 32 bits")
}
