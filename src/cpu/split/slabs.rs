//! Visits of all colours together: rows of different colours that lie close together find each other's
//! x in a core's own cache.
//!
//! A sweep must visit two rows that refer to each other in the order of their colours. So each colour
//! stays so many chunks behind those before it that whatever its rows refer to has been visited, and
//! each member of a team has its own part of the box. At the seams between the parts a sweep first
//! goes colour by colour; what it visits there is all that a part needs of another. The result is that
//! of visiting one colour after the other.

use std::ops::Range;
use std::sync::Mutex;

use super::visit::{Chunks, Sums, Visit};
use super::{Color, Portion, Split, Triangle};
use crate::cpu::simd::{LANES, dispatch};
use crate::pool::{Member, Pool};
use crate::real::Real;

/// Rows of a slab: x of them and of their neighbours fits into a core's own cache.
const SLAB: usize = 1 << 15;

/// Visits all colours slab by slab, for what does not depend on an order.
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

/// The order of chunks in sweeps of a matrix.
pub(super) struct Slabs {
    forward: Schedule,
    backward: Schedule,
}

/// The order of chunks in sweeps in one direction. All colours have the same number of chunks.
struct Schedule {
    /// How many chunks each colour stays behind.
    behind: Vec<usize>,
    /// How many chunks of each colour belong to a seam at the start and at the end of a part.
    seams: Vec<[usize; 2]>,
}

/// How many chunks before and after a chunk of one colour those of another are to which its rows refer,
/// or whose rows refer to it; `None` where none do.
type Reach = Option<[usize; 2]>;

impl Slabs {
    /// For these colours; `None` if they have different numbers of chunks or their rows depend on each
    /// other.
    pub(super) fn new<T: Real>(pool: &Pool, colors: &[Color<T>]) -> Option<Self> {
        let chunks = colors.first()?.slices.chunks();
        let fits = |color: &Color<T>| !color.slices.ordered() && color.slices.chunks() == chunks;
        if !colors.iter().all(fits) {
            return None;
        }
        let reach = reach(pool, colors, chunks);
        Some(Self {
            forward: Schedule::new(&reach, &(0..colors.len()).collect::<Vec<_>>()),
            backward: Schedule::new(&reach, &(0..colors.len()).rev().collect::<Vec<_>>()),
        })
    }

    /// Visits these colours, in the order of a sweep, if the team is not too large for it.
    pub(super) fn sweep<'a, T: Real + 'a, V: Visit<T>>(
        &self,
        member: Member<'_>,
        colors: impl Iterator<Item = &'a Color<T>> + Clone,
        visit: &V,
        sums: Sums,
    ) -> bool {
        let schedule = if V::BACKWARD {
            &self.backward
        } else {
            &self.forward
        };
        let Some(first) = colors.clone().next() else {
            return true;
        };
        let chunks = first.slices.chunks();
        if !schedule.fits(chunks / member.count) {
            return false;
        }
        let visit = |color, chunks| {
            dispatch(Chunks {
                color,
                chunks,
                portion: Portion::All,
                visit,
                sums,
            });
        };
        let part = member.share(chunks);
        let inner = |color: &Color<T>| {
            let [start, end] = schedule.seams[color.number];
            let is_first = member.index == 0;
            let is_last = member.index + 1 == member.count;
            part.start + if is_first { 0 } else { start }..part.end - if is_last { 0 } else { end }
        };
        if member.count > 1 {
            for color in colors.clone() {
                let inner = inner(color);
                visit(color, part.start..inner.start);
                visit(color, inner.end..part.end);
                member.barrier();
            }
        }
        let rows = first.slices.rows.len() * schedule.behind.len();
        let group = (chunks * SLAB / rows).max(1);
        let most = schedule.behind.iter().max().unwrap_or(&0);
        for step in 0..(part.len() + most).div_ceil(group) {
            for color in colors.clone() {
                let behind = schedule.behind[color.number];
                let at = |step: usize| (part.start + step * group).saturating_sub(behind);
                visit(color, within(at(step)..at(step + 1), &inner(color)));
            }
        }
        member.barrier();
        true
    }
}

/// What two ranges have in common.
fn within(a: Range<usize>, b: &Range<usize>) -> Range<usize> {
    a.start.max(b.start)..a.end.min(b.end)
}

impl Schedule {
    /// With colours in this order.
    fn new(reach: &[Vec<Reach>], order: &[usize]) -> Self {
        let mut behind = vec![0; order.len()];
        let mut seams = vec![[0; 2]; order.len()];
        for (k, &color) in order.iter().enumerate() {
            for &before in &order[..k] {
                if let Some([_, ahead]) = reach[color][before] {
                    behind[color] = behind[color].max(behind[before] + ahead);
                }
            }
        }
        for (k, &color) in order.iter().enumerate().rev() {
            for &later in &order[k + 1..] {
                if let Some([back, ahead]) = reach[later][color] {
                    let [start, end] = seams[later];
                    let seam: &mut [usize; 2] = &mut seams[color];
                    *seam = [seam[0].max(start + ahead), seam[1].max(end + back)];
                }
            }
        }
        Self { behind, seams }
    }

    /// Whether a part of so many chunks of each colour has more than its seams.
    fn fits(&self, part: usize) -> bool {
        self.seams.iter().all(|[start, end]| start + end < part)
    }
}

