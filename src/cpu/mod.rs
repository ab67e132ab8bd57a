//! The fast CPU backend: threads, SIMD, and the matrix in slices of eight rows.
//!
//! Results do not depend on the number of threads.

mod bandwidth;
mod dot;
mod ell;
mod pages;
mod prefetch;
mod prolongation;
mod restriction;
mod simd;
mod split;
mod update;
mod waxpby;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Instant;

use cubie_host::{HaloExchange, Ordered};

use crate::backend::{Backend, Convert};
use crate::error::Error;
use crate::meter::{Op, Stopwatch, Work};
use crate::params::Format;
use crate::pool::Pool;
use crate::real::Real;
use crate::reference;
use crate::textbook;
use ell::Ell;
use split::{Corrected, Portion, Split, Sums};

pub use bandwidth::read_bandwidth;
pub use pages::{PageSize, Pages};
pub(crate) use prefetch::{Ahead, prefetch};
pub(crate) use simd::in_a_row;
pub use simd::name as simd_name;

/// The cores of this process, computing in `T`.
pub struct Cpu<T> {
    team: Rc<Team>,
    format: Format,
    precision: PhantomData<T>,
}

/// What backends of different precisions share.
struct Team {
    pool: Pool,
    stopwatch: RefCell<Stopwatch>,
    allocated: RefCell<u64>,
}

impl<T: Real> Cpu<T> {
    /// A backend on `threads` threads that stores matrices in `format`.
    pub fn new(threads: usize, format: Format) -> Self {
        let team = Team {
            pool: Pool::new(threads),
            stopwatch: RefCell::default(),
            allocated: RefCell::default(),
        };
        Self {
            team: Rc::new(team),
            format,
            precision: PhantomData,
        }
    }

    /// A backend in another precision on the same threads.
    pub fn sibling<U: Real>(&self) -> Cpu<U> {
        Cpu {
            team: Rc::clone(&self.team),
            format: self.format,
            precision: PhantomData,
        }
    }

    fn pool(&self) -> &Pool {
        &self.team.pool
    }
    /// Counts `n` reals and some other bytes as moved.
    fn moved(&self, reals: usize, others: usize) {
        self.team
            .stopwatch
            .borrow_mut()
            .moved((reals * size_of::<T>() + others) as f64);
    }
    /// Counts the smoothing step after a coarse correction, with `more` reals read.
    fn moved_by_correction(&self, A: &Split<T>, more: usize) {
        // Forward: x, xc, r, x again, work twice; backward: x, work, x again.
        let reals = 2 * A.ncol + A.f2c.len() + 6 * A.nrow + more;
        self.moved(
            reals,
            A.forward_bytes() + A.injected_bytes() + A.backward_bytes(),
        );
    }
    /// The smoothing step after a coarse correction. It finds the correction by itself, but the
    /// neighbours need it in x.
    fn correct(
        &mut self,
        A: &CpuMatrix<T>,
        split: &Split<T>,
        halo: &mut HaloExchange,
        vectors: Corrected<'_, T>,
        sums: Sums,
    ) -> Result<(), Error> {
        let Corrected { xc, r, x, work } = vectors;
        let mut portion = Portion::All;
        if halo.is_needed() {
            prolongation::prolongation(self.pool(), &split.f2c, xc, x);
            halo.start(|bytes| -> Result<(), Error> {
                reference::pack(&A.send_rows, x, bytes);
                Ok(())
            })?;
            if halo.overlaps() {
                split::correct_first(self.pool(), split, Corrected { xc, r, x, work }, sums);
                portion = Portion::Boundary;
            }
            halo.finish(|bytes| reference::unpack(bytes, &mut x[split.nrow..]));
        }
        let vectors = Corrected { xc, r, x, work };
        split::correct_and_smooth(self.pool(), split, vectors, portion, sums);
        Ok(())
    }
    fn allocate(&self, bytes: usize) {
        *self.team.allocated.borrow_mut() += bytes as u64;
    }
}

