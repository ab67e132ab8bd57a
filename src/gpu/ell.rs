//! Products and sweeps with a matrix in ELLPACK-28. HPCG: `ComputeSPMV`, `ComputeSYMGS`.

use super::backend::{Gpu, GpuVector};
use super::kernels::Kernel;
use super::matrix::{GpuMatrix, Part};
use super::memory::Buffer;

impl Gpu {
    /// y = A x
    pub(super) fn ell_spmv(&self, A: &GpuMatrix, x: &GpuVector, y: &GpuVector) {
        for part in &A.rows {
            self.ell(Kernel::Spmv, A, part, &[&x.buffer, &y.buffer], 2);
        }
    }

    /// The colours forward, then backward. The last one comes twice in a row: the sum of its rows
    /// holds −a_ii x_i + a_ii x_i, and the second time x_i is no longer far from the result.
    pub(super) fn ell_symgs(&self, A: &GpuMatrix, r: &GpuVector, x: &GpuVector) {
        let vectors = [&A.diagonal, &r.buffer, &x.buffer];
        for part in A.colors.iter().chain(A.colors.iter().rev()).flatten() {
            self.ell(Kernel::Symgs, A, part, &vectors, 4);
        }
    }

    /// Copies the diagonal into the panels.
    pub(super) fn ell_replace_diagonal(&self, A: &GpuMatrix) {
        for part in &A.rows {
            self.ell(Kernel::ReplaceDiagonal, A, part, &[&A.diagonal], 1);
        }
    }

    /// Queues a kernel over rows of a panel, which moves `reals` real numbers a row beside them.
    fn ell(&self, kernel: Kernel, A: &GpuMatrix, part: &Part, vectors: &[&Buffer], reals: u64) {
        let panel = &A.panels[part.panel];
        let buffers = [&[&panel.values, &panel.cols], vectors].concat();
        let bytes = part.entries(&[0]) * GpuMatrix::entry_bytes(self.arithmetic())
            + part.count as u64 * reals * self.arithmetic().bytes();
        self.dispatch(kernel, &buffers, &part.params(), part.count, bytes);
    }
}
