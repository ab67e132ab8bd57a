//! Products and sweeps with A = L + D + U, as `shaders/split.wgsl` stores it, which read no entry
//! that they need not. HPCG: `ComputeSPMV`, `ComputeSYMGS` and the steps of `ComputeMG`.
//!
//! From x = 0 the forward sweep is D x = r − L x, and the backward sweep adds −D⁻¹ U x, since
//! r − L x = D x is known: one pass in all. It leaves −U x in `work`. After the coarse correction c
//! the forward sweep is D x = t − U (x + c) with t = r − L x, where U x is known and U c takes the
//! injected columns only; t is kept, and the backward sweep is D x = t − U x. No backward sweep
//! visits the last colour: nothing comes after its rows, so the forward sweep's x stands.

use super::backend::{Gpu, GpuVector, word};
use super::kernels::Kernel;
use super::matrix::{GpuMatrix, Injected, Part, Portion};
use super::memory::Buffer;

/// The parts of a row, as the shaders number them.
const LOWER: usize = 0;
const UPPER: usize = 1;
const INJECTED: usize = 2;

/// No partial sums.
const NONE: u32 = u32::MAX;

/// How much of y = A x is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    /// All of it.
    Whole,
    /// y = (D + U) x, which needs no halo.
    UpperAndDiagonal,
    /// y += L x, the rest.
    LowerAdded,
}

/// The vectors of a step after [`Gpu::split_from_zero`], which left `work`, and a correction `xc`.
pub(super) struct Corrected<'a> {
    pub(super) xc: &'a GpuVector,
    pub(super) r: &'a GpuVector,
    pub(super) x: &'a GpuVector,
    pub(super) work: &'a GpuVector,
}

/// Partial sums of b·x, from the one numbered `first` on.
struct Sum<'a> {
    b: &'a GpuVector,
    partial: &'a Buffer,
    first: usize,
}

/// What a kernel works on.
struct Work<'a> {
    kernel: Kernel,
    /// Which rows it visits and which of their parts it reads, for the bytes it moves.
    portion: Portion,
    parts: &'static [usize],
    /// What it binds after the matrix.
    vectors: &'a [&'a Buffer],
    /// Real numbers a row that it moves beside the entries.
    reals: u64,
}

impl Gpu {
    /// y = A x or a part of it, and partial sums of x·y; returns how many.
    pub(super) fn split_spmv(
        &self,
        A: &GpuMatrix,
        sums: &Buffer,
        x: &GpuVector,
        y: &GpuVector,
        product: Product,
    ) -> usize {
        let parts: &[usize] = match product {
            Product::Whole => &[LOWER, UPPER],
            Product::UpperAndDiagonal => &[UPPER],
            Product::LowerAdded => &[LOWER],
        };
        let work = Work {
            kernel: Kernel::SplitSpmv,
            portion: Portion::All,
            parts,
            vectors: &[&x.buffer, &y.buffer, sums],
            reals: 3,
        };
        let mut first = 0;
        for part in &A.rows {
            let groups = A.sum_groups(part, self.workgroup());
            let threads = groups * self.workgroup();
            let params = [word(first), product as u32];
            self.split(&work, A, part, &params, threads);
            first += groups;
        }
        first
    }

    /// A symmetric step from any x.
    pub(super) fn split_symgs(&self, A: &GpuMatrix, r: &GpuVector, x: &GpuVector) {
        for part in A.colors.iter().chain(A.backward()).flatten() {
            self.relax(A, part, &[LOWER, UPPER], r, x, None);
        }
    }

    /// A symmetric step from x = 0; `kept` takes −U x.
    pub(super) fn split_from_zero(
        &self,
        A: &GpuMatrix,
        r: &GpuVector,
        x: &GpuVector,
        kept: Option<&GpuVector>,
    ) {
        assert!(x.len == A.ncol && r.len >= A.nrow);
        self.zero_from(x, A.nrow);
        // Something must be bound where nothing is kept.
        let work = kept.map_or(&self.partials, |work| &work.buffer);
        if let Some(starts) = &A.small {
            let work = Work {
                kernel: Kernel::SplitSmallSmooth,
                portion: Portion::All,
                parts: &[LOWER, UPPER],
                vectors: &[&r.buffer, &x.buffer, work],
                reals: 7 + u64::from(kept.is_some()),
            };
            return self.small(&work, A, starts, kept.is_some());
        }
        for part in A.colors.iter().flatten() {
            self.relax(A, part, &[LOWER], r, x, None);
        }
        let work = Work {
            kernel: Kernel::SplitBackward,
            portion: Portion::All,
            parts: &[UPPER],
            vectors: &[&x.buffer, work],
            reals: 3 + u64::from(kept.is_some()),
        };
        for part in A.backward().flatten() {
            self.split(&work, A, part, &[kept.is_some().into()], part.count);
        }
    }

    /// rc = r − A x at the injected rows of the portion.
    pub(super) fn split_residual(
        &self,
        A: &GpuMatrix,
        injected: &Injected,
        r: &GpuVector,
        x: &GpuVector,
        rc: &GpuVector,
        portion: Portion,
    ) {
        assert!(x.len == A.ncol && r.len >= A.nrow && rc.len >= A.coarse_rows);
        let work = Work {
            kernel: Kernel::SplitResidual,
            portion,
            parts: &[LOWER, UPPER],
            vectors: &[&injected.coarse, &r.buffer, &x.buffer, &rc.buffer],
            reals: 4,
        };
        for part in &injected.rows {
            let params = [word(injected.start), portion as u32];
            self.split(&work, A, part, &params, part.count);
        }
    }

