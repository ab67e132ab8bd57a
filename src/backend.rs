//! What a device does for HPCG: one trait, whose provided methods are the textbook composition.
//!
//! Vectors and matrices live on the device, in the order of the rows that the [`Ordered`] level
//! gives them. A vector that a matrix multiplies has `ncol` elements, the externals of the halo
//! behind the local ones; the others have `nrow`. Operations on two vectors run over the shorter. Operations queue; only [`Backend::read`], [`Backend::read_scalars`] and
//! [`Backend::finish`] wait. A composition that ends in another operation enters it itself. A wrong length is a broken contract and panics; what the world can
//! cause (no memory, a lost device) is an [`Error`], reported by the calls that allocate or wait.

use std::ops::Neg;

use cubie_host::{HaloExchange, Ordered};

use crate::error::Error;
use crate::meter::{Op, Work};
use crate::textbook;

/// A device computing in one precision.
pub trait Backend: Sized {
    /// A number that stays on the device until it is read.
    type Scalar: Copy + Neg<Output = Self::Scalar>;
    /// A vector on the device: the local elements, then those of the halo.
    type Vector;
    /// The matrix of one level with its colours and its injection `f2c`, in the device's format.
    type Matrix;

    /// The distance from 1 to the next larger number that it computes with.
    fn epsilon(&self) -> f64;
    /// Bytes of an element of a vector as it travels to other ranks.
    fn element(&self) -> usize;
    /// Writes the elements of `x` that other ranks need, in the order of the halo's `send_rows`.
    /// Waits for the device.
    fn pack(&mut self, A: &Self::Matrix, x: &Self::Vector, bytes: &mut [u8]) -> Result<(), Error>;
    /// Overwrites the externals of `x` with elements that other ranks packed.
    fn unpack(&mut self, A: &Self::Matrix, bytes: &[u8], x: &mut Self::Vector);

