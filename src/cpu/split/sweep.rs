//! Visits of all slices of a matrix: colour by colour, or plane behind plane.
//!
//! Where rows depend on each other, each member of a team has its share of every plane. It waits
//! until the rest of the plane before it is done, and so much of the next one before it that
//! nothing it needs is missing. The result is that of visiting row by row.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::slabs::Slabs;
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

/// How one sweep over a matrix goes.
pub(super) struct Course<'a> {
    slabs: Option<&'a Slabs>,
    /// What has been done of each colour that is ordered.
    done: Vec<Vec<Done>>,
}

impl<'a> Course<'a> {
    /// A new one.
    pub(super) fn new<T: Real>(A: &'a Split<T>) -> Self {
        let done = |color: &Color<T>| match color.slices.ordered() {
            true => color.slices.steps(color.lead).done(),
            false => Vec::new(),
        };
        Self {
            slabs: A.slabs.as_ref(),
            done: A.colors.iter().map(done).collect(),
        }
    }
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

/// Visits the colours, given in the order of the sweep: slab by slab, or one by one, where members
/// wait for each other after each.
pub(super) fn sweep<'a, T: Real + 'a, V: Visit<T>>(
    member: Member<'_>,
    colors: impl Iterator<Item = &'a Color<T>> + Clone,
    portion: Portion,
    visit: &V,
    course: &Course<'_>,
    sums: Sums,
) {
    if let Some(slabs) = course.slabs.filter(|_| portion == Portion::All)
        && slabs.sweep(member, colors.clone(), visit, sums)
    {
        return;
    }
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
            let wave = Wave::new(steps, member, &course.done[color.number], V::BACKWARD);
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
