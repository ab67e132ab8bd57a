//! Splits a level's rows into L, D and U.

use std::ops::Range;
use std::sync::atomic::{AtomicIsize, Ordering};

use cubie_host::Ordered;

use super::columns::Spare;
use super::filling::{Filler, NewPart, NewTriangle};
use super::part::place;
use super::slabs::Slabs;
use super::slices::Slices;
use super::{Color, Injected, NOT_INJECTED, Split};
use crate::cpu::pages::Pages;
use crate::cpu::simd::LANES;
use crate::pool::{Pool, SharedSlice};
use crate::real::Real;
use crate::topology::Topology;

/// Entries of a row, or the most among some rows, in each of the parts.
#[derive(Clone, Copy, Default)]
struct Widths {
    lower: [usize; 2],
    upper: [usize; 2],
    injected: usize,
}

impl Widths {
    fn most(self, other: &Self) -> Self {
        let most = |a: [usize; 2], b: [usize; 2]| [a[0].max(b[0]), a[1].max(b[1])];
        Self {
            lower: most(self.lower, other.lower),
            upper: most(self.upper, other.upper),
            injected: self.injected.max(other.injected),
        }
    }
}

impl<T: Real> Split<T> {
    /// Converts a level.
    pub(in crate::cpu) fn new(pool: &Pool, level: &Ordered<'_>) -> Self {
        let A = &level.level.A;
        let [nx, ny, _] = level.level.geometry.n;
        let f2c = level.f2c();
        let coarse = coarse_rows(A.nrow, &f2c);
        let mut first_chunk = 0;
        let colors: Vec<Color<T>> = level
            .order
            .colors
            .iter()
            .enumerate()
            .map(|(number, color)| {
                let slices = Slices::new(color.rows.clone(), color.block, nx * ny);
                let mut new = Color::new(pool, level, slices, &coarse, f2c.len());
                (new.number, new.first_chunk) = (number, first_chunk);
                first_chunk += new.slices.chunks();
                new
            })
            .collect();
        let injected = injected_slices(&colors, &coarse);
        // From a cache that all of x fits into, a sweep gets it as fast colour by colour.
        let cache = Topology::here().last_level_cache.unwrap_or(u64::MAX);
        let large = (A.ncol * size_of::<T>()) as u64 > cache;
        let slabs = large.then(|| Slabs::new(pool, &colors)).flatten();
        Self {
            nrow: A.nrow,
            ncol: A.ncol,
            colors,
            f2c,
            injected,
            slabs,
        }
    }
}

/// The coarse row of each row, or `NOT_INJECTED`.
fn coarse_rows(nrow: usize, f2c: &[u32]) -> Vec<u32> {
    let mut coarse = vec![NOT_INJECTED; nrow];
    for (k, &i) in (0..).zip(f2c) {
        coarse[i as usize] = k;
    }
    coarse
}

/// A nonzero off the diagonal.
struct Entry {
    col: u32,
    value: f64,
    /// Whether it belongs to U.
    is_upper: bool,
    /// Whether its column is a row of the window.
    is_chained: bool,
}

/// Calls back with the nonzeros of row `i` of a slice with this window.
#[inline(always)]
fn for_each_entry(
    level: &Ordered<'_>,
    window: &Range<usize>,
    i: usize,
    mut entry: impl FnMut(Entry),
) {
    let A = &level.level.A;
    let (cols, values) = A.row(level.old(i));
    for (&col, &value) in cols.iter().zip(values) {
        let col = level.col(col);
        let j = col as usize;
        if j != i {
            entry(Entry {
                col,
                value,
                is_upper: j > i && j < A.nrow,
                is_chained: window.contains(&j),
            });
        }
    }
}

/// Slices whose widths are found by one thread at a time.
const CHUNK: usize = 128;

/// The most entries that a row of a colour has in each part.
fn widest(pool: &Pool, level: &Ordered<'_>, slices: &Slices, coarse: &[u32]) -> Widths {
    let mut widths = vec![Widths::default(); slices.len().div_ceil(CHUNK)];
    pool.split(&mut widths, |first, widths| {
        for (chunk, most) in (first..).zip(widths) {
            for slice in chunk * CHUNK..((chunk + 1) * CHUNK).min(slices.len()) {
                let window = slices.window(slice);
                for i in slices.rows_of(slice) {
                    let mut row = Widths::default();
                    for_each_entry(level, &window, i, |entry| {
                        if entry.is_upper {
                            row.upper[usize::from(entry.is_chained)] += 1;
                            row.injected += usize::from(coarse[entry.col as usize] != NOT_INJECTED);
                        } else {
                            row.lower[usize::from(entry.is_chained)] += 1;
                        }
                    });
                    *most = row.most(most);
                }
            }
        }
    });
    widths.iter().fold(Widths::default(), Widths::most)
}

/// How many slices of the run of row `j` must be done before that of row `i` can be visited, beyond
/// as many as come before it in its own run, if one refers to the other, in either direction.
fn lead(slices: &Slices, i: usize, j: usize) -> isize {
    let ((run_i, slice_i), (run_j, slice_j)) = (slices.place_of(i), slices.place_of(j));
    match run_i.abs_diff(run_j) {
        0 => isize::MIN,
        1 if i > j => slice_j.cast_signed() - slice_i.cast_signed() + 1,
        1 => slice_i.cast_signed() - slice_j.cast_signed() + 1,
        _ => isize::MAX,
    }
}

