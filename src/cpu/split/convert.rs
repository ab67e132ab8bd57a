//! Splits a level's rows into L, D and U.

use std::ops::Range;

use cubie_host::Ordered;

use super::columns::{Columns, NONE, Rows};
use super::{Color, Injected, NOT_INJECTED, Part, Split};
use crate::cpu::pages::Pages;
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
                let rows = color.rows.clone();
                let new = Color::new(pool, level, rows, color.block, first_unit, &coarse);
                first_unit += new.most_units();
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
fn widest<T>(pool: &Pool, level: &Ordered<'_>, rows: Range<usize>, coarse: &[T]) -> Widths
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
    /// The rows of one colour, taken from a level.
    fn new(
        pool: &Pool,
        level: &Ordered<'_>,
        rows: Range<usize>,
        block: usize,
        first_unit: usize,
        coarse: &[u32],
    ) -> Self {
        let A = &level.level.A;
        let slices = rows.len().div_ceil(LANES);
        let widths = widest(pool, level, rows.clone(), coarse);
        let mut diagonal = Pages::zeros(slices * LANES);
        let mut lower = NewPart::new(slices, widths.lower);
        let mut upper = NewPart::new(slices, widths.upper);
        let mut injected = NewPart::new(slices, widths.injected);
        let mut boundary = vec![false; if A.ncol > A.nrow { slices } else { 0 }];
        let shared_diagonal = SharedSlice::new(&mut diagonal);
        let shared = (lower.shared(), upper.shared(), injected.shared());
        let shared_boundary = SharedSlice::new(&mut boundary);
        pool.run(|member| {
            let mut entries = (Rows::new(), Rows::new(), Rows::new());
            for slice in member.share(slices) {
                let (lower, upper, injected) = &mut entries;
                lower.clear();
                upper.clear();
                injected.clear();
                let mut needs_halo = false;
                let at = slice * LANES;
                // SAFETY: each slice belongs to one member.
                let diagonal = unsafe { shared_diagonal.slice_mut(at..at + LANES) };
                diagonal.fill(T::ONE);
                let start = rows.start + at;
                for (l, i) in (start..(start + LANES).min(rows.end)).enumerate() {
                    diagonal[l] = T::from_f64(A.diagonal_value(level.old(i)));
                    for_each_entry(level, i, |is_upper, col, value| {
                        let value = T::from_f64(value);
                        needs_halo |= col as usize >= A.nrow;
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
                // SAFETY: each slice belongs to one member.
                unsafe {
                    shared.0.place(slice, lower);
                    shared.1.place(slice, upper);
                    shared.2.place(slice, injected);
                    if needs_halo {
                        shared_boundary.slice_mut(slice..slice + 1)[0] = true;
                    }
                }
            }
        });
        Self {
            rows,
            block,
            first_unit,
            diagonal,
            lower: lower.pack(pool),
            upper: upper.pack(pool),
            injected: injected.pack(pool),
            boundary,
        }
    }
}

/// A part whose columns are still whole.
struct NewPart<T> {
    width: usize,
    values: Pages<T>,
    cols: Pages<[u32; LANES]>,
}

/// The same while the members of a team fill it.
struct SharedPart<T> {
    width: usize,
    values: SharedSlice<T>,
    cols: SharedSlice<[u32; LANES]>,
}

impl<T: Real> NewPart<T> {
    fn new(slices: usize, width: usize) -> Self {
        Self {
            width,
            values: Pages::zeros(slices * width * LANES),
            cols: Pages::zeros(slices * width),
        }
    }
    fn shared(&mut self) -> SharedPart<T> {
        SharedPart {
            width: self.width,
            values: SharedSlice::new(&mut self.values),
            cols: SharedSlice::new(&mut self.cols),
        }
    }
    fn pack(self, pool: &Pool) -> Part<T> {
        Part {
            width: self.width,
            values: self.values,
            cols: Columns::pack(pool, self.width, &self.cols),
        }
    }
}

impl<T: Real> SharedPart<T> {
    /// # Safety
    /// No other thread touches the slice.
    unsafe fn place(&self, slice: usize, rows: &mut Rows<T>) {
        let slots = slice * self.width..(slice + 1) * self.width;
        // SAFETY: by the caller's promise.
        let (values, cols) = unsafe {
            (
                self.values
                    .slice_mut(slots.start * LANES..slots.end * LANES),
                self.cols.slice_mut(slots),
            )
        };
        cols.fill([NONE; LANES]);
        rows.place(values.as_chunks_mut().0, cols);
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
