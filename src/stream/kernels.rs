//! The kernels of STREAM on one thread's share of the arrays.
//!
//! `c = a`, `b = q c`, `c = a + b`, `a = b + q c` are STREAM's Copy, Scale, Add and Triad; Dot is
//! Σ a b and Read is Σ a.

use bytemuck::{Pod, Zeroable};

use crate::real::Real;

/// A cache line of numbers: arrays consist of them, so that no two threads share one.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line<T, const N: usize>(pub(super) [T; N]);

/// A line of the widths in use.
pub(super) type Line64 = Line<f64, 8>;
pub(super) type Line32 = Line<f32, 16>;

// SAFETY: both fill their 64 bytes with numbers, of which all zeros is one.
unsafe impl Zeroable for Line64 {}
// SAFETY: no padding, any bits are numbers, and nothing else is inside.
unsafe impl Pod for Line64 {}
// SAFETY: as above.
unsafe impl Zeroable for Line32 {}
// SAFETY: as above.
unsafe impl Pod for Line32 {}

/// Lines of a block of a sum; its sum is taken in `T`, the sum over the blocks in double.
pub(super) const BLOCK: usize = 512;
/// Lines that are summed side by side, to hide the latency of additions.
const SIDE_BY_SIDE: usize = 4;

/// c = a, by the system's own copy, which may itself go past the caches: so it is in a STREAM that
/// a compiler has optimised.
#[inline(always)]
pub(super) fn copy<T: Real, const N: usize>(c: &mut [Line<T, N>], a: &[Line<T, N>]) {
    c.copy_from_slice(a);
}

/// b = q c
#[inline(always)]
pub(super) fn scale<T: Real, const N: usize>(b: &mut [Line<T, N>], q: T, c: &[Line<T, N>]) {
    for (b, c) in b.iter_mut().zip(c) {
        *b = scaled(q, c);
    }
}

/// c = a + b
#[inline(always)]
pub(super) fn add<T: Real, const N: usize>(
    c: &mut [Line<T, N>],
    a: &[Line<T, N>],
    b: &[Line<T, N>],
) {
    for ((c, a), b) in c.iter_mut().zip(a).zip(b) {
        *c = sum(a, b);
    }
}

/// a = b + q c
#[inline(always)]
pub(super) fn triad<T: Real, const N: usize>(
    a: &mut [Line<T, N>],
    b: &[Line<T, N>],
    q: T,
    c: &[Line<T, N>],
) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = sum(b, &scaled(q, c));
    }
}

/// Σ a b
#[inline(always)]
pub(super) fn dot<T: Real, const N: usize>(a: &[Line<T, N>], b: &[Line<T, N>]) -> f64 {
    let blocks = a.chunks(BLOCK).zip(b.chunks(BLOCK));
    blocks
        .map(|(a, b)| {
            let mut sums = [[T::ZERO; N]; SIDE_BY_SIDE];
            let (a, a_rest) = a.as_chunks::<SIDE_BY_SIDE>();
            let (b, b_rest) = b.as_chunks::<SIDE_BY_SIDE>();
            for (a, b) in a.iter().zip(b) {
                for s in 0..SIDE_BY_SIDE {
                    add_products(&mut sums[s], &a[s], &b[s]);
                }
            }
            for (a, b) in a_rest.iter().zip(b_rest) {
                add_products(&mut sums[0], a, b);
            }
            total(&sums)
        })
        .sum()
}

/// Σ a
#[inline(always)]
pub(super) fn read<T: Real, const N: usize>(a: &[Line<T, N>]) -> f64 {
    a.chunks(BLOCK)
        .map(|a| {
            let mut sums = [[T::ZERO; N]; SIDE_BY_SIDE];
            let (a, rest) = a.as_chunks::<SIDE_BY_SIDE>();
            for a in a {
                for s in 0..SIDE_BY_SIDE {
                    add_values(&mut sums[s], &a[s]);
                }
            }
            for a in rest {
                add_values(&mut sums[0], a);
            }
            total(&sums)
        })
        .sum()
}