impl<T: Real> Color<T> {
    /// The rows of one colour, taken from a level of whose rows so many are injected.
    fn new(
        pool: &Pool,
        level: &Ordered<'_>,
        slices: Slices,
        coarse: &[u32],
        injected: usize,
    ) -> Self {
        let A = &level.level.A;
        let len = slices.len();
        let widths = widest(pool, level, &slices, coarse);
        let mut diagonal = Pages::zeros(len * LANES);
        // A sweep writes the rows of this colour, and halos come while others are visited.
        let others = level.order.colors.iter().map(|color| color.rows.clone());
        let spare = Spare(others.filter(|rows| *rows != slices.rows).collect());
        let mut lower = NewTriangle::new(len, widths.lower, false, spare.clone());
        let mut upper = NewTriangle::new(len, widths.upper, true, spare);
        let coarse_rows = Spare(std::iter::once(0..injected).collect());
        let mut injected = NewPart::new(len, widths.injected, coarse_rows);
        let mut boundary = vec![false; if A.ncol > A.nrow { len } else { 0 }];
        // At least one: the last slice of a run waits for all of the run before.
        let most_lead = AtomicIsize::new(1);
        let shared_diagonal = SharedSlice::new(&mut diagonal);
        let (shared_lower, shared_upper) = (lower.shared(), upper.shared());
        let shared_injected = injected.shared();
        let shared_boundary = SharedSlice::new(&mut boundary);
        pool.run(|member| {
            let mut lower = shared_lower.far.filler();
            let mut upper = shared_upper.far.filler();
            let mut injected = shared_injected.filler();
            let mut most = isize::MIN;
            for slice in slices.steps(1).of(member) {
                let mut needs_halo = false;
                let (rows, window) = (slices.rows_of(slice), slices.window(slice));
                // SAFETY: each slice belongs to one member.
                let diagonal =
                    unsafe { shared_diagonal.slice_mut(slice * LANES..(slice + 1) * LANES) };
                diagonal.fill(T::ONE);
                // SAFETY: each slice belongs to one member.
                unsafe {
                    shared_lower.chain.clear(slice);
                    shared_upper.chain.clear(slice);
                }
                for (l, i) in rows.clone().enumerate() {
                    diagonal[l] = T::from_f64(A.diagonal_value(level.old(i)));
                    for_each_entry(level, &window, i, |entry| {
                        let (value, j) = (T::from_f64(entry.value), entry.col as usize);
                        let (part, chain) = if entry.is_upper {
                            (&mut upper, &shared_upper.chain)
                        } else {
                            (&mut lower, &shared_lower.chain)
                        };
                        if entry.is_chained {
                            // SAFETY: each slice belongs to one member.
                            unsafe { chain.push(slice, l, place(rows.start, j), value) };
                        } else {
                            part.rows.push(l, entry.col, value);
                        }
                        if entry.is_upper && coarse[j] != NOT_INJECTED {
                            injected.rows.push(l, coarse[j], value);
                        }
                        needs_halo |= j >= A.nrow;
                        if slices.ordered() && slices.rows.contains(&j) {
                            most = most.max(lead(&slices, i, j));
                        }
                    });
                }
                // Whoever visits a slice may read its rows.
                let own = u32::try_from(rows.start).expect("columns have 32 bits");
                // SAFETY: each slice belongs to one member.
                unsafe {
                    lower.place(slice, own);
                    upper.place(slice, own);
                    injected.place(slice, 0);
                    if needs_halo {
                        shared_boundary.slice_mut(slice..slice + 1)[0] = true;
                    }
                }
            }
            [lower, upper, injected].into_iter().for_each(Filler::end);
            most_lead.fetch_max(most, Ordering::Relaxed);
        });
        Self {
            slices,
            number: 0,
            first_chunk: 0,
            lead: most_lead.into_inner().unsigned_abs(),
            diagonal,
            lower: lower.filled(),
            upper: upper.filled(),
            injected: injected.filled(),
            boundary,
        }
    }
}

fn injected_slices<T: Real>(colors: &[Color<T>], coarse: &[u32]) -> Vec<Injected> {
    let mut injected = Vec::new();
    for (c, color) in colors.iter().enumerate() {
        for slice in 0..color.slices.len() {
            let mut lanes = [NOT_INJECTED; LANES];
            let rows = &coarse[color.rows_of(slice)];
            lanes[..rows.len()].copy_from_slice(rows);
            if rows.iter().any(|&k| k != NOT_INJECTED) {
                injected.push(Injected {
                    color: c,
                    slice,
                    coarse: lanes,
                });
            }
        }
    }
    injected
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubie_host::{Geometry, Order, Problem};

    #[test]
    fn parts_have_the_widths_of_the_parity_classes() {
        let problem = Problem::new(&Geometry::single([16; 3]).unwrap());
        let orderings = crate::solver::Orderings::new(&Order::COLOR8, &problem);
        let levels = orderings.view(&problem.levels);
        let split = Split::<f64>::new(&Pool::new(2), &levels[0]);
        let widths: Vec<_> = split
            .colors
            .iter()
            .map(|c| (c.lower.far.width, c.upper.far.width, c.injected.width))
            .collect();
        assert_eq!(
            widths.iter().map(|w| w.0 + w.1).collect::<Vec<_>>(),
            [26; 8]
        );
        assert_eq!(
            widths.iter().map(|w| w.2).collect::<Vec<_>>(),
            [8, 4, 4, 4, 2, 2, 2, 0]
        );
        assert_eq!((widths[0].0, widths[7].1), (0, 0));
    }
}