/// A level's matrix in one of the formats.
pub struct CpuMatrix<T> {
    stored: Stored<T>,
    /// The rows that other ranks need.
    send_rows: Vec<u32>,
}

enum Stored<T> {
    Ell(Ell<T>),
    Split(Split<T>),
}

impl<T: Real> CpuMatrix<T> {
    fn f2c(&self) -> &[u32] {
        match &self.stored {
            Stored::Ell(A) => &A.f2c,
            Stored::Split(A) => &A.f2c,
        }
    }
}

impl<T: Real> Backend for Cpu<T> {
    type Scalar = f64;
    type Vector = Pages<T>;
    type Matrix = CpuMatrix<T>;

    fn epsilon(&self) -> f64 {
        T::EPSILON
    }
    fn element(&self) -> usize {
        size_of::<T>()
    }
    fn pack(&mut self, A: &CpuMatrix<T>, x: &Pages<T>, bytes: &mut [u8]) -> Result<(), Error> {
        reference::pack(&A.send_rows, x, bytes);
        Ok(())
    }
    fn unpack(&mut self, A: &CpuMatrix<T>, bytes: &[u8], x: &mut Pages<T>) {
        let nrow = match &A.stored {
            Stored::Ell(A) => A.nrow,
            Stored::Split(A) => A.nrow,
        };
        reference::unpack(bytes, &mut x[nrow..]);
    }

    fn matrix(&mut self, level: &Ordered<'_>) -> Result<CpuMatrix<T>, Error> {
        let (stored, bytes) = match self.format {
            Format::Ell28 => {
                let A = Ell::new(self.pool(), level);
                let bytes = A.bytes();
                (Stored::Ell(A), bytes)
            }
            Format::Split => {
                let A = Split::new(self.pool(), level);
                let bytes = A.bytes();
                (Stored::Split(A), bytes)
            }
        };
        self.allocate(bytes);
        Ok(CpuMatrix {
            stored,
            send_rows: level.halo().send_rows,
        })
    }
    fn replace_diagonal(&mut self, A: &mut CpuMatrix<T>, diagonal: &[f64]) {
        match &mut A.stored {
            Stored::Ell(A) => A.replace_diagonal(diagonal),
            Stored::Split(A) => A.replace_diagonal(diagonal),
        }
    }
    fn vector(&mut self, len: usize) -> Result<Pages<T>, Error> {
        self.allocate(len * size_of::<T>());
        let mut x = Pages::zeros(len);
        // Whoever works on a part has touched it first.
        self.pool().split(&mut x, |_, x| x.fill(T::ZERO));
        Ok(x)
    }
    fn write(&mut self, x: &mut Pages<T>, values: &[f64]) {
        x.iter_mut()
            .zip(values)
            .for_each(|(x, &value)| *x = T::from_f64(value));
    }
    fn read(&mut self, x: &Pages<T>) -> Result<Vec<f64>, Error> {
        Ok(x.iter().map(|x| x.to_f64()).collect())
    }

    fn scalar(&mut self, value: f64) -> f64 {
        value
    }
    fn ratio(&mut self, numerator: f64, denominator: f64) -> f64 {
        if denominator == 0.0 {
            0.0
        } else {
            numerator / denominator
        }
    }
    fn read_scalars(&mut self, scalars: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(scalars.to_vec())
    }

