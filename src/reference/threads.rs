//! The twins on many threads, with the bits of one: each row is computed as in its twin, and in
//! natural order a plane follows the one before it. Sums stay sequential.

use cubie_host::Matrix;

use super::spmv::row;
use super::symgs::relaxed;
use crate::pool::{Pool, SharedSlice, Steps, Wave};

/// Rows that a thread works on before others hear of it.
const CHUNK: usize = 64;

/// y_i = Σ_j a_ij x_j over the local rows.
pub(super) fn spmv(pool: &Pool, A: &Matrix, x: &[f64], y: &mut [f64]) {
    pool.split(&mut y[..A.nrow], |start, y| {
        for (i, y) in (start..).zip(y) {
            *y = row(A, i, x);
        }
    });
}

/// How the rows of a matrix in natural order follow each other in planes of `nx` × `ny` rows.
pub(super) fn steps(nrow: usize, nx: usize, ny: usize) -> Steps {
    Steps {
        len: nrow,
        run: nx * ny,
        block: nrow,
        chunk: CHUNK,
        // The neighbour at x + 1, y + 1 in the plane before.
        lead: nx + 2,
    }
}

/// One symmetric Gauss–Seidel step with rows in natural order.
pub(super) fn symgs(pool: &Pool, steps: Steps, A: &Matrix, r: &[f64], x: &mut [f64]) {
    assert!(steps.len == A.nrow && r.len() >= A.nrow && x.len() >= A.ncol);
    let (ahead, behind) = (steps.done(), steps.done());
    let x = SharedSlice::new(x);
    // SAFETY: when a row is relaxed, those that it refers to are done if they come before it, and
    // wait for it if they come after it, since they refer to it as well.
    let relax = |i: usize| unsafe {
        let x = x.as_ptr();
        *x.add(i) = relaxed(A, i, r[i], |j| *x.add(j));
    };
    pool.run(|member| {
        Wave::new(steps, member, &ahead, false)
            .flatten()
            .for_each(relax);
        member.barrier();
        Wave::new(steps, member, &behind, true)
            .flat_map(|rows| rows.rev())
            .for_each(relax);
    });
}
