//! Σ c_i x_(j_i): what memory and cores give to a product with a sparse matrix whose x is in a cache.
//!
//! Values and columns stream in as those of HPCG's rows do: a first column for a line of values and
//! an offset of one byte for each. Lines take the columns of a 27-point stencil in eight colours in
//! turn. One core reads them more slowly than plain arrays, since for each value it also loads an x
//! from its caches.

use bytemuck::{Pod, Zeroable};

use super::check::Check;
use super::kernels::{BLOCK, Line};
use crate::cpu::{Ahead, PageSize, Pages, in_a_row, prefetch};
use crate::pool::Pool;
use crate::real::Real;

/// Points of a colour along each side of the box where no run says it: its x, 512 KiB in double
/// precision, is too large for a first-level cache and not for a second-level one.
pub(super) const SIDES: [usize; 3] = [20; 3];
/// Columns that an offset of one byte reaches.
const REACH: usize = 256;

/// Where the `N` values of a line find their x: at `first + offsets`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Columns<const N: usize> {
    first: u32,
    offsets: [u8; N],
}

type OfF64 = Columns<8>;
type OfF32 = Columns<16>;

// SAFETY: whole words without padding, of which all zeros is one.
unsafe impl Zeroable for OfF64 {}
// SAFETY: no padding, any bits are numbers, and nothing else is inside.
unsafe impl Pod for OfF64 {}
// SAFETY: as above.
unsafe impl Zeroable for OfF32 {}
// SAFETY: as above.
unsafe impl Pod for OfF32 {}

/// Columns in memory, and x.
pub(super) struct Gather<T, const N: usize> {
    pub(super) columns: Pages<Columns<N>>,
    pub(super) x: Pages<T>,
    /// How values and columns are fetched.
    pub(super) ahead: Ahead,
}

impl<T: Real, const N: usize> Gather<T, N>
where
    Columns<N>: Pod,
{
    /// Columns for so many lines in a box with `sides` points of a colour, each thread the first to
    /// touch its share; `None` if the system refuses memory.
    pub(super) fn new(
        pool: &Pool,
        lines: usize,
        sides: [usize; 3],
        pages: PageSize,
    ) -> Option<Self> {
        let mut columns = Pages::new(lines, pages).ok()?;
        let offsets = in_a_row();
        pool.split(&mut columns, |start, share| {
            for (k, columns) in share.iter_mut().enumerate() {
                *columns = Columns {
                    first: first(sides, start + k),
                    offsets,
                };
            }
        });
        // The last line of the last colour, and what its offsets reach.
        let last = first(sides, 26) as usize + 8 * sides.iter().product::<usize>();
        let mut x = Pages::new(last + REACH, pages).ok()?;
        // Small whole numbers: their sums are exact.
        pool.split(&mut x, |start, share| {
            for (k, x) in share.iter_mut().enumerate() {
                *x = T::from_f64((1 + (start + k) % 7) as f64);
            }
        });
        Some(Self {
            columns,
            x,
            ahead: Ahead::here(),
        })
    }

    /// Bytes of the columns.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.columns[..])
    }

    /// Compares the sum with that of the same x, each times `a`.
    pub(super) fn check(&self, check: &mut Check, sum: f64, a: f64, bound: f64) {
        let x = |columns: &Columns<N>| {
            let at = |&offset: &u8| self.x[columns.first as usize + usize::from(offset)];
            columns
                .offsets
                .iter()
                .map(|offset| at(offset).to_f64())
                .sum::<f64>()
        };
        let exact = a * self.columns.iter().map(x).sum::<f64>();
        check.compare("Gather", sum, exact, bound);
    }
}

/// The first column of a line: the rows of a colour in turn, each with its 27 neighbours. Of the three
/// along a direction those at the ends have one colour and the middle one another.
fn first(sides: [usize; 3], line: usize) -> u32 {
    let all: usize = sides.iter().product();
    let (row, slot) = (line / 27 * 8 % all, line % 27);
    let places = [slot % 3, slot / 3 % 3, slot / 9];
    let [x, y, z] = places.map(|place| place / 2);
    let [cx, cy, cz] = places.map(|place| place % 2);
    let colour = (cz * 2 + cy) * 2 + cx;
    let column = colour * all + row + (z * sides[1] + y) * sides[0] + x;
    u32::try_from(column).expect("HPCG's columns have 32 bits")
}

/// Σ c_i x_(j_i) over lines with their columns.
#[inline(always)]
pub(super) fn gather<T: Real, const N: usize>(
    ahead: Ahead,
    a: &[Line<T, N>],
    columns: &[Columns<N>],
    x: &[T],
) -> f64 {
    match ahead {
        Ahead::Past => gather_with::<true, T, N>(a, columns, x),
        Ahead::SecondLevel => gather_with::<false, T, N>(a, columns, x),
    }
}

#[inline(always)]
fn gather_with<const PAST: bool, T: Real, const N: usize>(
    a: &[Line<T, N>],
    columns: &[Columns<N>],
    x: &[T],
) -> f64 {
    let blocks = a.chunks(BLOCK).zip(columns.chunks(BLOCK));
    let block = |(a, columns): (&[Line<T, N>], &[Columns<N>])| {
        let mut sums = [T::ZERO; N];
        for (a, columns) in a.iter().zip(columns) {
            prefetch::<PAST, _>(a, false);
            prefetch::<PAST, _>(columns, false);
            let x = x[columns.first as usize..]
                .first_chunk::<REACH>()
                .expect("x reaches so far");
            let mut add = |xs: &[T; N]| {
                for (sum, (a, x)) in sums.iter_mut().zip(a.0.iter().zip(xs)) {
                    *sum = *sum + *a * *x;
                }
            };
            // As the rows of HPCG do: one load where columns follow each other.
            if columns.offsets == const { in_a_row() } {
                add(x.first_chunk().expect("fewer than REACH"));
            } else {
                add(&columns.offsets.map(|offset| x[usize::from(offset)]));
            }
        }
        sums.iter().map(|sum| sum.to_f64()).sum::<f64>()
    };
    blocks.map(block).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_27_columns_of_its_own() {
        let columns = |row: usize| (27 * row..27 * (row + 1)).map(|line| first(SIDES, line));
        let rows = SIDES.iter().product::<usize>() / 8;
        for row in [0, 1, rows - 1] {
            let mut all: Vec<u32> = columns(row).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 27);
            assert!(columns(row).eq(columns(row + rows)), "the box begins anew");
        }
    }

    #[test]
    fn a_wrong_sum_is_found_out() {
        let pool = Pool::new(2);
        let lines = 2 * BLOCK + 5;
        let a = vec![Line([3.0; 8]); lines];
        let probe = Gather::<f64, 8>::new(&pool, lines, [3, 1, 5], PageSize::Small).unwrap();
        let sum = gather(Ahead::here(), &a, &probe.columns, &probe.x);
        for (sum, failures) in [(sum, 0), (sum + 3.0, 1), (f64::NAN, 1)] {
            let mut check = Check {
                bound: 0.0,
                failures: Vec::new(),
            };
            probe.check(&mut check, sum, 3.0, 1e-12);
            assert_eq!(check.failures.len(), failures, "{:?}", check.failures);
        }
    }
}
