//! Symmetric Gauss–Seidel with A = L + D + U. HPCG: `ComputeSYMGS`.
//!
//! From x = 0 the forward sweep is D x = r − L x, and the backward sweep adds −D⁻¹ U x, since
//! r − L x = D x is known: one pass in all. The backward sweep leaves −U x in `work`. After the
//! coarse correction c the forward sweep is D x = r − L x − U (x + c) with U x known and U c from
//! the few injected columns; it leaves t = r − L x, and the backward sweep is D x = t − U x.

use pulp::Simd;

use super::sweep::{Course, sweep};
use super::visit::{Visit, accumulate};
use super::{Color, Portion, Split, Sums, load, store};
use crate::cpu::simd::LANES;
use crate::pool::{Pool, SharedSlice};
use crate::real::Real;

/// The colours of a backward sweep: without the last one if its rows are independent, since
/// nothing has changed after the forward sweep computed them.
pub(super) fn backward<T: Real>(A: &Split<T>) -> impl Iterator<Item = &Color<T>> + Clone {
    let spare = A.colors.last().is_some_and(|last| !last.slices.ordered());
    A.colors[..A.colors.len() - usize::from(spare)].iter().rev()
}

/// One step from any x, with both sweeps as the textbook has them.
pub(in crate::cpu) fn symgs<T: Real>(pool: &Pool, A: &Split<T>, r: &[T], x: &mut [T]) {
    assert!(x.len() == A.ncol && r.len() >= A.nrow);
    let x = SharedSlice::new(x);
    let (forward, back) = (Relax::<_, false> { r, x }, Relax::<_, true> { r, x });
    let (ahead, behind) = (Course::new(A), Course::new(A));
    let all = Portion::All;
    pool.run(|member| {
        sweep(member, A.colors.iter(), all, &forward, &ahead, None);
        sweep(member, backward(A), all, &back, &behind, None);
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
    let (ahead, behind) = (Course::new(A), Course::new(A));
    let all = Portion::All;
    pool.run(|member| {
        sweep(member, A.colors.iter(), all, &forward, &ahead, None);
        sweep(member, backward(A), all, &back, &behind, None);
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
    let (visit, first, course) = (vectors.forward(A), &A.colors[..1], Course::new(A));
    pool.run(|member| {
        sweep(
            member,
            first.iter(),
            Portion::Interior,
            &visit,
            &course,
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
    let (first, others) = A.colors.split_at(usize::from(portion != Portion::All));
    let (ahead, behind) = (Course::new(A), Course::new(A));
    let all = Portion::All;
    pool.run(|member| {
        sweep(member, first.iter(), portion, &forward, &ahead, sums);
        sweep(member, others.iter(), all, &forward, &ahead, sums);
        sweep(member, backward(A), all, &back, &behind, sums);
    });
}

/// D x = r − L x − U x
struct Relax<'a, T, const BACKWARD: bool> {
    r: &'a [T],
    x: SharedSlice<T>,
}

impl<T: Real, const BACKWARD: bool> Visit<T> for Relax<'_, T, BACKWARD> {
    const BACKWARD: bool = BACKWARD;

    #[inline(always)]
    unsafe fn slice<S: Simd>(&self, simd: S, color: &Color<T>, slice: usize, _: &mut [f64; LANES]) {
        let rows = color.rows_of(slice);
        let (mut known, mut new) = (&color.upper, &color.lower);
        if BACKWARD {
            (known, new) = (new, known);
        }
        let (r, diagonal) = (load(&self.r[rows.clone()]), color.diagonal_of(slice));
        // SAFETY: by the promise of `Visit::slice`.
        unsafe {
            let sums = known.subtract(simd, slice, &rows, self.x.as_ptr(), r);
            new.solve(simd, &color.slices, slice, self.x, sums, |l, sum| {
                sum / diagonal[l]
            });
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
        let (r, diagonal) = (load(&self.r[rows.clone()]), color.diagonal_of(slice));
        // SAFETY: by the promise of `Visit::slice`.
        unsafe {
            color
                .lower
                .solve(simd, &color.slices, slice, self.x, r, |l, sum| {
                    sum / diagonal[l]
                });
        }
    }
}

/// x −= D⁻¹ U x, work = −U x
struct BackwardFromZero<T> {
    x: SharedSlice<T>,
    work: Option<SharedSlice<T>>,
}

impl<T: Real> Visit<T> for BackwardFromZero<T> {
    const BACKWARD: bool = true;

    #[inline(always)]
    unsafe fn slice<S: Simd>(&self, simd: S, color: &Color<T>, slice: usize, _: &mut [f64; LANES]) {
        let rows = color.rows_of(slice);
        let diagonal = color.diagonal_of(slice);
        let zero = [T::ZERO; LANES];
        let mut rest = zero;
        // SAFETY: by the promise of `Visit::slice`.
        unsafe {
            let x = load(self.x.slice_mut(rows.clone()));
            let value = |l, sum| {
                rest[l] = sum;
                x[l] + sum / diagonal[l]
            };
            let upper = &color.upper;
            upper.solve(simd, &color.slices, slice, self.x, zero, value);
            if let Some(work) = self.work {
                store(&rest, work.slice_mut(rows));
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
        let (r, diagonal) = (load(&self.r[rows.clone()]), color.diagonal_of(slice));
        let lower = &color.lower;
        // SAFETY: by the promise of `Visit::slice`.
        unsafe {
            if color.slices.rows.end == self.nrow && !color.slices.ordered() {
                // Nothing comes later, and the backward sweep leaves this colour out.
                let x = lower.solve(simd, &color.slices, slice, self.x, r, |l, t| {
                    t / diagonal[l]
                });
                accumulate::<S, T>(&r, &x, sums);
                return;
            }
            let work = self.work.slice_mut(rows.clone());
            let minus_U_c =
                color
                    .injected
                    .subtract(simd, slice, self.xc.as_ptr(), load(work), false);
            let mut t = [T::ZERO; LANES];
            let value = |l, sum| {
                t[l] = sum;
                (sum + minus_U_c[l]) / diagonal[l]
            };
            lower.solve(simd, &color.slices, slice, self.x, r, value);
            store(&t, work);
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
    const BACKWARD: bool = true;

    #[inline(always)]
    unsafe fn slice<S: Simd>(
        &self,
        simd: S,
        color: &Color<T>,
        slice: usize,
        sums: &mut [f64; LANES],
    ) {
        let rows = color.rows_of(slice);
        let (r, diagonal) = (load(&self.r[rows.clone()]), color.diagonal_of(slice));
        // SAFETY: by the promise of `Visit::slice`.
        unsafe {
            let t = load(self.work.slice_mut(rows.clone()));
            let x = color
                .upper
                .solve(simd, &color.slices, slice, self.x, t, |l, sum| {
                    sum / diagonal[l]
                });
            accumulate::<S, T>(&r, &x, sums);
        }
    }
}