    fn zero(&mut self, x: &mut Pages<T>) {
        self.moved(x.len(), 0);
        self.pool().split(x, |_, x| x.fill(T::ZERO));
    }
    fn copy(&mut self, x: &Pages<T>, y: &mut Pages<T>) {
        let len = x.len().min(y.len());
        self.moved(2 * len, 0);
        self.pool().split(&mut y[..len], |start, y| {
            y.copy_from_slice(&x[start..start + y.len()])
        });
    }
    fn spmv(&mut self, A: &CpuMatrix<T>, x: &Pages<T>, y: &mut Pages<T>) {
        match &A.stored {
            Stored::Ell(A) => {
                self.moved(A.ncol + A.nrow, A.pass_bytes());
                ell::spmv(self.pool(), A, x, y);
            }
            Stored::Split(A) => {
                self.moved(A.ncol + A.nrow, A.pass_bytes());
                split::spmv(self.pool(), A, x, y, Portion::All, None);
            }
        }
    }
    fn symgs(&mut self, A: &CpuMatrix<T>, r: &Pages<T>, x: &mut Pages<T>) {
        match &A.stored {
            Stored::Ell(A) => {
                let vectors = (A.ncol + 3 * A.nrow) * size_of::<T>();
                let bytes = ell::passes(A) * (A.pass_bytes() + vectors) as f64;
                self.team.stopwatch.borrow_mut().moved(bytes);
                ell::symgs(self.pool(), A, r, x);
            }
            Stored::Split(A) => {
                self.moved(2 * (A.ncol + 2 * A.nrow), 2 * A.pass_bytes());
                split::symgs(self.pool(), A, r, x);
            }
        }
    }
    fn dot(&mut self, x: &Pages<T>, y: &Pages<T>) -> f64 {
        self.moved(
            if std::ptr::eq(x, y) {
                x.len()
            } else {
                2 * x.len()
            },
            0,
        );
        dot::dot(self.pool(), x, y)
    }
    fn waxpby(&mut self, alpha: f64, x: &Pages<T>, beta: f64, w: &mut Pages<T>) {
        self.moved(3 * x.len(), 0);
        waxpby::waxpby(self.pool(), alpha, x, beta, w);
    }
    fn restriction(&mut self, A: &CpuMatrix<T>, r: &Pages<T>, Axf: &Pages<T>, rc: &mut Pages<T>) {
        self.moved(3 * A.f2c().len(), size_of_val(A.f2c()));
        restriction::restriction(self.pool(), A.f2c(), r, Axf, rc);
    }
    fn prolongation(&mut self, A: &CpuMatrix<T>, xc: &Pages<T>, x: &mut Pages<T>) {
        self.moved(3 * A.f2c().len(), size_of_val(A.f2c()));
        prolongation::prolongation(self.pool(), A.f2c(), xc, x);
    }

