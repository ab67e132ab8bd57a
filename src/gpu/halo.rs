//! Halos on their way: gathered on the device, copied to the host in one piece, exchanged, and copied
//! back in one piece, while the device works on rows that need none of it. HPCG: `ExchangeHalo`.

use cubie_host::HaloExchange;

use crate::error::Error;

use super::backend::{Gpu, GpuVector};
use super::kernels::Kernel;
use super::matrix::{GpuMatrix, Portion};
use super::memory::Buffer;
use super::split::Corrected;

impl Gpu {
    /// Brings the externals of x up to date. If work is to go on while they travel, the device does
    /// what `interior` queues; returns whether it did.
    pub(super) fn exchange_while(
        &self,
        A: &GpuMatrix,
        halo: &mut HaloExchange,
        x: &GpuVector,
        interior: impl FnOnce(),
    ) -> Result<bool, Error> {
        let overlaps = halo.overlaps();
        let meanwhile = || {
            if overlaps {
                interior();
            }
        };
        halo.start(|bytes| self.pack_while(A, x, bytes, meanwhile))?;
        halo.finish(|bytes| self.put_externals(A, bytes, x));
        Ok(overlaps)
    }

    /// The smoothing step after a coarse correction. `sums` takes partial sums of r·x, if it is
    /// given; returns how many.
    pub(super) fn exchange_and_correct(
        &self,
        A: &GpuMatrix,
        halo: &mut HaloExchange,
        vectors: &Corrected<'_>,
        sums: Option<&Buffer>,
    ) -> Result<usize, Error> {
        let Corrected { xc, x, .. } = *vectors;
        if halo.is_needed() {
            // Only the neighbours need the corrected x: here the sweep corrects it itself.
            self.prolong(A, xc, x);
        }
        let begun = self.exchange_while(A, halo, x, || self.split_correct_first(A, vectors))?;
        Ok(self.split_correct(A, vectors, Portion::left(begun), sums))
    }

    /// [`Backend::pack`], and the device does what `meanwhile` queues while the elements travel.
    pub(super) fn pack_while(
        &self,
        A: &GpuMatrix,
        x: &GpuVector,
        bytes: &mut [u8],
        meanwhile: impl FnOnce(),
    ) -> Result<(), Error> {
        let Some(outgoing) = &A.outgoing else {
            meanwhile();
            return Ok(());
        };
        let n = outgoing.count;
        let buffers = [&outgoing.rows, &x.buffer, &outgoing.packed];
        self.each(Kernel::Pack, &buffers, n, 2 * n, 4 * n);
        let arithmetic = self.arithmetic();
        let piece = (&outgoing.packed.raw, 0, n as u64 * arithmetic.bytes());
        let packed = |packed: &[u8]| bytes.copy_from_slice(&arithmetic.to_wire(packed));
        let staging = &outgoing.staging;
        Ok(self
            .device
            .read_while(staging, &[piece], meanwhile, packed)?)
    }

    /// [`Backend::unpack`]
    pub(super) fn put_externals(&self, A: &GpuMatrix, bytes: &[u8], x: &GpuVector) {
        let offset = A.nrow as u64 * self.arithmetic().bytes();
        let externals = self.arithmetic().of_wire(bytes);
        self.device.write_at(&x.buffer, offset, &externals);
    }
}