    /// What [`Self::split_correct`] can do before the halo has come: the first colour's rows that do
    /// not need it, unless one workgroup does the whole level.
    pub(super) fn split_correct_first(&self, A: &GpuMatrix, vectors: &Corrected<'_>) {
        if A.small.is_none() && A.colors.len() > 1 {
            self.correct(A, &A.colors[0], vectors, Portion::Interior);
        }
    }

    /// A symmetric step, whose first colour is left to this `portion`. `sums` takes partial sums of
    /// r·x, unless one workgroup does the whole level; returns how many.
    pub(super) fn split_correct(
        &self,
        A: &GpuMatrix,
        vectors: &Corrected<'_>,
        portion: Portion,
        sums: Option<&Buffer>,
    ) -> usize {
        let Corrected { xc, r, x, work } = vectors;
        assert!(x.len == A.ncol && r.len >= A.nrow);
        assert!(xc.len >= A.coarse_rows && work.len >= A.nrow);
        if let Some(starts) = &A.small {
            let work = Work {
                kernel: Kernel::SplitSmallCorrect,
                portion: Portion::All,
                parts: &[LOWER, UPPER, INJECTED],
                vectors: &[&xc.buffer, &r.buffer, &x.buffer, &work.buffer],
                reals: 10,
            };
            self.small(&work, A, starts, true);
            return 0;
        }
        let (last, before) = A.colors.split_last().expect("a level has rows");
        for (c, color) in before.iter().enumerate() {
            let portion = if c == 0 { portion } else { Portion::All };
            self.correct(A, color, vectors, portion);
        }
        let mut first = 0;
        let sum = |first| {
            sums.map(|partial| Sum {
                b: r,
                partial,
                first,
            })
        };
        for part in last {
            first += self.relax(A, part, &[LOWER], r, x, sum(first));
        }
        for part in A.backward().flatten() {
            first += self.relax(A, part, &[UPPER], work, x, sum(first));
        }
        first
    }

    /// The forward sweep of that step over the portion of a colour's rows.
    fn correct(&self, A: &GpuMatrix, color: &[Part], vectors: &Corrected<'_>, portion: Portion) {
        let Corrected { xc, r, x, work } = vectors;
        let work = Work {
            kernel: Kernel::SplitCorrect,
            portion,
            parts: &[LOWER, INJECTED],
            vectors: &[&xc.buffer, &r.buffer, &x.buffer, &work.buffer],
            reals: 6,
        };
        for part in color {
            self.split(&work, A, part, &[portion as u32], part.count);
        }
    }

    /// D x = r − (the product of x with one or two parts that follow each other) for rows of a
    /// colour, and partial sums if they are wanted; returns how many.
    fn relax(
        &self,
        A: &GpuMatrix,
        part: &Part,
        parts: &'static [usize],
        r: &GpuVector,
        x: &GpuVector,
        sum: Option<Sum<'_>>,
    ) -> usize {
        let [begin, end] = [parts[0], parts[0] + parts.len()].map(word);
        // Something must be bound where nothing is summed.
        let (b, partial, first, groups) = match sum {
            None => (r, &self.partials, NONE, 0),
            Some(Sum { b, partial, first }) => {
                let groups = A.sum_groups(part, self.workgroup());
                (b, partial, word(first), groups)
            }
        };
        let threads = match groups {
            0 => part.count,
            groups => groups * self.workgroup(),
        };
        let work = Work {
            kernel: Kernel::SplitRelax,
            portion: Portion::All,
            parts,
            vectors: &[&r.buffer, &x.buffer, &b.buffer, partial],
            reals: 4 + u64::from(b.buffer.id != r.buffer.id),
        };
        self.split(&work, A, part, &[begin, end, first], threads);
        groups
    }

    /// Queues a kernel that smooths a small level in one workgroup.
    fn small(&self, work: &Work<'_>, A: &GpuMatrix, starts: &[u32], keep: bool) {
        let colors = word(starts.len() - 1);
        let params = [&[colors, keep.into(), 0, 0], starts].concat();
        self.queue(work, A, &A.rows[0], &params, 1);
    }

    /// Queues a kernel over rows of a panel.
    fn split(&self, work: &Work<'_>, A: &GpuMatrix, part: &Part, params: &[u32], threads: usize) {
        let params = [&part.params(), params].concat();
        self.queue(work, A, part, &params, threads);
    }

    /// Queues a kernel with these parameters.
    fn queue(&self, work: &Work<'_>, A: &GpuMatrix, part: &Part, params: &[u32], threads: usize) {
        let panel = &A.panels[part.panel];
        let marks = panel.marks.as_ref().expect("a panel in the split format");
        let matrix = [&panel.values, &panel.cols, marks, &A.diagonal];
        let bytes = part.bytes(self.arithmetic(), work.portion, work.parts, work.reals);
        let buffers = [&matrix, work.vectors].concat();
        self.dispatch(work.kernel, &buffers, params, threads, bytes);
    }
}
