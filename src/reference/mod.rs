//! The plain sequential twin of every kernel: the mathematics, readable and slow.
//!
//! It is the definition that the fast backends are tested against, and it runs the reference
//! phases, on several threads with the same bits (`threads`). Without fused multiply–add and in natural order it gives the last bits of HPCG 3.1.

mod copy;
mod dot;
mod halo;
mod prolongation;
mod restriction;
mod spmv;
mod symgs;
mod threads;
mod waxpby;

use std::sync::Arc;
use std::time::Instant;

use cubie_host::{Matrix, Ordered};

pub use copy::copy;
pub use dot::dot;
pub use halo::{pack, unpack};
pub use prolongation::prolongation;
pub use restriction::restriction;
pub use spmv::spmv;
pub use symgs::symgs;
pub use waxpby::waxpby;

use crate::backend::Backend;
use crate::error::Error;
use crate::meter::{Op, Stopwatch, Work};
use crate::pool::{Pool, Steps};

/// The twins as a backend, in IEEE double.
pub struct Reference {
    pool: Pool,
    stopwatch: Stopwatch,
}

/// A level's matrix and injection.
pub struct ReferenceMatrix {
    /// The matrix in the order of its rows.
    pub A: Arc<Matrix>,
    /// How its rows follow each other, if they are in natural order.
    natural: Option<Steps>,
    /// The fine row of each coarse row; empty on the coarsest level.
    pub f2c: Vec<u32>,
    /// The rows that other ranks need.
    pub send_rows: Vec<u32>,
}

impl Reference {
    /// The sequential CPU.
    pub fn new() -> Self {
        Self::on(1)
    }
    /// So many threads, with the bits of one.
    pub fn on(threads: usize) -> Self {
        Self {
            pool: Pool::new(threads),
            stopwatch: Stopwatch::default(),
        }
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

impl Backend for Reference {
    type Scalar = f64;
    type Vector = Vec<f64>;
    type Matrix = ReferenceMatrix;

    fn epsilon(&self) -> f64 {
        f64::EPSILON
    }
    fn element(&self) -> usize {
        size_of::<f64>()
    }
    fn pack(&mut self, A: &ReferenceMatrix, x: &Vec<f64>, bytes: &mut [u8]) -> Result<(), Error> {
        pack(&A.send_rows, x, bytes);
        Ok(())
    }
    fn unpack(&mut self, A: &ReferenceMatrix, bytes: &[u8], x: &mut Vec<f64>) {
        unpack(bytes, &mut x[A.A.nrow..]);
    }

    fn matrix(&mut self, level: &Ordered<'_>) -> Result<ReferenceMatrix, Error> {
        let [nx, ny, _] = level.level.geometry.n;
        let steps = threads::steps(level.level.A.nrow, nx, ny);
        Ok(ReferenceMatrix {
            A: level.matrix(),
            natural: level.order.is_natural().then_some(steps),
            f2c: level.f2c(),
            send_rows: level.halo().send_rows,
        })
    }
    fn replace_diagonal(&mut self, A: &mut ReferenceMatrix, diagonal: &[f64]) {
        Arc::make_mut(&mut A.A).replace_diagonal(diagonal);
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
        x.fill(0.0);
    }
    fn copy(&mut self, x: &Vec<f64>, y: &mut Vec<f64>) {
        copy(x, y);
    }
    fn spmv(&mut self, A: &ReferenceMatrix, x: &Vec<f64>, y: &mut Vec<f64>) {
        threads::spmv(&self.pool, &A.A, x, y);
    }
    fn symgs(&mut self, A: &ReferenceMatrix, r: &Vec<f64>, x: &mut Vec<f64>) {
        match A.natural {
            Some(steps) => threads::symgs(&self.pool, steps, &A.A, r, x),
            None => symgs(&A.A, r, x),
        }
    }
    fn dot(&mut self, x: &Vec<f64>, y: &Vec<f64>) -> f64 {
        dot(x, y)
    }
    fn waxpby(&mut self, alpha: f64, x: &Vec<f64>, beta: f64, w: &mut Vec<f64>) {
        self.pool
            .split(w, |start, w| waxpby(alpha, &x[start..], beta, w));
    }
    fn restriction(
        &mut self,
        A: &ReferenceMatrix,
        r: &Vec<f64>,
        Axf: &Vec<f64>,
        rc: &mut Vec<f64>,
    ) {
        restriction(&A.f2c, r, Axf, rc);
    }
    fn prolongation(&mut self, A: &ReferenceMatrix, xc: &Vec<f64>, x: &mut Vec<f64>) {
        prolongation(&A.f2c, xc, x);
    }

    fn enter(&mut self, op: Op) {
        self.stopwatch.enter(op, Instant::now());
    }
    fn finish(&mut self) -> Result<Work, Error> {
        Ok(self.stopwatch.finish(Instant::now()))
    }
    fn allocated(&self) -> u64 {
        0
    }
}