#[inline(always)]
fn add_products<T: Real, const N: usize>(sums: &mut [T; N], a: &Line<T, N>, b: &Line<T, N>) {
    for (sum, (a, b)) in sums.iter_mut().zip(a.0.iter().zip(&b.0)) {
        *sum = *sum + *a * *b;
    }
}

#[inline(always)]
fn add_values<T: Real, const N: usize>(sums: &mut [T; N], a: &Line<T, N>) {
    for (sum, a) in sums.iter_mut().zip(&a.0) {
        *sum = *sum + *a;
    }
}

#[inline(always)]
fn scaled<T: Real, const N: usize>(q: T, c: &Line<T, N>) -> Line<T, N> {
    Line(c.0.map(|c| q * c))
}

#[inline(always)]
fn sum<T: Real, const N: usize>(a: &Line<T, N>, b: &Line<T, N>) -> Line<T, N> {
    let mut sum = *a;
    for (sum, b) in sum.0.iter_mut().zip(&b.0) {
        *sum = *sum + *b;
    }
    sum
}

#[inline(always)]
fn total<T: Real, const N: usize>(sums: &[[T; N]]) -> f64 {
    sums.as_flattened()
        .iter()
        .fold(T::ZERO, |total, &sum| total + sum)
        .to_f64()
}

/// The same with stores that go past the caches, so that no line is read before it is written.
#[cfg(target_arch = "x86_64")]
pub(super) mod nontemporal {
    use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_sfence, _mm_stream_si128};

    use super::{Line, Real, scaled, sum};

    /// c = a
    #[inline(always)]
    pub(in super::super) fn copy<T: Real, const N: usize>(c: &mut [Line<T, N>], a: &[Line<T, N>]) {
        c.iter_mut().zip(a).for_each(|(c, a)| put(c, a));
        fence();
    }

    /// b = q c
    #[inline(always)]
    pub(in super::super) fn scale<T: Real, const N: usize>(
        b: &mut [Line<T, N>],
        q: T,
        c: &[Line<T, N>],
    ) {
        b.iter_mut().zip(c).for_each(|(b, c)| put(b, &scaled(q, c)));
        fence();
    }

    /// c = a + b
    #[inline(always)]
    pub(in super::super) fn add<T: Real, const N: usize>(
        c: &mut [Line<T, N>],
        a: &[Line<T, N>],
        b: &[Line<T, N>],
    ) {
        let each = c.iter_mut().zip(a).zip(b);
        each.for_each(|((c, a), b)| put(c, &sum(a, b)));
        fence();
    }

    /// a = b + q c
    #[inline(always)]
    pub(in super::super) fn triad<T: Real, const N: usize>(
        a: &mut [Line<T, N>],
        b: &[Line<T, N>],
        q: T,
        c: &[Line<T, N>],
    ) {
        let each = a.iter_mut().zip(b).zip(c);
        each.for_each(|((a, b), c)| put(a, &sum(b, &scaled(q, c))));
        fence();
    }

    /// Stores a line past the caches.
    #[inline(always)]
    fn put<T: Real, const N: usize>(to: &mut Line<T, N>, line: &Line<T, N>) {
        const { assert!(size_of::<Line<T, N>>() == 64) };
        let to = std::ptr::from_mut(to).cast::<__m128i>();
        let from = std::ptr::from_ref(line).cast::<__m128i>();
        for part in 0..4 {
            // SAFETY: lines have 64 bytes and begin at multiples of 64; every x86-64 has SSE2.
            unsafe { _mm_stream_si128(to.add(part), _mm_load_si128(from.add(part))) };
        }
    }

    /// Makes the stores visible to the other threads.
    fn fence() {
        // SAFETY: every x86-64 has SSE.
        unsafe { _mm_sfence() };
    }
}
