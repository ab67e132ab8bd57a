//! Symmetric Gauss–Seidel with A = L + D + U. HPCG: `ComputeSYMGS`.
//!
//! From x = 0 the forward sweep is D x = r − L x, and the backward sweep adds −D⁻¹ U x, since
//! r − L x = D x is known: one pass in all. The backward sweep leaves −U x in `work`. After the
//! coarse correction c the forward sweep is D x = r − L x − U (x + c) with U x known and U c from
//! the few injected columns; it leaves t = r − L x, and the backward sweep is D x = t − U x.

use pulp::Simd;

use super::{Color, Portion, Split, Sums, Visit, accumulate, load, store, sweep};
use crate::cpu::pool::{Pool, SharedSlice};
use crate::cpu::simd::LANES;
use crate::real::Real;

/// The colours of a backward sweep: without the last one if its rows are independent, since
/// nothing has changed after the forward sweep computed them.
pub(super) fn backward<T: Real>(A: &Split<T>) -> impl Iterator<Item = &Color<T>> {
    let spare = A.colors.last().is_some_and(|last| last.block == 1);
    A.colors[..A.colors.len() - usize::from(spare)].iter().rev()
}

/// One step from any x, with both sweeps as the textbook has them.
pub(in crate::cpu) fn symgs<T: Real>(pool: &Pool, A: &Split<T>, r: &[T], x: &mut [T]) {
    assert!(x.len() == A.ncol && r.len() >= A.nrow);
    let x = SharedSlice::new(x);
    let visit = Relax { r, x };
    pool.run(|member| {
        sweep(member, A.colors.iter(), false, Portion::All, &visit, None);
        sweep(member, backward(A), true, Portion::All, &visit, None);
    });
}

/// One step from x = 0. `work` takes −U x, if it is given.
pub(in crate::cpu) fn smooth_from_zero<T: Real>(
    pool: &Pool,
    A: &Split<T>,
    r: &[T],
    x: &mut [T],
    work: Option<&mut [T]>,
) {
    assert!(x.len() == A.ncol && r.len() >= A.nrow);
    x[A.nrow..].fill(T::ZERO);
    let x = SharedSlice::new(x);
    let work = work.map(|work| SharedSlice::new(work));
    let (forward, back) = (ForwardFromZero { r, x }, BackwardFromZero { x, work });
    pool.run(|member| {
        sweep(member, A.colors.iter(), false, Portion::All, &forward, None);
        sweep(member, backward(A), true, Portion::All, &back, None);
    });
}

/// The vectors of a step after [`smooth_from_zero`] and a coarse correction.
pub(in crate::cpu) struct Corrected<'a, T> {
    pub(in crate::cpu) xc: &'a [T],
    pub(in crate::cpu) r: &'a [T],
    pub(in crate::cpu) x: &'a mut [T],
    pub(in crate::cpu) work: &'a mut [T],
}

impl<'a, T: Real> Corrected<'a, T> {
    fn forward(&mut self, A: &Split<T>) -> ForwardCorrected<'a, T> {
        let Self { xc, r, x, work } = self;
        assert!(x.len() == A.ncol && r.len() >= A.nrow);
        assert!(xc.len() >= A.f2c.len() && work.len() >= A.nrow);
        let (x, work) = (SharedSlice::new(x), SharedSlice::new(work));
        ForwardCorrected {
            nrow: A.nrow,
            xc,
            r,
            x,
            work,
        }
    }
}

/// What the step can do before the halo has come: the first colour's rows that do not need it.
pub(in crate::cpu) fn correct_first<T: Real>(
    pool: &Pool,
    A: &Split<T>,
    mut vectors: Corrected<'_, T>,
    sums: Sums,
) {
    let visit = vectors.forward(A);
    pool.run(|member| {
        sweep(
            member,
            A.colors[..1].iter(),
            false,
            Portion::Interior,
            &visit,
            sums,
        );
    });
}

