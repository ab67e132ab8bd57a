//! Visits of all slices of a matrix: colour by colour, or plane behind plane.
//!
//! Where rows depend on each other, each member of a team has its share of every plane. It waits
//! until the rest of the plane before it is done, and so much of the next one before it that
//! nothing it needs is missing. The result is that of visiting row by row.

use pulp::{Simd, WithSimd};

use super::slabs::Slabs;
use super::visit::{Chunks, Sums, Visit, keep};
use super::{Color, Portion, Split};
use crate::cpu::simd::{LANES, dispatch};
use crate::pool::{Done, Member, Wave};
use crate::real::Real;

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