/// The reach of each colour to each other one.
fn reach<T: Real>(pool: &Pool, colors: &[Color<T>], chunks: usize) -> Vec<Vec<Reach>> {
    let none = vec![vec![None; colors.len()]; colors.len()];
    let all = Mutex::new(none.clone());
    pool.run(|member| {
        let mut mine = none.clone();
        for color in colors {
            for chunk in member.share(chunks) {
                for slice in color.slices.of_chunk(chunk) {
                    for Triangle { far, .. } in [&color.lower, &color.upper] {
                        far.cols.for_each(slice, |cols| {
                            for_each_chunk(colors, cols, |other, at| {
                                widen(&mut mine[color.number][other], chunk, at);
                                widen(&mut mine[other][color.number], at, chunk);
                            });
                        });
                    }
                }
            }
        }
        let mut all = all.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        for (all, mine) in all.iter_mut().flatten().zip(mine.iter().flatten()) {
            if let Some([back, ahead]) = *mine {
                let [most_back, most_ahead] = all.get_or_insert([0; 2]);
                *most_back = back.max(*most_back);
                *most_ahead = ahead.max(*most_ahead);
            }
        }
    });
    all.into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Makes the reach of a chunk contain another one.
fn widen(reach: &mut Reach, chunk: usize, other: usize) {
    let [back, ahead] = reach.get_or_insert([0; 2]);
    *back = chunk.saturating_sub(other).max(*back);
    *ahead = other.saturating_sub(chunk).max(*ahead);
}

/// Calls back with colours and chunks between which are those of these columns, but for the halo's.
fn for_each_chunk<T: Real>(
    colors: &[Color<T>],
    cols: &[u32; LANES],
    mut each: impl FnMut(usize, usize),
) {
    let color_of = |col: u32| colors.partition_point(|color| color.slices.rows.end <= col as usize);
    let mut one = |color: usize, col: u32| {
        if let Some(Color { slices, .. }) = colors.get(color) {
            each(
                color,
                slices.chunk_of((col as usize - slices.rows.start) / LANES),
            );
        }
    };
    let (least, most) = cols.iter().fold((u32::MAX, 0), |(least, most), &col| {
        (least.min(col), most.max(col))
    });
    let (first, last) = (color_of(least), color_of(most));
    if first == last {
        one(first, least);
        one(first, most);
    } else {
        cols.iter().for_each(|&col| one(color_of(col), col));
    }
}

#[cfg(test)]
mod tests {
    use super::super::smooth::{Corrected, correct_and_smooth, smooth_from_zero, symgs};
    use super::*;
    use cubie_host::{Geometry, Order, Problem};

    /// Vectors after each kind of step, one step after the other, on so many threads.
    fn steps(A: &Split<f64>, xc: &[f64], threads: usize) -> Vec<Vec<f64>> {
        let pool = Pool::new(threads);
        let r: Vec<f64> = (0..A.nrow).map(|i| (i % 19) as f64 - 7.0).collect();
        let (mut x, mut work) = (vec![0.0; A.ncol], vec![0.0; A.nrow]);
        let mut sums = A.sums();
        smooth_from_zero(&pool, A, &r, &mut x, Some(&mut work));
        let mut after = vec![x.clone(), work.clone()];
        let vectors = Corrected {
            xc,
            r: &r,
            x: &mut x,
            work: &mut work,
        };
        correct_and_smooth(&pool, A, vectors, Portion::All, sums.shared());
        after.extend([x.clone(), work.clone(), sums.0.clone()]);
        symgs(&pool, A, &r, &mut x);
        after.push(x);
        after
    }

    #[test]
    fn a_sweep_by_slabs_gives_the_bits_of_one_by_colours() {
        let problem = Problem::new(&Geometry::single([32, 24, 128]).unwrap());
        let orderings = crate::solver::Orderings::new(&Order::COLOR8, &problem);
        let levels = orderings.view(&problem.levels);
        let pool = Pool::new(3);
        let mut split = Split::<f64>::new(&pool, &levels[0]);
        let xc: Vec<f64> = (0..split.f2c.len()).map(|k| (k % 5) as f64).collect();
        split.slabs = None;
        let by_colours = steps(&split, &xc, 1);
        let slabs = Slabs::new(&pool, &split.colors).expect("colours of one size");
        // Two members have more than their seams, and sixteen have not.
        let part = |count| split.colors[0].slices.chunks() / count;
        assert!(slabs.forward.fits(part(2)) && !slabs.forward.fits(part(16)));
        split.slabs = Some(slabs);
        for threads in [1, 2, 3, 16] {
            assert_eq!(steps(&split, &xc, threads), by_colours, "{threads} threads");
        }
        // It does matter who stays behind whom.
        let slabs = split.slabs.as_mut().unwrap();
        slabs.forward.behind.fill(0);
        assert_ne!(steps(&split, &xc, 1), by_colours);
    }

    #[test]
    fn rows_that_depend_on_each_other_have_no_slabs() {
        let problem = Problem::new(&Geometry::single([16; 3]).unwrap());
        let orderings = crate::solver::Orderings::new(&Order::Natural, &problem);
        let levels = orderings.view(&problem.levels);
        let pool = Pool::new(1);
        let split = Split::<f64>::new(&pool, &levels[0]);
        assert!(Slabs::new(&pool, &split.colors).is_none());
    }
}