/// The step itself, whose first colour is left to this `portion`; `sums` takes r·x.
pub(in crate::cpu) fn correct_and_smooth<T: Real>(
    pool: &Pool,
    A: &Split<T>,
    mut vectors: Corrected<'_, T>,
    portion: Portion,
    sums: Sums,
) {
    let forward = vectors.forward(A);
    let ForwardCorrected { r, x, work, .. } = forward;
    let back = BackwardCorrected { r, x, work };
    let (first, others) = A.colors.split_at(1);
    pool.run(|member| {
        sweep(member, first.iter(), false, portion, &forward, sums);
        sweep(member, others.iter(), false, Portion::All, &forward, sums);
        sweep(member, backward(A), true, Portion::All, &back, sums);
    });
}

/// D x = r − L x − U x
struct Relax<'a, T> {
    r: &'a [T],
    x: SharedSlice<T>,
}

impl<T: Real> Visit<T> for Relax<'_, T> {
    #[inline(always)]
    unsafe fn slice<S: Simd>(&self, simd: S, color: &Color<T>, slice: usize, _: &mut [f64; LANES]) {
        let rows = color.rows_of(slice);
        // SAFETY: rows of a colour do not refer to each other.
        unsafe {
            let sums =
                color
                    .lower
                    .subtract(simd, slice, self.x.as_ptr(), load(&self.r[rows.clone()]));
            let sums = color.upper.subtract(simd, slice, self.x.as_ptr(), sums);
            store(
                &quotient(sums, color.diagonal_of(slice)),
                self.x.slice_mut(rows),
            );
        }
    }
    #[inline(always)]
    unsafe fn row<S: Simd>(&self, color: &Color<T>, k: usize, _: &mut f64) {
        let i = color.rows.start + k;
        // SAFETY: no other thread writes rows that this one refers to.
        unsafe {
            let sum = color.lower.subtract_row::<S>(k, self.x.as_ptr(), self.r[i]);
            let sum = color.upper.subtract_row::<S>(k, self.x.as_ptr(), sum);
            *self.x.as_ptr().add(i) = sum / color.diagonal[k];
        }
    }
}

/// D x = r − L x
struct ForwardFromZero<'a, T> {
    r: &'a [T],
    x: SharedSlice<T>,
}

impl<T: Real> Visit<T> for ForwardFromZero<'_, T> {
    #[inline(always)]
    unsafe fn slice<S: Simd>(&self, simd: S, color: &Color<T>, slice: usize, _: &mut [f64; LANES]) {
        let rows = color.rows_of(slice);
        // SAFETY: rows of a colour do not refer to each other.
        unsafe {
            let sums =
                color
                    .lower
                    .subtract(simd, slice, self.x.as_ptr(), load(&self.r[rows.clone()]));
            store(
                &quotient(sums, color.diagonal_of(slice)),
                self.x.slice_mut(rows),
            );
        }
    }
    #[inline(always)]
    unsafe fn row<S: Simd>(&self, color: &Color<T>, k: usize, _: &mut f64) {
        let i = color.rows.start + k;
        // SAFETY: no other thread writes rows that this one refers to.
        unsafe {
            let sum = color.lower.subtract_row::<S>(k, self.x.as_ptr(), self.r[i]);
            *self.x.as_ptr().add(i) = sum / color.diagonal[k];
        }
    }
}

/// x −= D⁻¹ U x, work = −U x
struct BackwardFromZero<T> {
    x: SharedSlice<T>,
    work: Option<SharedSlice<T>>,
}

impl<T: Real> Visit<T> for BackwardFromZero<T> {
    #[inline(always)]
    unsafe fn slice<S: Simd>(&self, simd: S, color: &Color<T>, slice: usize, _: &mut [f64; LANES]) {
        let rows = color.rows_of(slice);
        // SAFETY: rows of a colour do not refer to each other.
        unsafe {
            let rest = color
                .upper
                .subtract(simd, slice, self.x.as_ptr(), [T::ZERO; LANES]);
            let change = quotient(rest, color.diagonal_of(slice));
            for (x, change) in self.x.slice_mut(rows.clone()).iter_mut().zip(change) {
                *x = *x + change;
            }
            if let Some(work) = self.work {
                store(&rest, work.slice_mut(rows));
            }
        }
    }
    #[inline(always)]
    unsafe fn row<S: Simd>(&self, color: &Color<T>, k: usize, _: &mut f64) {
        let i = color.rows.start + k;
        // SAFETY: no other thread writes rows that this one refers to.
        unsafe {
            let rest = color.upper.subtract_row::<S>(k, self.x.as_ptr(), T::ZERO);
            let x = self.x.as_ptr().add(i);
            *x = *x + rest / color.diagonal[k];
            if let Some(work) = self.work {
                *work.as_ptr().add(i) = rest;
            }
        }
    }
}