    fn spmv_dot(
        &mut self,
        A: &CpuMatrix<T>,
        halo: &mut HaloExchange,
        x: &mut Pages<T>,
        y: &mut Pages<T>,
    ) -> Result<f64, Error> {
        let Stored::Split(split) = &A.stored else {
            return textbook::spmv_dot(self, A, halo, x, y);
        };
        self.moved(split.ncol + split.nrow, split.pass_bytes());
        let mut sums = split.sums();
        if halo.overlaps() {
            halo.start(|bytes| self.pack(A, x, bytes))?;
            split::spmv(self.pool(), split, x, y, Portion::Interior, sums.shared());
            halo.finish(|bytes| self.unpack(A, bytes, x));
            split::spmv(self.pool(), split, x, y, Portion::Boundary, sums.shared());
        } else {
            textbook::exchange_halo(self, A, halo, x)?;
            split::spmv(self.pool(), split, x, y, Portion::All, sums.shared());
        }
        Ok(sums.total())
    }
    fn update_and_norm(
        &mut self,
        alpha: f64,
        p: &Pages<T>,
        Ap: &Pages<T>,
        x: &mut Pages<T>,
        r: &mut Pages<T>,
    ) -> f64 {
        self.moved(6 * r.len(), 0);
        update::update_and_norm(self.pool(), alpha, p, Ap, x, r)
    }
    fn smooth_from_zero(
        &mut self,
        A: &CpuMatrix<T>,
        r: &Pages<T>,
        x: &mut Pages<T>,
        work: Option<&mut Pages<T>>,
    ) {
        let Stored::Split(A) = &A.stored else {
            return textbook::smooth_from_zero(self, A, r, x);
        };
        let kept = if work.is_some() { A.nrow } else { 0 };
        self.moved(
            2 * A.ncol + 3 * A.nrow + kept,
            A.forward_bytes() + A.backward_bytes(),
        );
        split::smooth_from_zero(self.pool(), A, r, x, work.map(|work| &mut work[..]));
    }
    fn restrict_residual(
        &mut self,
        A: &CpuMatrix<T>,
        halo: &mut HaloExchange,
        r: &Pages<T>,
        x: &mut Pages<T>,
        work: &mut Pages<T>,
        rc: &mut Pages<T>,
    ) -> Result<(), Error> {
        let Stored::Split(split) = &A.stored else {
            return textbook::restrict_residual(self, A, halo, r, x, work, rc);
        };
        self.moved(split.ncol + 2 * split.f2c.len(), split.residual_bytes());
        if halo.overlaps() {
            halo.start(|bytes| self.pack(A, x, bytes))?;
            split::restrict_residual(self.pool(), split, r, x, rc, Portion::Interior);
            halo.finish(|bytes| self.unpack(A, bytes, x));
            split::restrict_residual(self.pool(), split, r, x, rc, Portion::Boundary);
        } else {
            textbook::exchange_halo(self, A, halo, x)?;
            split::restrict_residual(self.pool(), split, r, x, rc, Portion::All);
        }
        Ok(())
    }
    fn correct_and_smooth(
        &mut self,
        A: &CpuMatrix<T>,
        halo: &mut HaloExchange,
        xc: &Pages<T>,
        r: &Pages<T>,
        x: &mut Pages<T>,
        work: &mut Pages<T>,
    ) -> Result<(), Error> {
        let Stored::Split(split) = &A.stored else {
            return textbook::correct_and_smooth(self, A, halo, xc, r, x);
        };
        self.moved_by_correction(split, 0);
        self.correct(A, split, halo, Corrected { xc, r, x, work }, None)
    }
    fn correct_and_smooth_dot(
        &mut self,
        A: &CpuMatrix<T>,
        halo: &mut HaloExchange,
        xc: &Pages<T>,
        r: &Pages<T>,
        x: &mut Pages<T>,
        work: &mut Pages<T>,
    ) -> Result<f64, Error> {
        let Stored::Split(split) = &A.stored else {
            textbook::correct_and_smooth(self, A, halo, xc, r, x)?;
            self.enter(Op::Dot);
            return Ok(self.dot(r, x));
        };
        self.moved_by_correction(split, split.nrow);
        let mut sums = split.sums();
        let shared = sums.shared();
        self.correct(A, split, halo, Corrected { xc, r, x, work }, shared)?;
        Ok(sums.total())
    }

    fn enter(&mut self, op: Op) {
        self.team.stopwatch.borrow_mut().enter(op, Instant::now());
    }
    fn finish(&mut self) -> Result<Work, Error> {
        Ok(self.team.stopwatch.borrow_mut().finish(Instant::now()))
    }
    fn allocated(&self) -> u64 {
        *self.team.allocated.borrow()
    }
}

impl<T: Real, U: Real> Convert<Cpu<U>> for Cpu<T> {
    fn convert_to(&mut self, x: &Pages<T>, _: &mut Cpu<U>, y: &mut Pages<U>) {
        self.moved(x.len(), y.len() * size_of::<U>());
        convert(self.pool(), x, y);
    }
    fn convert_from(&mut self, _: &mut Cpu<U>, x: &Pages<U>, y: &mut Pages<T>) {
        self.moved(y.len(), x.len() * size_of::<U>());
        convert(self.pool(), x, y);
    }
}

/// y = x in another precision.
fn convert<T: Real, U: Real>(pool: &Pool, x: &[T], y: &mut [U]) {
    let len = x.len().min(y.len());
    pool.split(&mut y[..len], |start, y| {
        y.iter_mut()
            .zip(&x[start..])
            .for_each(|(y, x)| *y = U::from_f64(x.to_f64()));
    });
}
