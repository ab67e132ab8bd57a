//! The steps of CG and of the V-cycle as compositions of HPCG's kernels: what [`Backend`]'s
//! provided methods do, and what a backend that fuses a step is tested against.

use crate::backend::Backend;
use crate::meter::Op;

/// y = A x, then x·y.
pub fn spmv_dot<B: Backend>(
    b: &mut B,
    A: &B::Matrix,
    x: &B::Vector,
    y: &mut B::Vector,
) -> B::Scalar {
    b.spmv(A, x, y);
    b.enter(Op::Dot);
    b.dot(x, y)
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
pub fn restrict_residual<B: Backend>(
    b: &mut B,
    A: &B::Matrix,
    r: &B::Vector,
    x: &B::Vector,
    Axf: &mut B::Vector,
    rc: &mut B::Vector,
) {
    b.spmv(A, x, Axf);
    b.restriction(A, r, Axf, rc);
}

/// x += xc at the injected rows, then a symmetric Gauss–Seidel step on A x = r.
pub fn correct_and_smooth<B: Backend>(
    b: &mut B,
    A: &B::Matrix,
    xc: &B::Vector,
    r: &B::Vector,
    x: &mut B::Vector,
) {
    b.prolongation(A, xc, x);
    b.symgs(A, r, x);
}