/// t = r − L x, D x = t + work − U c, work = t
struct ForwardCorrected<'a, T> {
    nrow: usize,
    xc: &'a [T],
    r: &'a [T],
    x: SharedSlice<T>,
    work: SharedSlice<T>,
}

impl<T: Real> Visit<T> for ForwardCorrected<'_, T> {
    #[inline(always)]
    unsafe fn slice<S: Simd>(
        &self,
        simd: S,
        color: &Color<T>,
        slice: usize,
        sums: &mut [f64; LANES],
    ) {
        let rows = color.rows_of(slice);
        let r = load(&self.r[rows.clone()]);
        // SAFETY: rows of a colour do not refer to each other.
        unsafe {
            let t = color.lower.subtract(simd, slice, self.x.as_ptr(), r);
            if color.rows.end == self.nrow {
                // Nothing comes later, and the backward sweep leaves this colour out.
                let x = quotient(t, color.diagonal_of(slice));
                store(&x, self.x.slice_mut(rows));
                accumulate::<S, T>(&r, &x, sums);
                return;
            }
            let work = self.work.slice_mut(rows.clone());
            let mut d_x = load(work);
            store(&t, work);
            for l in 0..LANES {
                d_x[l] = d_x[l] + t[l];
            }
            let d_x = color.injected.subtract(simd, slice, self.xc.as_ptr(), d_x);
            store(
                &quotient(d_x, color.diagonal_of(slice)),
                self.x.slice_mut(rows),
            );
        }
    }
    #[inline(always)]
    unsafe fn row<S: Simd>(&self, color: &Color<T>, k: usize, _: &mut f64) {
        let i = color.rows.start + k;
        // SAFETY: no other thread writes rows that this one refers to.
        unsafe {
            let t = color.lower.subtract_row::<S>(k, self.x.as_ptr(), self.r[i]);
            let work = self.work.as_ptr().add(i);
            let d_x = color
                .injected
                .subtract_row::<S>(k, self.xc.as_ptr(), t + *work);
            *work = t;
            *self.x.as_ptr().add(i) = d_x / color.diagonal[k];
        }
    }
}

/// D x = work − U x
struct BackwardCorrected<'a, T> {
    r: &'a [T],
    x: SharedSlice<T>,
    work: SharedSlice<T>,
}

impl<T: Real> Visit<T> for BackwardCorrected<'_, T> {
    #[inline(always)]
    unsafe fn slice<S: Simd>(
        &self,
        simd: S,
        color: &Color<T>,
        slice: usize,
        sums: &mut [f64; LANES],
    ) {
        let rows = color.rows_of(slice);
        let r = load(&self.r[rows.clone()]);
        // SAFETY: rows of a colour do not refer to each other.
        unsafe {
            let t = load(self.work.slice_mut(rows.clone()));
            let d_x = color.upper.subtract(simd, slice, self.x.as_ptr(), t);
            let x = quotient(d_x, color.diagonal_of(slice));
            store(&x, self.x.slice_mut(rows));
            accumulate::<S, T>(&r, &x, sums);
        }
    }
    #[inline(always)]
    unsafe fn row<S: Simd>(&self, color: &Color<T>, k: usize, sum: &mut f64) {
        let i = color.rows.start + k;
        // SAFETY: no other thread writes rows that this one refers to.
        unsafe {
            let t = *self.work.as_ptr().add(i);
            let x = color.upper.subtract_row::<S>(k, self.x.as_ptr(), t) / color.diagonal[k];
            *self.x.as_ptr().add(i) = x;
            *sum += self.r[i].to_f64() * x.to_f64();
        }
    }
}

#[inline(always)]
fn quotient<T: Real>(mut numerator: [T; LANES], denominator: &[T; LANES]) -> [T; LANES] {
    for l in 0..LANES {
        numerator[l] = numerator[l] / denominator[l];
    }
    numerator
}
