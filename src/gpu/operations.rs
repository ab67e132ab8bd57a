//! The operations of the benchmark as dispatches of kernels.

use cubie_host::{HaloExchange, Ordered};

use crate::backend::{Backend, Convert};
use crate::error::Error;
use crate::meter::{Op, Work};
use crate::params::Format;
use crate::textbook;

use super::Arithmetic;
use super::backend::{Gpu, GpuScalar, GpuVector, READ, word};
use super::commands::Commands;
use super::kernels::Kernel;
use super::matrix::{GpuMatrix, Portion};
use super::split::{Corrected, Product};

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
        self.pack_while(A, x, bytes, || ())
    }
    fn unpack(&mut self, A: &GpuMatrix, bytes: &[u8], x: &mut GpuVector) {
        self.put_externals(A, bytes, x);
    }

    fn matrix(&mut self, level: &Ordered<'_>) -> Result<GpuMatrix, Error> {
        Ok(GpuMatrix::upload(
            &self.device,
            self.arithmetic(),
            self.format,
            level,
        )?)
    }
    fn replace_diagonal(&mut self, A: &mut GpuMatrix, diagonal: &[f64]) {
        assert_eq!(diagonal.len(), A.nrow);
        self.device
            .write(&A.diagonal, &self.arithmetic().encode(diagonal));
        if A.format == Format::Ell28 {
            self.ell_replace_diagonal(A);
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
        let values = if scalars.len() <= READ {
            self.device.read_through(&self.staging, &pieces, decode)?
        } else {
            self.device.read(&pieces, decode)?
        };
        let signed = scalars.iter().zip(values);
        Ok(signed
            .map(|(scalar, value)| if scalar.negative { -value } else { value })
            .collect())
    }

    fn zero(&mut self, x: &mut GpuVector) {
        self.zero_from(x, 0);
    }
    fn copy(&mut self, x: &GpuVector, y: &mut GpuVector) {
        let n = x.len.min(y.len);
        self.each(Kernel::Copy, &[&x.buffer, &y.buffer], n, 2 * n, 0);
    }
    fn spmv(&mut self, A: &GpuMatrix, x: &GpuVector, y: &mut GpuVector) {
        assert!(x.len == A.ncol && y.len >= A.nrow);
        match A.format {
            Format::Ell28 => self.ell_spmv(A, x, y),
            Format::Split => {
                let sums = A.sums.as_ref().expect("made with the matrix");
                self.split_spmv(A, sums, x, y, Product::Whole);
            }
        }
    }
    fn symgs(&mut self, A: &GpuMatrix, r: &GpuVector, x: &mut GpuVector) {
        assert!(x.len == A.ncol && r.len >= A.nrow);
        match A.format {
            Format::Ell28 => self.ell_symgs(A, r, x),
            Format::Split => self.split_symgs(A, r, x),
        }
    }
    fn dot(&mut self, x: &GpuVector, y: &GpuVector) -> GpuScalar {
        let n = x.len.min(y.len);
        let vectors = if x.buffer.id == y.buffer.id { 1 } else { 2 };
        let slot = self.new_scalar();
        let buffers = [&x.buffer, &y.buffer, &self.partials];
        self.sum(Kernel::Dot, &buffers, &[word(n)], n, vectors * n, slot)
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
        self.prolong(A, xc, x);
    }

    fn spmv_dot(
        &mut self,
        A: &GpuMatrix,
        halo: &mut HaloExchange,
        x: &mut GpuVector,
        y: &mut GpuVector,
    ) -> Result<GpuScalar, Error> {
        let Some(sums) = &A.sums else {
            return textbook::spmv_dot(self, A, halo, x, y);
        };
        // The halo counts as L: U and D wait for nobody.
        let begun = self.exchange_while(A, halo, x, || {
            self.split_spmv(A, sums, x, y, Product::UpperAndDiagonal);
        })?;
        let rest = if begun {
            Product::LowerAdded
        } else {
            Product::Whole
        };
        let groups = self.split_spmv(A, sums, x, y, rest);
        let slot = self.new_scalar();
        Ok(self.add_up(sums, groups, slot))
    }
    fn update_and_norm(
        &mut self,
        alpha: GpuScalar,
        p: &GpuVector,
        Ap: &GpuVector,
        x: &mut GpuVector,
        r: &mut GpuVector,
    ) -> GpuScalar {
        let n = r.len;
        assert!(p.len >= n && Ap.len >= n && x.len >= n);
        let slot = self.new_scalar();
        let buffers = [
            &self.scalars,
            &p.buffer,
            &Ap.buffer,
            &x.buffer,
            &r.buffer,
            &self.partials,
        ];
        let params = [word(n), alpha.slot, alpha.negative.into()];
        self.sum(Kernel::Update, &buffers, &params, n, 6 * n, slot)
    }

    fn smooth_from_zero(
        &mut self,
        A: &GpuMatrix,
        r: &GpuVector,
        x: &mut GpuVector,
        work: Option<&mut GpuVector>,
    ) {
        match A.format {
            Format::Ell28 => textbook::smooth_from_zero(self, A, r, x),
            Format::Split => self.split_from_zero(A, r, x, work.as_deref()),
        }
    }
    fn restrict_residual(
        &mut self,
        A: &GpuMatrix,
        halo: &mut HaloExchange,
        r: &GpuVector,
        x: &mut GpuVector,
        work: &mut GpuVector,
        rc: &mut GpuVector,
    ) -> Result<(), Error> {
        let Some(injected) = &A.injected else {
            return textbook::restrict_residual(self, A, halo, r, x, work, rc);
        };
        let begun = self.exchange_while(A, halo, x, || {
            self.split_residual(A, injected, r, x, rc, Portion::Interior);
        })?;
        self.split_residual(A, injected, r, x, rc, Portion::left(begun));
        Ok(())
    }
    fn correct_and_smooth(
        &mut self,
        A: &GpuMatrix,
        halo: &mut HaloExchange,
        xc: &GpuVector,
        r: &GpuVector,
        x: &mut GpuVector,
        work: &mut GpuVector,
    ) -> Result<(), Error> {
        if A.format == Format::Ell28 {
            return textbook::correct_and_smooth(self, A, halo, xc, r, x);
        }
        self.exchange_and_correct(A, halo, &Corrected { xc, r, x, work }, None)?;
        Ok(())
    }
    fn correct_and_smooth_dot(
        &mut self,
        A: &GpuMatrix,
        halo: &mut HaloExchange,
        xc: &GpuVector,
        r: &GpuVector,
        x: &mut GpuVector,
        work: &mut GpuVector,
    ) -> Result<GpuScalar, Error> {
        let (Some(sums), None) = (&A.sums, &A.small) else {
            self.correct_and_smooth(A, halo, xc, r, x, work)?;
            self.enter(Op::Dot);
            return Ok(self.dot(r, x));
        };
        let groups =
            self.exchange_and_correct(A, halo, &Corrected { xc, r, x, work }, Some(sums))?;
        let slot = self.new_scalar();
        Ok(self.add_up(sums, groups, slot))
    }

    fn enter(&mut self, op: Op) {
        self.device.commands(|commands| commands.enter(op));
    }
    fn submit(&mut self) {
        self.device.commands(Commands::submit_if_enough);
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
    /// x += xc at the injected rows.
    pub(super) fn prolong(&self, A: &GpuMatrix, xc: &GpuVector, x: &GpuVector) {
        let n = A.coarse_rows;
        assert!(x.len >= A.nrow && xc.len >= n);
        let buffers = [&A.f2c, &xc.buffer, &x.buffer];
        self.each(Kernel::Prolongation, &buffers, n, 3 * n, 4 * n);
    }

    fn convert(&self, kernel: Kernel, x: &GpuVector, inner: &Gpu, y: &GpuVector) {
        assert_eq!(inner.arithmetic(), Arithmetic::F32);
        assert!(inner.device.is(&self.device), "vectors of two devices");
        let n = x.len.min(y.len);
        let singles = n * size_of::<f32>();
        self.each(kernel, &[&x.buffer, &y.buffer], n, n, singles);
    }
}
