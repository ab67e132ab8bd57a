//! Orders in which Gauss–Seidel visits the rows, and the permutation that brings a level into one.
//!
//! HPCG lets a program permute the matrix: afterwards every kernel runs over rows `0..nrow`, and
//! rows that may be smoothed at the same time stand together (HPCG: `OptimizeProblem`).

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use rayon::prelude::*;

use crate::halo::Halo;
use crate::matrix::{Matrix, WIDTH, row_number};
use crate::problem::Level;

/// An order of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// As generated: x, then y, then z. The reference's order; sequential.
    Natural,
    /// Colours of the greedy colouring of the matrix graph, visited in this order. For the
    /// 27-point matrix they are the eight parity classes `4(z&1) + 2(y&1) + (x&1)`.
    Color8([u8; 8]),
    /// Two colours of groups of this many xy planes; natural order within a group.
    Plane2(usize),
}

impl Order {
    /// `color8` in the order of visiting that needs the fewest iterations.
    pub const COLOR8: Order = Order::Color8([7, 3, 5, 6, 2, 1, 4, 0]);
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Natural => f.write_str("natural"),
            order if *order == Self::COLOR8 => f.write_str("color8"),
            Self::Color8(visit) => {
                f.write_str("color8:")?;
                visit.iter().try_for_each(|c| write!(f, "{c}"))
            }
            Self::Plane2(k) => write!(f, "plane2:{k}"),
        }
    }
}

impl FromStr for Order {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "'{text}' is not an order; use natural, color8, color8:DIGITS with the digits 0 to 7 in the order of visiting, or plane2:K with K planes a group"
            )
        };
        match text.split_once(':') {
            None if text == "natural" => Ok(Self::Natural),
            None if text == "color8" => Ok(Self::COLOR8),
            Some(("color8", digits)) => {
                let visit: Vec<u8> = digits.bytes().map(|b| b.wrapping_sub(b'0')).collect();
                let visit: [u8; 8] = visit.try_into().map_err(|_| unknown())?;
                let all = (0..8).all(|c| visit.contains(&c));
                if all {
                    Ok(Self::Color8(visit))
                } else {
                    Err(unknown())
                }
            }
            Some(("plane2", k)) => k
                .parse()
                .ok()
                .filter(|&k| k > 0)
                .map(Self::Plane2)
                .ok_or_else(unknown),
            _ => Err(unknown()),
        }
    }
}

/// Rows of one colour: blocks of them may be smoothed at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Color {
    /// The rows, in the new order.
    pub rows: Range<usize>,
    /// Rows in a block that must be visited one after the other; 1 if all rows are independent.
    /// The last block may be shorter.
    pub block: usize,
}

/// A level's order carried out: a bijection between new and old rows, and the colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordering {
    /// The old row of each new row.
    pub perm: Vec<u32>,
    /// The new row of each old row.
    pub inverse: Vec<u32>,
    /// The colours in the order of a forward sweep.
    pub colors: Vec<Color>,
}

impl Ordering {
    /// Orders the rows of `level`.
    pub fn new(order: &Order, level: &Level) -> Self {
        let nrow = level.A.nrow;
        match order {
            Order::Natural => {
                let perm: Vec<u32> = (0..row_number(nrow)).collect();
                Self {
                    inverse: perm.clone(),
                    perm,
                    colors: vec![Color {
                        rows: 0..nrow,
                        block: nrow,
                    }],
                }
            }
            Order::Color8(visit) => {
                let colors = greedy_coloring(&level.A);
                let mut place = [0; 256];
                for (k, &c) in visit.iter().enumerate() {
                    place[usize::from(c)] = k;
                }
                (8..256).for_each(|c| place[c] = c);
                Self::by_class(nrow, 256, |i| place[usize::from(colors[i])], 1)
            }
            Order::Plane2(k) => {
                let [nx, ny, nz] = level.geometry.n;
                let group = nx * ny * nz.min(*k);
                Self::by_class(nrow, 2, |i| i / group % 2, group)
            }
        }
    }

    /// Groups the rows by class, keeping their order within each.
    fn by_class(nrow: usize, classes: usize, class: impl Fn(usize) -> usize, block: usize) -> Self {
        let mut start = vec![0; classes + 1];
        (0..nrow).for_each(|i| start[class(i) + 1] += 1);
        (0..classes).for_each(|c| start[c + 1] += start[c]);
        let colors = (0..classes)
            .map(|c| start[c]..start[c + 1])
            .filter(|rows| !rows.is_empty())
            .map(|rows| Color { rows, block })
            .collect();
        let mut perm = vec![0; nrow];
        let mut inverse = vec![0; nrow];
        for (i, new_row) in inverse.iter_mut().enumerate() {
            let new = &mut start[class(i)];
            perm[*new] = row_number(i);
            *new_row = row_number(*new);
            *new += 1;
        }
        Self {
            perm,
            inverse,
            colors,
        }
    }