    /// Converts and uploads one level.
    fn matrix(&mut self, level: &Ordered<'_>) -> Result<Self::Matrix, Error>;
    /// Replaces the diagonal, given in the order of the rows (`nrow` values).
    fn replace_diagonal(&mut self, A: &mut Self::Matrix, diagonal: &[f64]);
    /// A vector of `len` zeros.
    fn vector(&mut self, len: usize) -> Result<Self::Vector, Error>;
    /// Overwrites the first `values.len()` elements of `x`.
    fn write(&mut self, x: &mut Self::Vector, values: &[f64]);
    /// Waits for the device and returns all elements of `x`.
    fn read(&mut self, x: &Self::Vector) -> Result<Vec<f64>, Error>;

    /// Forgets all scalars, so that a new computation finds room for its own.
    fn forget_scalars(&mut self) {}
    /// A constant as a device scalar.
    fn scalar(&mut self, value: f64) -> Self::Scalar;
    /// numerator / denominator; 0 if the denominator is 0, so that CG rests where nothing is left.
    fn ratio(&mut self, numerator: Self::Scalar, denominator: Self::Scalar) -> Self::Scalar;
    /// Waits for the device and returns the values.
    fn read_scalars(&mut self, scalars: &[Self::Scalar]) -> Result<Vec<f64>, Error>;

    /// x = 0
    fn zero(&mut self, x: &mut Self::Vector);
    /// y = x
    fn copy(&mut self, x: &Self::Vector, y: &mut Self::Vector);
    /// y = A x over the local rows. HPCG: `ComputeSPMV`.
    fn spmv(&mut self, A: &Self::Matrix, x: &Self::Vector, y: &mut Self::Vector);
    /// One symmetric Gauss–Seidel step on A x = r: the colours forward, then backward.
    /// HPCG: `ComputeSYMGS`.
    fn symgs(&mut self, A: &Self::Matrix, r: &Self::Vector, x: &mut Self::Vector);
    /// x·y over the elements of this rank. HPCG: `ComputeDotProduct`.
    fn dot(&mut self, x: &Self::Vector, y: &Self::Vector) -> Self::Scalar;
    /// w = alpha x + beta w, HPCG's `ComputeWAXPBY` with `y = w`.
    fn waxpby(
        &mut self,
        alpha: Self::Scalar,
        x: &Self::Vector,
        beta: Self::Scalar,
        w: &mut Self::Vector,
    );
    /// rc = (r − Axf) at the injected rows of the fine matrix `A`. HPCG: `ComputeRestriction`.
    fn restriction(
        &mut self,
        A: &Self::Matrix,
        r: &Self::Vector,
        Axf: &Self::Vector,
        rc: &mut Self::Vector,
    );
    /// x += xc at the injected rows of the fine matrix `A`. HPCG: `ComputeProlongation`.
    fn prolongation(&mut self, A: &Self::Matrix, xc: &Self::Vector, x: &mut Self::Vector);

    // Steps of CG and of the V-cycle. Those that need the neighbours' elements of x get the halo
    // and exchange it, so that a backend may work on other rows meanwhile.

    /// y = A x and x·y; exchanges the halo of x.
    fn spmv_dot(
        &mut self,
        A: &Self::Matrix,
        halo: &mut HaloExchange,
        x: &mut Self::Vector,
        y: &mut Self::Vector,
    ) -> Result<Self::Scalar, Error> {
        textbook::spmv_dot(self, A, halo, x, y)
    }
    /// x += alpha p, r −= alpha Ap, and r·r.
    fn update_and_norm(
        &mut self,
        alpha: Self::Scalar,
        p: &Self::Vector,
        Ap: &Self::Vector,
        x: &mut Self::Vector,
        r: &mut Self::Vector,
    ) -> Self::Scalar {
        textbook::update_and_norm(self, alpha, p, Ap, x, r)
    }

    // The three steps of a V-cycle on one level. `work` belongs to the level: what the first step
    // leaves in it, the others find. A backend provides all three or none.

    /// One symmetric Gauss–Seidel step on A x = r from x = 0; no `work` where no step follows.
    fn smooth_from_zero(
        &mut self,
        A: &Self::Matrix,
        r: &Self::Vector,
        x: &mut Self::Vector,
        work: Option<&mut Self::Vector>,
    ) {
        let _ = work;
        textbook::smooth_from_zero(self, A, r, x);
    }
    /// rc = (r − A x) at the injected rows; exchanges the halo of x.
    fn restrict_residual(
        &mut self,
        A: &Self::Matrix,
        halo: &mut HaloExchange,
        r: &Self::Vector,
        x: &mut Self::Vector,
        work: &mut Self::Vector,
        rc: &mut Self::Vector,
    ) -> Result<(), Error> {
        textbook::restrict_residual(self, A, halo, r, x, work, rc)
    }
    /// Adds the coarse correction `xc` to x, then one symmetric Gauss–Seidel step on A x = r;
    /// exchanges the halo of the corrected x.
    fn correct_and_smooth(
        &mut self,
        A: &Self::Matrix,
        halo: &mut HaloExchange,
        xc: &Self::Vector,
        r: &Self::Vector,
        x: &mut Self::Vector,
        work: &mut Self::Vector,
    ) -> Result<(), Error> {
        let _ = work;
        textbook::correct_and_smooth(self, A, halo, xc, r, x)
    }
    /// The same on the finest level, and r·x.
    fn correct_and_smooth_dot(
        &mut self,
        A: &Self::Matrix,
        halo: &mut HaloExchange,
        xc: &Self::Vector,
        r: &Self::Vector,
        x: &mut Self::Vector,
        work: &mut Self::Vector,
    ) -> Result<Self::Scalar, Error> {
        self.correct_and_smooth(A, halo, xc, r, x, work)?;
        self.enter(Op::Dot);
        Ok(self.dot(r, x))
    }

    /// From here on time and bytes count for `op`.
    fn enter(&mut self, op: Op);
    /// A good moment to hand queued work to the device (once per CG iteration).
    fn submit(&mut self) {}
    /// Waits until the device is idle; returns the work since the last call.
    fn finish(&mut self) -> Result<Work, Error>;
    /// Bytes allocated on the device by this backend and those that share its device.
    fn allocated(&self) -> u64;
}

/// A backend that can hand a vector to another one on the same device in another precision.
pub trait Convert<C: Backend>: Backend {
    /// y = x, rounded to the precision of `inner`.
    fn convert_to(&mut self, x: &Self::Vector, inner: &mut C, y: &mut C::Vector);
    /// y = x, from the precision of `inner`.
    fn convert_from(&mut self, inner: &mut C, x: &C::Vector, y: &mut Self::Vector);
}
