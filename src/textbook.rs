//! The steps of CG and of the V-cycle as compositions of HPCG's kernels: what [`Backend`]'s
//! provided methods do, and what a backend that fuses a step is tested against.

use cubie_host::HaloExchange;

use crate::backend::Backend;
use crate::error::Error;
use crate::meter::Op;

/// Brings the externals of x up to date. HPCG: `ExchangeHalo`.
///
/// # Errors
/// If the device fails.
pub fn exchange_halo<B: Backend>(
    b: &mut B,
    A: &B::Matrix,
    halo: &mut HaloExchange,
    x: &mut B::Vector,
) -> Result<(), Error> {
    halo.start(|bytes| b.pack(A, x, bytes))?;
    halo.finish(|bytes| b.unpack(A, bytes, x));
    Ok(())
}

/// y = A x, then x·y.
///
/// # Errors
/// If the device fails.
pub fn spmv_dot<B: Backend>(
    b: &mut B,
    A: &B::Matrix,
    halo: &mut HaloExchange,
    x: &mut B::Vector,
    y: &mut B::Vector,
) -> Result<B::Scalar, Error> {
    exchange_halo(b, A, halo, x)?;
    b.spmv(A, x, y);
    b.enter(Op::Dot);
    Ok(b.dot(x, y))
}

/// x += alpha p, then r −= alpha Ap, then r·r.
pub fn update_and_norm<B: Backend>(
    b: &mut B,
    alpha: B::Scalar,
    p: &B::Vector,
    Ap: &B::Vector,
    x: &mut B::Vector,
    r: &mut B::Vector,
) -> B::Scalar {
    let one = b.scalar(1.0);
    b.waxpby(alpha, p, one, x);
    b.waxpby(-alpha, Ap, one, r);
    b.enter(Op::Dot);
    b.dot(r, r)
}

/// x = 0, then a symmetric Gauss–Seidel step on A x = r.
pub fn smooth_from_zero<B: Backend>(b: &mut B, A: &B::Matrix, r: &B::Vector, x: &mut B::Vector) {
    b.zero(x);
    b.symgs(A, r, x);
}

/// Axf = A x, then rc = (r − Axf) at the injected rows.
///
/// # Errors
/// If the device fails.
pub fn restrict_residual<B: Backend>(
    b: &mut B,
    A: &B::Matrix,
    halo: &mut HaloExchange,
    r: &B::Vector,
    x: &mut B::Vector,
    Axf: &mut B::Vector,
    rc: &mut B::Vector,
) -> Result<(), Error> {
    exchange_halo(b, A, halo, x)?;
    b.spmv(A, x, Axf);
    b.restriction(A, r, Axf, rc);
    Ok(())
}

/// x += xc at the injected rows, then a symmetric Gauss–Seidel step on A x = r.
///
/// # Errors
/// If the device fails.
pub fn correct_and_smooth<B: Backend>(
    b: &mut B,
    A: &B::Matrix,
    halo: &mut HaloExchange,
    xc: &B::Vector,
    r: &B::Vector,
    x: &mut B::Vector,
) -> Result<(), Error> {
    b.prolongation(A, xc, x);
    exchange_halo(b, A, halo, x)?;
    b.symgs(A, r, x);
    Ok(())
}
