//! Splits a level's rows into L, D and U.

use cubie_host::Ordered;

use super::{Color, Injected, NOT_INJECTED, Part, Split};
use crate::cpu::pool::{Pool, SharedSlice};
use crate::cpu::simd::LANES;
use crate::real::Real;

/// The three parts of a row.
#[derive(Clone, Copy, Default)]
struct Widths {
    lower: usize,
    upper: usize,
    injected: usize,
}

impl<T: Real> Split<T> {
    /// Converts a level.
    pub(in crate::cpu) fn new(pool: &Pool, level: &Ordered<'_>) -> Self {
        let A = &level.level.A;
        let f2c = level.f2c();
        let coarse = coarse_rows(A.nrow, &f2c);
        let mut first_unit = 0;
        let colors: Vec<Color<T>> = level
            .order
            .colors
            .iter()
            .map(|color| {
                let widths = widest(pool, level, color.rows.clone(), &coarse);
                let mut new = Color::zeros(color.rows.clone(), color.block, first_unit, &widths);
                first_unit += new.most_units();
                new.fill(pool, level, &coarse);
                new.find_boundary(A.nrow, A.ncol);
                new
            })
            .collect();
        let injected = injected_slices(&colors, &coarse);
        Self {
            nrow: A.nrow,
            ncol: A.ncol,
            colors,
            f2c,
            injected,
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

/// Calls back with the part of row `i` that each nonzero off the diagonal belongs to.
#[inline(always)]
fn for_each_entry(level: &Ordered<'_>, i: usize, mut entry: impl FnMut(bool, u32, f64)) {
    let A = &level.level.A;
    let (cols, values) = A.row(level.old(i));
    for (&col, &value) in cols.iter().zip(values) {
        let col = level.col(col);
        let j = col as usize;
        if j != i {
            entry(j > i && j < A.nrow, col, value);
        }
    }
}

/// The most entries that a row among `rows` has in each part.
fn widest<T>(pool: &Pool, level: &Ordered<'_>, rows: std::ops::Range<usize>, coarse: &[T]) -> Widths
where
    T: Copy + PartialEq<u32> + Sync,
{
    let mut widths = vec![Widths::default(); rows.len().div_ceil(1024)];
    pool.split(&mut widths, |first, widths| {
        for (block, most) in (first..).zip(widths) {
            let start = rows.start + block * 1024;
            for i in start..(start + 1024).min(rows.end) {
                let mut row = Widths::default();
                for_each_entry(level, i, |upper, col, _| {
                    row.lower += usize::from(!upper);
                    row.upper += usize::from(upper);
                    row.injected += usize::from(upper && coarse[col as usize] != NOT_INJECTED);
                });
                most.lower = most.lower.max(row.lower);
                most.upper = most.upper.max(row.upper);
                most.injected = most.injected.max(row.injected);
            }
        }
    });
    widths.iter().fold(Widths::default(), |a, b| Widths {
        lower: a.lower.max(b.lower),
        upper: a.upper.max(b.upper),
        injected: a.injected.max(b.injected),
    })
}

impl<T: Real> Color<T> {
    fn zeros(
        rows: std::ops::Range<usize>,
        block: usize,
        first_unit: usize,
        widths: &Widths,
    ) -> Self {
        let lanes = rows.len().next_multiple_of(LANES);
        let part = |width| Part {
            width,
            values: vec![T::ZERO; lanes * width],
            cols: vec![0; lanes * width],
        };
        Self {
            rows,
            block,
            first_unit,
            diagonal: vec![T::ONE; lanes],
            lower: part(widths.lower),
            upper: part(widths.upper),
            injected: part(widths.injected),
            boundary: Vec::new(),
        }
    }

    fn fill(&mut self, pool: &Pool, level: &Ordered<'_>, coarse: &[u32]) {
        let A = &level.level.A;
        let rows = self.rows.clone();
        let diagonal = SharedSlice::new(&mut self.diagonal);
        let (lower, upper, injected) = (
            self.lower.shared(),
            self.upper.shared(),
            self.injected.shared(),
        );
        pool.run(|member| {
            for slice in member.share(rows.len().div_ceil(LANES)) {
                // SAFETY: each slice belongs to one member.
                let (diagonal, mut lower, mut upper, mut injected) = unsafe {
                    (
                        diagonal.slice_mut(slice * LANES..(slice + 1) * LANES),
                        lower.slice_mut(slice),
                        upper.slice_mut(slice),
                        injected.slice_mut(slice),
                    )
                };
                let start = rows.start + slice * LANES;
                for (l, i) in (start..(start + LANES).min(rows.end)).enumerate() {
                    diagonal[l] = T::from_f64(A.diagonal_value(level.old(i)));
                    for_each_entry(level, i, |is_upper, col, value| {
                        if !is_upper {
                            lower.push(l, col, value);
                        } else {
                            upper.push(l, col, value);
                            if coarse[col as usize] != NOT_INJECTED {
                                injected.push(l, coarse[col as usize], value);
                            }
                        }
                    });
                }
            }
        });
    }
}

impl<T: Real> Color<T> {
    fn find_boundary(&mut self, nrow: usize, ncol: usize) {
        if ncol > nrow {
            let entries = self.lower.width * LANES;
            let needs_halo = |slice: usize| {
                let cols = &self.lower.cols[slice * entries..(slice + 1) * entries];
                cols.iter().any(|&col| col as usize >= nrow)
            };
            self.boundary = (0..self.slices()).map(needs_halo).collect();
        }
    }
}

/// A part that the members of a team fill.
struct SharedPart<T> {
    width: usize,
    values: SharedSlice<T>,
    cols: SharedSlice<u32>,
}

/// One slice of it, and how many entries each lane has so far.
struct PartSlice<'a, T> {
    values: &'a mut [T],
    cols: &'a mut [u32],
    filled: [usize; LANES],
}

impl<T: Real> Part<T> {
    fn shared(&mut self) -> SharedPart<T> {
        SharedPart {
            width: self.width,
            values: SharedSlice::new(&mut self.values),
            cols: SharedSlice::new(&mut self.cols),
        }
    }
}

impl<T: Real> SharedPart<T> {
    /// # Safety
    /// No other thread touches the slice.
    unsafe fn slice_mut(&self, slice: usize) -> PartSlice<'_, T> {
        let entries = slice * self.width * LANES..(slice + 1) * self.width * LANES;
        // SAFETY: by the caller's promise.
        let (values, cols) = unsafe {
            (
                self.values.slice_mut(entries.clone()),
                self.cols.slice_mut(entries),
            )
        };
        PartSlice {
            values,
            cols,
            filled: [0; LANES],
        }
    }
}

impl<T: Real> PartSlice<'_, T> {
    #[inline(always)]
    fn push(&mut self, l: usize, col: u32, value: f64) {
        let at = self.filled[l] * LANES + l;
        self.values[at] = T::from_f64(value);
        self.cols[at] = col;
        self.filled[l] += 1;
    }
}

fn injected_slices<T: Real>(colors: &[Color<T>], coarse: &[u32]) -> Vec<Injected> {
    let mut injected = Vec::new();
    for (c, color) in colors.iter().enumerate() {
        for slice in 0..color.slices() {
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
            .map(|c| (c.lower.width, c.upper.width, c.injected.width))
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
