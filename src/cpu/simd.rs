//! Eight rows at a time: arithmetic on `[T; LANES]` that the compiler turns into vector
//! instructions of the level that `pulp` finds at run time, from one generic source.

use pulp::{Arch, Simd, WithSimd};

use crate::real::Real;

/// Rows of a slice: one register of f32 or two of f64 with AVX2.
pub(super) const LANES: usize = 8;

/// Runs a kernel with the best instructions this machine has.
#[inline]
pub(super) fn dispatch<K: WithSimd>(kernel: K) -> K::Output {
    Arch::new().dispatch(kernel)
}

/// a · b + c; fused where the instructions are there, since a fused one in software is slow.
#[inline(always)]
pub(super) fn madd<S: Simd, T: Real>(a: T, b: T, c: T) -> T {
    if S::IS_SCALAR {
        a * b + c
    } else {
        a.mul_add(b, c)
    }
}

/// The offsets of columns that follow each other.
pub(crate) const fn in_a_row<const N: usize>() -> [u8; N] {
    let mut offsets = [0; N];
    let mut l = 1;
    while l < N {
        offsets[l] = offsets[l - 1] + 1;
        l += 1;
    }
    offsets
}

/// The name of the instructions in use.
pub fn name() -> String {
    format!("{:?}", Arch::new())
        .chars()
        .take_while(|c| c.is_alphanumeric())
        .collect()
}
