//! Visits of slices: what one does, and the sums that it leaves.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{Color, Portion};
use crate::cpu::simd::{LANES, madd};
use crate::pool::SharedSlice;
use crate::real::Real;

/// What a sweep does with the rows of a slice. One with a dot product adds to `sums`.
pub(super) trait Visit<T: Real>: Sync {
    /// Whether rows that refer to each other are visited from the last to the first.
    const BACKWARD: bool = false;

    /// # Safety
    /// No other thread touches what belongs to the slice's rows, or writes what they refer to.
    unsafe fn slice<S: Simd>(
        &self,
        simd: S,
        color: &Color<T>,
        slice: usize,
        sums: &mut [f64; LANES],
    );
}

/// One sum for each chunk, or none at all.
pub(in crate::cpu) type Sums = Option<SharedSlice<f64>>;

/// Room for one sum for each chunk.
pub(in crate::cpu) struct ChunkSums(pub(super) Vec<f64>);

impl ChunkSums {
    /// For the members of a team to write to.
    pub(in crate::cpu) fn shared(&mut self) -> Sums {
        Some(SharedSlice::new(&mut self.0))
    }
    /// Their total, which does not depend on the number of threads.
    pub(in crate::cpu) fn total(&self) -> f64 {
        self.0.iter().sum()
    }
}

/// Keeps the sums of a chunk, and adds them to those of the portion before.
pub(super) fn keep<T>(
    all: Sums,
    color: &Color<T>,
    chunk: usize,
    portion: Portion,
    sums: &[f64; LANES],
) {
    if let Some(all) = all {
        let chunk = color.first_chunk + chunk;
        // SAFETY: the chunk belongs to this member.
        let total = unsafe { &mut all.slice_mut(chunk..chunk + 1)[0] };
        let rest: f64 = sums.iter().sum();
        *total = if portion == Portion::Boundary {
            *total + rest
        } else {
            rest
        };
    }
}

/// Visits some chunks of a colour, which belong to this thread.
pub(super) struct Chunks<'a, T, V> {
    pub(super) color: &'a Color<T>,
    pub(super) chunks: Range<usize>,
    pub(super) portion: Portion,
    pub(super) visit: &'a V,
    pub(super) sums: Sums,
}

impl<T: Real, V: Visit<T>> WithSimd for Chunks<'_, T, V> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let color = self.color;
        for chunk in self.chunks {
            let mut sums = [0.0; LANES];
            let slices = color.slices.of_chunk(chunk);
            for slice in slices.filter(|&slice| color.is_in(self.portion, slice)) {
                // SAFETY: the members' shares do not overlap.
                unsafe { self.visit.slice(simd, color, slice, &mut sums) };
            }
            keep(self.sums, color, chunk, self.portion, &sums);
        }
    }
}

/// sums_l += a_l b_l in double precision.
#[inline(always)]
pub(super) fn accumulate<S: Simd, T: Real>(
    a: &[T; LANES],
    b: &[T; LANES],
    sums: &mut [f64; LANES],
) {
    for l in 0..LANES {
        sums[l] = madd::<S, f64>(a[l].to_f64(), b[l].to_f64(), sums[l]);
    }
}
