//! What messages carry: bytes that tell who sent them, to whom and in which repetition, so that
//! nothing arrives in the place of something else without being noticed.

use std::ops::Range;

/// Values of an allreduce are whole numbers below this, so that their sums are exact in `f32`.
const VALUES: usize = 61;

/// Who sends to whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// How much of a message is written and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// All of it: before the timing.
    Whole,
    /// The first element, which costs hardly anything that a clock sees.
    First,
}

impl Depth {
    /// The elements of a message of this length that are looked at.
    fn of(self, len: usize) -> Range<usize> {
        match self {
            Self::Whole => 0..len,
            Self::First => 0..len.min(1),
        }
    }
}

/// Byte `i` of the message of repetition `k`.
#[expect(clippy::cast_possible_truncation, reason = "the lowest bits are meant")]
fn byte(route: Route, k: usize, i: usize) -> u8 {
    (167 * i + 13 * (i >> 8) + 59 * route.from + 101 * route.to + 29 * k) as u8
}

/// Writes the message of repetition `k`.
pub(super) fn write(bytes: &mut [u8], route: Route, k: usize, depth: Depth) {
    for i in depth.of(bytes.len()) {
        bytes[i] = byte(route, k, i);
    }
}

/// Whether this is the message of repetition `k`.
pub(super) fn holds(bytes: &[u8], route: Route, k: usize, depth: Depth) -> bool {
    depth.of(bytes.len()).all(|i| bytes[i] == byte(route, k, i))
}

/// Value `i` of a rank in repetition `k` of an allreduce.
fn value(rank: usize, k: usize, i: usize) -> usize {
    (7 * i + 3 * k + 5 * rank) % VALUES
}

/// Writes what a rank adds in repetition `k`.
pub(super) fn write_values(values: &mut [f32], rank: usize, k: usize, depth: Depth) {
    for i in depth.of(values.len()) {
        values[i] = value(rank, k, i) as f32;
    }
}

/// Sums over so many ranks, by the value of rank 0.
pub(super) fn sums(ranks: usize) -> Vec<f32> {
    let sum = |first: usize| (0..ranks).map(|rank| (first + 5 * rank) % VALUES).sum();
    (0..VALUES).map(sum).map(|sum: usize| sum as f32).collect()
}

/// Whether these are the sums of repetition `k`.
pub(super) fn holds_sums(values: &[f32], sums: &[f32], k: usize, depth: Depth) -> bool {
    depth
        .of(values.len())
        .all(|i| values[i] == sums[value(0, k, i)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_byte_is_noticed_before_the_timing() {
        let route = Route { from: 1, to: 2 };
        let mut bytes = vec![0; 300];
        write(&mut bytes, route, 5, Depth::Whole);
        assert!(holds(&bytes, route, 5, Depth::Whole));
        for i in 0..bytes.len() {
            bytes[i] ^= 4;
            assert!(!holds(&bytes, route, 5, Depth::Whole), "{i}");
            bytes[i] ^= 4;
        }
    }

    #[test]
    fn another_sender_receiver_repetition_or_place_is_noticed() {
        let mut bytes = [0; 9];
        for depth in [Depth::Whole, Depth::First] {
            write(&mut bytes, Route { from: 1, to: 2 }, 5, depth);
            assert!(holds(&bytes, Route { from: 1, to: 2 }, 5, depth));
            assert!(!holds(&bytes, Route { from: 0, to: 2 }, 5, depth));
            assert!(!holds(&bytes, Route { from: 1, to: 3 }, 5, depth));
            assert!(!holds(&bytes, Route { from: 1, to: 2 }, 4, depth));
            bytes.rotate_left(1);
            assert!(!holds(&bytes, Route { from: 1, to: 2 }, 5, depth));
        }
        write(&mut bytes, Route { from: 1, to: 2 }, 6, Depth::First);
        assert!(holds(&bytes, Route { from: 1, to: 2 }, 6, Depth::First));
    }

    #[test]
    fn a_rank_that_is_left_out_of_a_sum_is_noticed() {
        let table = sums(3);
        let mut values = [0.0; 100];
        let mut sum = [0.0; 100];
        for rank in 0..3 {
            assert!(!holds_sums(&sum, &table, 2, Depth::Whole));
            write_values(&mut values, rank, 2, Depth::Whole);
            for (sum, value) in sum.iter_mut().zip(values) {
                *sum += value;
            }
        }
        assert!(holds_sums(&sum, &table, 2, Depth::Whole));
        assert!(!holds_sums(&sum, &table, 3, Depth::First));
    }
}
