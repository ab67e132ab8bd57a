//! The fast CPU backend: threads, SIMD, ELLPACK in slices.
//!
//! Results do not depend on the number of threads.

mod dot;
mod ell;
mod pool;
mod prolongation;
mod restriction;
mod simd;
mod spmv;
mod symgs;
mod waxpby;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Instant;

use cubie_host::Ordered;

use crate::backend::{Backend, Convert};
use crate::error::Error;
use crate::meter::{Op, Stopwatch, Work};
use crate::real::Real;
pub use ell::Ell;
use pool::Pool;

pub use simd::name as simd_name;

/// The cores of this process, computing in `T`.
pub struct Cpu<T> {
    team: Rc<Team>,
    precision: PhantomData<T>,
}

/// What backends of different precisions share.
struct Team {
    pool: Pool,
    stopwatch: RefCell<Stopwatch>,
    allocated: RefCell<u64>,
}

impl<T: Real> Cpu<T> {
    /// A backend on `threads` threads.
    pub fn new(threads: usize) -> Self {
        let team = Team {
            pool: Pool::new(threads),
            stopwatch: RefCell::default(),
            allocated: RefCell::default(),
        };
        Self {
            team: Rc::new(team),
            precision: PhantomData,
        }
    }

    /// A backend in another precision on the same threads.
    pub fn sibling<U: Real>(&self) -> Cpu<U> {
        Cpu {
            team: Rc::clone(&self.team),
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
    fn allocate(&self, bytes: usize) {
        *self.team.allocated.borrow_mut() += bytes as u64;
    }
}

impl<T: Real> Backend for Cpu<T> {
    type Scalar = f64;
    type Vector = Vec<T>;
    type Matrix = Ell<T>;

    fn matrix(&mut self, level: &Ordered<'_>) -> Result<Ell<T>, Error> {
        let A = Ell::new(self.pool(), level);
        self.allocate(A.bytes());
        Ok(A)
    }
    fn replace_diagonal(&mut self, A: &mut Ell<T>, diagonal: &[f64]) {
        A.replace_diagonal(diagonal);
    }
    fn vector(&mut self, len: usize) -> Result<Vec<T>, Error> {
        self.allocate(len * size_of::<T>());
        Ok(vec![T::ZERO; len])
    }
    fn write(&mut self, x: &mut Vec<T>, values: &[f64]) {
        x.iter_mut()
            .zip(values)
            .for_each(|(x, &value)| *x = T::from_f64(value));
    }
    fn read(&mut self, x: &Vec<T>) -> Result<Vec<f64>, Error> {
        Ok(x.iter().map(|x| x.to_f64()).collect())
    }

    fn scalar(&mut self, value: f64) -> f64 {
        value
    }
    fn ratio(&mut self, numerator: f64, denominator: f64) -> f64 {
        numerator / denominator
    }
    fn read_scalars(&mut self, scalars: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(scalars.to_vec())
    }

    fn zero(&mut self, x: &mut Vec<T>) {
        self.moved(x.len(), 0);
        self.pool().split(x, |_, x| x.fill(T::ZERO));
    }
    fn copy(&mut self, x: &Vec<T>, y: &mut Vec<T>) {
        self.moved(2 * x.len(), 0);
        self.pool()
            .split(y, |start, y| y.copy_from_slice(&x[start..start + y.len()]));
    }
    fn spmv(&mut self, A: &Ell<T>, x: &Vec<T>, y: &mut Vec<T>) {
        self.moved(A.ncol + A.nrow, A.pass_bytes());
        spmv::spmv(self.pool(), A, x, y);
    }
    fn symgs(&mut self, A: &Ell<T>, r: &Vec<T>, x: &mut Vec<T>) {
        let vectors = (A.ncol + 3 * A.nrow) * size_of::<T>();
        let bytes = symgs::passes(A) * (A.pass_bytes() + vectors) as f64;
        self.team.stopwatch.borrow_mut().moved(bytes);
        symgs::symgs(self.pool(), A, r, x);
    }
    fn dot(&mut self, x: &Vec<T>, y: &Vec<T>) -> f64 {
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
    fn waxpby(&mut self, alpha: f64, x: &Vec<T>, beta: f64, w: &mut Vec<T>) {
        self.moved(3 * x.len(), 0);
        waxpby::waxpby(self.pool(), alpha, x, beta, w);
    }
    fn restriction(&mut self, A: &Ell<T>, r: &Vec<T>, Axf: &Vec<T>, rc: &mut Vec<T>) {
        self.moved(3 * A.f2c.len(), size_of_val(&A.f2c[..]));
        restriction::restriction(self.pool(), &A.f2c, r, Axf, rc);
    }
    fn prolongation(&mut self, A: &Ell<T>, xc: &Vec<T>, x: &mut Vec<T>) {
        self.moved(3 * A.f2c.len(), size_of_val(&A.f2c[..]));
        prolongation::prolongation(self.pool(), &A.f2c, xc, x);
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
    fn convert_to(&mut self, x: &Vec<T>, _: &mut Cpu<U>, y: &mut Vec<U>) {
        self.moved(x.len(), y.len() * size_of::<U>());
        convert(self.pool(), x, y);
    }
    fn convert_from(&mut self, _: &mut Cpu<U>, x: &Vec<U>, y: &mut Vec<T>) {
        self.moved(y.len(), x.len() * size_of::<U>());
        convert(self.pool(), x, y);
    }
}

/// y = x in another precision.
fn convert<T: Real, U: Real>(pool: &Pool, x: &[T], y: &mut [U]) {
    assert_eq!(x.len(), y.len());
    pool.split(y, |start, y| {
        y.iter_mut()
            .zip(&x[start..])
            .for_each(|(y, x)| *y = U::from_f64(x.to_f64()));
    });
}
