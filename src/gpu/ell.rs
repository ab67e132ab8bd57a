//! Products and sweeps with a matrix in ELLPACK-28. HPCG: `ComputeSPMV`, `ComputeSYMGS`.

use super::backend::{Gpu, GpuVector};
use super::kernels::Kernel;
use super::matrix::{GpuMatrix, Part, Portion};
use super::memory::Buffer;

impl Gpu {
    /// y = A x
    pub(super) fn ell_spmv(&self, A: &GpuMatrix, x: &GpuVector, y: &GpuVector) {
        for part in &A.rows {
            self.ell(Kernel::Spmv, A, part, &[&x.buffer, &y.buffer], 2);
        }
    }

    /// The colours forward, then backward without the last one: nothing has changed since the forward
    /// sweep computed it.
    pub(super) fn ell_symgs(&self, A: &GpuMatrix, r: &GpuVector, x: &GpuVector) {
        let vectors = [&A.diagonal, &r.buffer, &x.buffer];
        for part in A.colors.iter().chain(A.backward()).flatten() {
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
        let bytes = part.bytes(self.arithmetic(), Portion::All, &[0], reals);
        self.dispatch(kernel, &buffers, &part.params(), part.count, bytes);
    }
}
