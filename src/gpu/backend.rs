//! The operations of the benchmark as dispatches of kernels.

use std::collections::HashMap;
use std::ops::Neg;

use cubie_host::Ordered;

use crate::backend::{Backend, Convert};
use crate::error::Error;
use crate::meter::{Op, Work};

use super::commands::Commands;
use super::device::Device;
use super::kernels::{Kernel, WORKGROUP};
use super::matrix::{GpuMatrix, Part};
use super::memory::Buffer;
use super::pipelines::Pipelines;
use super::{Arithmetic, GpuError};

/// Numbers that stay on the device: enough for the norms of thousands of iterations.
const SCALARS: u32 = 1 << 16;

/// Workgroups of the first stage of a dot product at most; the second stage adds their sums.
const PARTIALS: usize = 1024;

/// Elements that a thread of a dot product adds up at least: what a workgroup's tree and its
/// barriers cost is then small beside them.
const ELEMENTS: usize = 8;

/// A GPU computing in one arithmetic.
pub struct Gpu {
    device: Device,
    pipelines: Pipelines,
    scalars: Buffer,
    /// Scalars in use, from the first on.
    used: u32,
    /// Where constants stand, by their bits.
    constants: HashMap<u64, u32>,
    partials: Buffer,
}

/// A vector on a GPU.
pub struct GpuVector {
    buffer: Buffer,
    len: usize,
}

