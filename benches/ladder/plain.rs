//! A backend for the first steps of the ladder: HPCG's kernels as plain loops over rows on a team of
//! threads. The steps of CG and of the V-cycle are the textbook compositions.

use std::marker::PhantomData;

use cubie::pool::{Pool, SharedSlice};
use cubie::{Backend, Error, Op, Work, reference};
use cubie_host::{Color, Ordered};

use crate::rows::Rows;

/// Threads that compute with rows stored as `R`.
pub(crate) struct Plain<R> {
    pool: Pool,
    rows: PhantomData<R>,
}

/// A level's rows, and which of them may be smoothed at the same time.
pub(crate) struct Colored<R> {
    rows: R,
    nrow: usize,
    colors: Vec<Color>,
    f2c: Vec<u32>,
    send_rows: Vec<u32>,
}

impl<R: Rows> Plain<R> {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            pool: Pool::new(threads),
            rows: PhantomData,
        }
    }
}

impl<R: Rows> Colored<R> {
    /// x_i = (r_i − Σ_{j≠i} a_ij x_j) / a_ii
    ///
    /// # Safety
    /// `x` has an element for each column, and nobody writes those that row `i` refers to.
    #[inline(always)]
    unsafe fn smooth(&self, r: &[f64], x: *mut f64, i: usize) {
        let (cols, values) = self.rows.row(i);
        let diagonal = self.rows.diagonal(i);
        let mut sum = r[i];
        for (&j, &a) in cols.iter().zip(values) {
            // SAFETY: by the caller's promise.
            sum -= a * unsafe { *x.add(j as usize) };
        }
        // SAFETY: by the caller's promise.
        unsafe { *x.add(i) = (sum + diagonal * *x.add(i)) / diagonal };
    }
}

impl<R: Rows> Backend for Plain<R> {
    type Scalar = f64;
    type Vector = Vec<f64>;
    type Matrix = Colored<R>;

    fn epsilon(&self) -> f64 {
        f64::EPSILON
    }
    fn element(&self) -> usize {
        size_of::<f64>()
    }
    fn pack(&mut self, A: &Colored<R>, x: &Vec<f64>, bytes: &mut [u8]) -> Result<(), Error> {
        reference::pack(&A.send_rows, x, bytes);
        Ok(())
    }
    fn unpack(&mut self, A: &Colored<R>, bytes: &[u8], x: &mut Vec<f64>) {
        reference::unpack(bytes, &mut x[A.nrow..]);
    }

    fn matrix(&mut self, level: &Ordered<'_>) -> Result<Colored<R>, Error> {
        Ok(Colored {
            rows: R::new(level),
            nrow: level.level.A.nrow,
            colors: level.order.colors.clone(),
            f2c: level.f2c(),
            send_rows: level.halo().send_rows,
        })
    }
    fn replace_diagonal(&mut self, _: &mut Colored<R>, _: &[f64]) {
        unreachable!("only HPCG's spectral test does, which is not run here")
    }
    fn vector(&mut self, len: usize) -> Result<Vec<f64>, Error> {
        Ok(vec![0.0; len])
    }
    fn write(&mut self, x: &mut Vec<f64>, values: &[f64]) {
        x[..values.len()].copy_from_slice(values);
    }
    fn read(&mut self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(x.clone())
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

    fn zero(&mut self, x: &mut Vec<f64>) {
        self.pool.split(x, |_, x| x.fill(0.0));
    }
    fn copy(&mut self, x: &Vec<f64>, y: &mut Vec<f64>) {
        let len = x.len().min(y.len());
        self.pool.split(&mut y[..len], |start, y| {
            reference::copy(&x[start..], y);
        });
    }
    fn spmv(&mut self, A: &Colored<R>, x: &Vec<f64>, y: &mut Vec<f64>) {
        self.pool.split(&mut y[..A.nrow], |start, y| {
            for (k, y) in y.iter_mut().enumerate() {
                let (cols, values) = A.rows.row(start + k);
                let products = cols.iter().zip(values).map(|(&j, a)| a * x[j as usize]);
                *y = products.sum();
            }
        });
    }
    fn symgs(&mut self, A: &Colored<R>, r: &Vec<f64>, x: &mut Vec<f64>) {
        let x = SharedSlice::new(x);
        self.pool.run(|member| {
            let forward = A.colors.iter().map(|color| (color, false));
            let backward = A.colors.iter().rev().map(|color| (color, true));
            for (color, reverse) in forward.chain(backward) {
                let blocks = member.share(color.rows.len().div_ceil(color.block));
                let first = color.rows.start + blocks.start * color.block;
                let last = (color.rows.start + blocks.end * color.block).min(color.rows.end);
                for step in first..last {
                    let i = if reverse {
                        last - 1 - (step - first)
                    } else {
                        step
                    };
                    // SAFETY: blocks of a colour do not refer to each other, and each belongs to one
                    // member; the columns are those of the matrix, for which `x` has elements.
                    unsafe { A.smooth(r, x.as_ptr(), i) };
                }
                member.barrier();
            }
        });
    }
    fn dot(&mut self, x: &Vec<f64>, y: &Vec<f64>) -> f64 {
        let len = x.len().min(y.len());
        let mut sums = vec![0.0; len.div_ceil(BLOCK)];
        self.pool.split(&mut sums, |first, sums| {
            for (k, sum) in sums.iter_mut().enumerate() {
                let block = (first + k) * BLOCK..((first + k + 1) * BLOCK).min(len);
                *sum = reference::dot(&x[block.clone()], &y[block]);
            }
        });
        sums.iter().sum()
    }
    fn waxpby(&mut self, alpha: f64, x: &Vec<f64>, beta: f64, w: &mut Vec<f64>) {
        let len = x.len().min(w.len());
        self.pool.split(&mut w[..len], |start, w| {
            reference::waxpby(alpha, &x[start..], beta, w);
        });
    }
    fn restriction(&mut self, A: &Colored<R>, r: &Vec<f64>, Axf: &Vec<f64>, rc: &mut Vec<f64>) {
        reference::restriction(&A.f2c, r, Axf, rc);
    }
    fn prolongation(&mut self, A: &Colored<R>, xc: &Vec<f64>, x: &mut Vec<f64>) {
        reference::prolongation(&A.f2c, xc, x);
    }

    fn enter(&mut self, _: Op) {}
    fn finish(&mut self) -> Result<Work, Error> {
        Ok(Work::default())
    }
    fn allocated(&self) -> u64 {
        0
    }
}

/// Elements whose products one thread adds up at a time.
const BLOCK: usize = 4096;
