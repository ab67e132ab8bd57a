//! Visits of all slices of a matrix: colour by colour, plane behind plane, or in any order.
//!
//! Where rows depend on each other, each member of a team has its share of every plane. It waits
//! until the rest of the plane before it is done, and so much of the next one before it that
//! nothing it needs is missing. The result is that of visiting row by row.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{Color, Portion, Split};
use crate::cpu::simd::{LANES, dispatch, madd};
use crate::pool::{Done, Member, SharedSlice, Wave};
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
fn keep<T>(all: Sums, color: &Color<T>, chunk: usize, portion: Portion, sums: &[f64; LANES]) {
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
struct Chunks<'a, T, V> {
    color: &'a Color<T>,
    chunks: Range<usize>,
    portion: Portion,
    visit: &'a V,
    sums: Sums,
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

/// Room for what one sweep says of the ordered colours.
pub(super) fn progress<T: Real>(A: &Split<T>) -> Vec<Vec<Done>> {
    let done = |color: &Color<T>| match color.slices.ordered() {
        true => color.slices.steps(color.lead).done(),
        false => Vec::new(),
    };
    A.colors.iter().map(done).collect()
}

/// Visits the slices of an ordered colour that belong to this thread.
struct InOrder<'a, T, V> {
    color: &'a Color<T>,
    wave: Wave<'a>,
    visit: &'a V,
    sums: Sums,
}

impl<T: Real, V: Visit<T>> WithSimd for InOrder<'_, T, V> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let color = self.color;
        for slices in self.wave {
            let mut sums = [0.0; LANES];
            for k in 0..slices.len() {
                let slice = if V::BACKWARD {
                    slices.end - 1 - k
                } else {
                    slices.start + k
                };
                // SAFETY: what comes before the slice has been visited, and what comes after it
                // has not: if one row refers to another, so does that one to the first.
                unsafe { self.visit.slice(simd, color, slice, &mut sums) };
            }
            let chunk = color.slices.chunk_of(slices.start);
            keep(self.sums, color, chunk, Portion::All, &sums);
        }
    }
}

/// Visits the colours one by one; members wait for each other after each. `done` is new, with
/// one entry for each colour of the matrix.
pub(super) fn sweep<'a, T: Real + 'a, V: Visit<T>>(
    member: Member<'_>,
    colors: impl Iterator<Item = &'a Color<T>>,
    portion: Portion,
    visit: &V,
    done: &[Vec<Done>],
    sums: Sums,
) {
    for color in colors {
        if !color.slices.ordered() {
            dispatch(Chunks {
                color,
                chunks: member.share(color.slices.chunks()),
                portion,
                visit,
                sums,
            });
        } else if portion != Portion::Interior {
            let steps = color.slices.steps(color.lead);
            let wave = Wave::new(steps, member, &done[color.number], V::BACKWARD);
            dispatch(InOrder {
                color,
                wave,
                visit,
                sums,
            });
        }
        member.barrier();
    }
}

/// Rows of a slab: their x and their neighbours' fits into a core's own cache.
const SLAB: usize = 1 << 15;

/// Visits all colours slab by slab, for what does not depend on an order: rows of different colours
/// that lie close together find each other's x in the cache.
pub(super) fn visit_slabs<T: Real, V: Visit<T>>(
    member: Member<'_>,
    A: &Split<T>,
    portion: Portion,
    visit: &V,
    sums: Sums,
) {
    let slabs = A.nrow.div_ceil(SLAB).max(member.count);
    for slab in member.share(slabs) {
        for color in &A.colors {
            let chunks = color.slices.chunks();
            dispatch(Chunks {
                color,
                chunks: chunks * slab / slabs..chunks * (slab + 1) / slabs,
                portion,
                visit,
                sums,
            });
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