    /// Whether every row stays where it was.
    pub fn is_natural(&self) -> bool {
        self.perm
            .iter()
            .enumerate()
            .all(|(i, &old)| old as usize == i)
    }

    /// A vector in the old order brought into the new one.
    pub fn permute<T: Copy>(&self, old: &[T]) -> Vec<T> {
        self.perm.iter().map(|&i| old[i as usize]).collect()
    }

    /// A vector in the new order brought back into the old one.
    pub fn restore<T: Copy>(&self, new: &[T]) -> Vec<T> {
        self.inverse.iter().map(|&i| new[i as usize]).collect()
    }

    /// Bytes allocated.
    pub fn bytes(&self) -> u64 {
        (self.perm.len() + self.inverse.len()) as u64 * 4
    }
}

/// First-fit greedy colouring of the matrix graph in natural row order: each row takes the least
/// colour that none of the earlier rows it couples to has (27 suffice for 27-point rows).
#[expect(clippy::cast_possible_truncation, reason = "at most 27")]
pub fn greedy_coloring(A: &Matrix) -> Vec<u8> {
    let mut colors = vec![0u8; A.nrow];
    for i in 0..A.nrow {
        let mut taken = 0u32;
        for &j in &A.cols[i * WIDTH..i * WIDTH + usize::from(A.diagonal[i])] {
            if (j as usize) < i {
                taken |= 1 << colors[j as usize];
            }
        }
        colors[i] = taken.trailing_ones() as u8;
    }
    colors
}

/// A level seen in the order that an [`Ordering`] gives its rows.
#[derive(Clone, Copy, Debug)]
pub struct Ordered<'a> {
    /// The level as generated.
    pub level: &'a Level,
    /// The order of its rows.
    pub order: &'a Ordering,
    /// The order of the next coarser level's rows, if there is one.
    pub coarse: Option<&'a Ordering>,
}

impl Ordered<'_> {
    /// The old row of new row `i`.
    pub fn old(&self, i: usize) -> usize {
        self.order.perm[i] as usize
    }

    /// The new number of a column: local ones move, external ones stay.
    pub fn col(&self, old: u32) -> u32 {
        self.order.inverse.get(old as usize).copied().unwrap_or(old)
    }

    /// The new columns of new row `i`, padding included, in the entries' old sequence.
    pub fn cols(&self, i: usize) -> impl Iterator<Item = u32> {
        let old = self.old(i);
        self.level.A.cols[old * WIDTH..][..WIDTH]
            .iter()
            .map(|&col| self.col(col))
    }

    /// The values of new row `i`, padding included, in the entries' old sequence.
    pub fn values(&self, i: usize) -> &[f64] {
        &self.level.A.values[self.old(i) * WIDTH..][..WIDTH]
    }

    /// The fine row (new) of each coarse row (new); empty on the coarsest level.
    pub fn f2c(&self) -> Vec<u32> {
        let Some(coarse) = self.coarse else {
            return Vec::new();
        };
        coarse
            .perm
            .iter()
            .map(|&k| self.order.inverse[self.level.f2c[k as usize] as usize])
            .collect()
    }

    /// The halo with the rows it sends renamed.
    pub fn halo(&self) -> Halo {
        let mut halo = self.level.halo.clone();
        halo.send_rows
            .iter_mut()
            .for_each(|row| *row = self.col(*row));
        halo
    }

    /// The matrix carried over into the new order; shared with the level if that is the old one.
    pub fn matrix(&self) -> Arc<Matrix> {
        let A = &self.level.A;
        if self.order.is_natural() {
            return Arc::clone(A);
        }
        let mut values = vec![0.0; A.values.len()];
        let mut cols = vec![0; A.cols.len()];
        values
            .par_chunks_exact_mut(WIDTH)
            .zip(cols.par_chunks_exact_mut(WIDTH))
            .enumerate()
            .for_each(|(i, (values, cols))| {
                values.copy_from_slice(self.values(i));
                for (new, col) in cols.iter_mut().zip(self.cols(i)) {
                    *new = col;
                }
            });
        Arc::new(Matrix {
            values,
            cols,
            row_nnz: self.order.permute(&A.row_nnz),
            diagonal: self.order.permute(&A.diagonal),
            ..**A
        })
    }
}