/// A number in the device's memory, or its negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuScalar {
    slot: u32,
    negative: bool,
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
    /// A backend on `device` in one of its [`Device::arithmetics`]; f32x2 is tested first.
    ///
    /// # Errors
    /// If the device fails the test of f32x2, or has no room.
    pub fn new(device: &Device, arithmetic: Arithmetic) -> Result<Self, GpuError> {
        assert!(
            device.arithmetics().contains(&arithmetic),
            "only what the device can do"
        );
        let size = arithmetic.bytes();
        let mut gpu = Self {
            pipelines: Pipelines::new(device, arithmetic)?,
            scalars: device.storage("the scalars", SCALARS as usize, size)?,
            used: 0,
            constants: HashMap::new(),
            partials: device.storage("the partial sums", PARTIALS, size)?,
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
    fn each(&self, kernel: Kernel, buffers: &[&Buffer], n: usize, reals: usize, others: usize) {
        let bytes = reals as u64 * self.arithmetic().bytes() + others as u64;
        self.dispatch(kernel, buffers, &[word(n)], n, bytes);
    }

    fn dispatch(&self, kernel: Kernel, buffers: &[&Buffer], params: &[u32], n: usize, bytes: u64) {
        self.device.commands(|commands| {
            commands.dispatch(&self.pipelines, kernel, buffers, params, n, bytes);
        });
    }

    /// Runs the self-test kernel on three vectors; the four results stand in `results`.
    pub(super) fn self_test_kernel(&self, [a, b, c]: [&GpuVector; 3], results: &GpuVector) {
        let buffers = [&a.buffer, &b.buffer, &c.buffer, &results.buffer];
        self.each(Kernel::SelfTest, &buffers, a.len, 7 * a.len, 0);
    }

    fn new_scalar(&mut self) -> u32 {
        assert!(
            self.used < SCALARS,
            "more than {SCALARS} scalars since forget_scalars"
        );
        self.used += 1;
        self.used - 1
    }

    /// Bytes that a pass over `rows` rows of the matrix moves, with `vectors` real numbers a row.
    fn pass_bytes(&self, rows: usize, vectors: u64) -> u64 {
        let row = GpuMatrix::row_bytes(self.arithmetic()) + vectors * self.arithmetic().bytes();
        rows as u64 * row
    }
}

/// A number of rows as a kernel's parameter.
fn word(n: usize) -> u32 {
    u32::try_from(n).expect("rows are numbered with 32 bits")
}

impl Backend for Gpu {
    type Scalar = GpuScalar;
    type Vector = GpuVector;
    type Matrix = GpuMatrix;

    fn epsilon(&self) -> f64 {
        self.arithmetic().epsilon()
    }
    fn element(&self) -> usize {
        usize::try_from(self.arithmetic().bytes()).expect("a few bytes")
    }
    fn pack(&mut self, A: &GpuMatrix, x: &GpuVector, bytes: &mut [u8]) -> Result<(), Error> {
        let n = A.sent;
        let buffers = [&A.send_rows, &x.buffer, &A.outgoing];
        self.each(Kernel::Pack, &buffers, n, 2 * n, 4 * n);
        let length = n as u64 * self.arithmetic().bytes();
        let arithmetic = self.arithmetic();
        Ok(self
            .device
            .read(&[(&A.outgoing.raw, 0, length)], |packed| {
                bytes.copy_from_slice(&arithmetic.to_wire(packed));
            })?)
    }
    fn unpack(&mut self, A: &GpuMatrix, bytes: &[u8], x: &mut GpuVector) {
        let offset = A.nrow as u64 * self.arithmetic().bytes();
        let externals = self.arithmetic().of_wire(bytes);
        self.device.write_at(&x.buffer, offset, &externals);
    }

    fn matrix(&mut self, level: &Ordered<'_>) -> Result<GpuMatrix, Error> {
        Ok(GpuMatrix::upload(&self.device, self.arithmetic(), level)?)
    }
    fn replace_diagonal(&mut self, A: &mut GpuMatrix, diagonal: &[f64]) {
        assert_eq!(diagonal.len(), A.nrow);
        self.device
            .write(&A.diagonal, &self.arithmetic().encode(diagonal));
        for part in A.parts(0..A.nrow) {
            let buffers = [&part.panel.values, &part.panel.cols, &A.diagonal];
            let bytes = self.pass_bytes(part.count, 1);
            self.dispatch(
                Kernel::ReplaceDiagonal,
                &buffers,
                &part.params(),
                part.count,
                bytes,
            );
        }
    }
    fn vector(&mut self, len: usize) -> Result<GpuVector, Error> {
        Ok(self.zeros(len)?)
    }
    fn write(&mut self, x: &mut GpuVector, values: &[f64]) {
        assert!(values.len() <= x.len);
        self.device
            .write(&x.buffer, &self.arithmetic().encode(values));
    }
    fn read(&mut self, x: &GpuVector) -> Result<Vec<f64>, Error> {
        Ok(self.fetch(x)?)
    }

    fn forget_scalars(&mut self) {
        self.used = 0;
        self.constants.clear();
    }
    fn scalar(&mut self, value: f64) -> GpuScalar {
        let known = self.constants.get(&value.to_bits()).copied();
        let slot = known.unwrap_or_else(|| {
            let slot = self.new_scalar();
            self.constants.insert(value.to_bits(), slot);
            let offset = u64::from(slot) * self.arithmetic().bytes();
            self.device
                .write_at(&self.scalars, offset, &self.arithmetic().encode(&[value]));
            slot
        });
        GpuScalar {
            slot,
            negative: false,
        }
    }
    fn ratio(&mut self, numerator: GpuScalar, denominator: GpuScalar) -> GpuScalar {
        let slot = self.new_scalar();
        let params = [numerator.slot, denominator.slot, slot];
        let bytes = 3 * self.arithmetic().bytes();
        self.dispatch(Kernel::Ratio, &[&self.scalars], &params, 1, bytes);
        GpuScalar {
            slot,
            negative: numerator.negative != denominator.negative,
        }
    }
    fn read_scalars(&mut self, scalars: &[GpuScalar]) -> Result<Vec<f64>, Error> {
        let size = self.arithmetic().bytes();
        let pieces: Vec<_> = scalars
            .iter()
            .map(|scalar| (&self.scalars.raw, u64::from(scalar.slot) * size, size))
            .collect();
        let decode = |bytes: &[u8]| self.arithmetic().decode(bytes);
        let values = self.device.read(&pieces, decode)?;
        let signed = scalars.iter().zip(values);
        Ok(signed
            .map(|(scalar, value)| if scalar.negative { -value } else { value })
            .collect())
    }

    fn zero(&mut self, x: &mut GpuVector) {
        self.each(Kernel::Zero, &[&x.buffer], x.len, x.len, 0);
    }
    fn copy(&mut self, x: &GpuVector, y: &mut GpuVector) {
        let n = x.len.min(y.len);
        self.each(Kernel::Copy, &[&x.buffer, &y.buffer], n, 2 * n, 0);
    }
    fn spmv(&mut self, A: &GpuMatrix, x: &GpuVector, y: &mut GpuVector) {
        assert!(x.len == A.ncol && y.len >= A.nrow);
        for part in A.parts(0..A.nrow) {
            let buffers = [&part.panel.values, &part.panel.cols, &x.buffer, &y.buffer];
            let bytes = self.pass_bytes(part.count, 2);
            self.dispatch(Kernel::Spmv, &buffers, &part.params(), part.count, bytes);
        }
    }
    fn symgs(&mut self, A: &GpuMatrix, r: &GpuVector, x: &mut GpuVector) {
        assert!(x.len == A.ncol && r.len >= A.nrow);
        for rows in A.colors.iter().chain(A.colors.iter().rev()) {
            for part in A.parts(rows.clone()) {
                let Part { panel, count, .. } = part;
                let buffers = [
                    &panel.values,
                    &panel.cols,
                    &A.diagonal,
                    &r.buffer,
                    &x.buffer,
                ];
                let bytes = self.pass_bytes(count, 4);
                self.dispatch(Kernel::Symgs, &buffers, &part.params(), count, bytes);
            }
        }
    }
    fn dot(&mut self, x: &GpuVector, y: &GpuVector) -> GpuScalar {
        let n = x.len.min(y.len);
        let slot = self.new_scalar();
        let threads = n.div_ceil(ELEMENTS);
        let groups = threads.div_ceil(WORKGROUP as usize).clamp(1, PARTIALS);
        let buffers = [&x.buffer, &y.buffer, &self.partials];
        let vectors = if x.buffer.id == y.buffer.id { 1 } else { 2 };
        let bytes = vectors * n as u64 * self.arithmetic().bytes();
        let threads = groups * WORKGROUP as usize;
        self.dispatch(Kernel::Dot, &buffers, &[word(n)], threads, bytes);
        let buffers = [&self.partials, &self.scalars];
        let bytes = groups as u64 * self.arithmetic().bytes();
        self.dispatch(Kernel::DotSum, &buffers, &[word(groups), slot], 1, bytes);
        GpuScalar {
            slot,
            negative: false,
        }
    }
    fn waxpby(&mut self, alpha: GpuScalar, x: &GpuVector, beta: GpuScalar, w: &mut GpuVector) {
        let n = x.len.min(w.len);
        let params = [
            word(n),
            alpha.slot,
            alpha.negative.into(),
            beta.slot,
            beta.negative.into(),
        ];
        let buffers = [&self.scalars, &x.buffer, &w.buffer];
        let bytes = 3 * n as u64 * self.arithmetic().bytes();
        self.dispatch(Kernel::Waxpby, &buffers, &params, n, bytes);
    }
    fn restriction(&mut self, A: &GpuMatrix, r: &GpuVector, Axf: &GpuVector, rc: &mut GpuVector) {
        let n = A.coarse_rows;
        assert!(r.len >= A.nrow && Axf.len >= A.nrow && rc.len >= n);
        let buffers = [&A.f2c, &r.buffer, &Axf.buffer, &rc.buffer];
        self.each(Kernel::Restriction, &buffers, n, 3 * n, 4 * n);
    }
    fn prolongation(&mut self, A: &GpuMatrix, xc: &GpuVector, x: &mut GpuVector) {
        let n = A.coarse_rows;
        assert!(x.len >= A.nrow && xc.len >= n);
        let buffers = [&A.f2c, &xc.buffer, &x.buffer];
        self.each(Kernel::Prolongation, &buffers, n, 3 * n, 4 * n);
    }

    fn enter(&mut self, op: Op) {
        self.device.commands(|commands| commands.enter(op));
    }
    fn submit(&mut self) {
        self.device.commands(Commands::submit);
    }
    fn finish(&mut self) -> Result<Work, Error> {
        Ok(self.device.finish()?)
    }
    fn allocated(&self) -> u64 {
        self.device.allocated()
    }
}

/// The inner backend must compute in single precision, on the same device.
impl Convert<Gpu> for Gpu {
    fn convert_to(&mut self, x: &GpuVector, inner: &mut Gpu, y: &mut GpuVector) {
        self.convert(Kernel::Narrow, x, inner, y);
    }
    fn convert_from(&mut self, inner: &mut Gpu, x: &GpuVector, y: &mut GpuVector) {
        self.convert(Kernel::Widen, x, inner, y);
    }
}

impl Gpu {
    fn convert(&self, kernel: Kernel, x: &GpuVector, inner: &Gpu, y: &GpuVector) {
        assert_eq!(inner.arithmetic(), Arithmetic::F32);
        assert!(inner.device.is(&self.device), "vectors of two devices");
        let n = x.len.min(y.len);
        let singles = n * size_of::<f32>();
        self.each(kernel, &[&x.buffer, &y.buffer], n, n, singles);
    }
}
