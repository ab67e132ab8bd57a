//! Latency and bandwidth: `t = messages α + bytes / β`, fitted by least squares of `t(fit) / t − 1`,
//! so that a message of a few bytes counts as much as one of megabytes.

use serde::{Deserialize, Serialize};

/// A measured time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Messages, one after the other.
    pub(super) messages: usize,
    /// Their bytes.
    pub(super) bytes: usize,
    /// Seconds.
    pub(super) seconds: f64,
}

/// Latency and bandwidth of an operation, and how well they tell its times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlphaBeta {
    /// Seconds of a message without bytes.
    pub alpha: f64,
    /// Seconds of a byte: 1 / β. 0 if the times do not grow with the bytes.
    pub seconds_a_byte: f64,
    /// Root mean square of `t(fit) / t − 1`.
    pub error: f64,
    /// The fewest and the most bytes that it was fitted to.
    pub range: [usize; 2],
    /// How many times it was fitted to.
    pub points: usize,
}

impl AlphaBeta {
    /// Seconds of so many messages with so many bytes together.
    pub fn seconds(&self, messages: f64, bytes: f64) -> f64 {
        messages * self.alpha + bytes * self.seconds_a_byte
    }

    /// Fits; nothing for less than two different sizes. Neither of the two becomes negative.
    pub(super) fn fit(points: &[Point]) -> Option<Self> {
        let least = points.iter().map(|point| point.bytes).min()?;
        let most = points.iter().map(|point| point.bytes).max()?;
        if least == most || points.iter().any(|point| point.seconds <= 0.0) {
            return None;
        }
        // Both terms relative to the time; bytes in units of the most, to keep sums of one size.
        let unit = most as f64;
        let terms = |point: &Point| {
            let message = point.messages as f64 / point.seconds;
            (message, point.bytes as f64 / unit / point.seconds)
        };
        let sum = |term: fn((f64, f64)) -> f64| points.iter().map(terms).map(term).sum::<f64>();
        let (aa, ab, bb) = (
            sum(|(a, _)| a * a),
            sum(|(a, b)| a * b),
            sum(|(_, b)| b * b),
        );
        let (a, b) = (sum(|(a, _)| a), sum(|(_, b)| b));
        let determinant = aa * bb - ab * ab;
        let both = (
            (a * bb - b * ab) / determinant,
            (b * aa - a * ab) / determinant,
        );
        let (alpha, slope) = match both {
            (alpha, _) if alpha < 0.0 => (0.0, b / bb),
            (_, slope) if slope < 0.0 => (a / aa, 0.0),
            both => both,
        };
        let mut fit = Self {
            alpha,
            seconds_a_byte: slope / unit,
            error: 0.0,
            range: [least, most],
            points: points.len(),
        };
        let squares = points.iter().map(|point| {
            let fitted = fit.seconds(point.messages as f64, point.bytes as f64);
            (fitted / point.seconds - 1.0).powi(2)
        });
        fit.error = (squares.sum::<f64>() / points.len() as f64).sqrt();
        Some(fit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    /// Times of 3 messages with α = 2 µs and β = 5 GB/s, each off by a factor.
    fn points(off: impl Fn(usize) -> f64) -> Vec<Point> {
        let sizes = (0..23).map(|power| 1usize << power);
        let point = |(i, bytes)| Point {
            messages: 3,
            bytes,
            seconds: (3.0 * 2e-6 + bytes as f64 / 5e9) * off(i),
        };
        sizes.enumerate().map(point).collect()
    }

    #[test]
    fn exact_times_give_what_they_are_made_of() {
        let fit = AlphaBeta::fit(&points(|_| 1.0)).unwrap();
        assert_relative_eq!(fit.alpha, 2e-6, max_relative = 1e-12);
        assert_relative_eq!(fit.seconds_a_byte, 1.0 / 5e9, max_relative = 1e-12);
        assert!(fit.error < 1e-12, "{}", fit.error);
        assert_eq!((fit.range, fit.points), ([1, 4 << 20], 23));
    }

    #[test]
    fn small_messages_count_as_much_as_large_ones() {
        // Errors of 10 % up and down in turn: neither term may move by more.
        let fit = AlphaBeta::fit(&points(|i| if i % 2 == 0 { 1.1 } else { 0.9 })).unwrap();
        assert_relative_eq!(fit.alpha, 2e-6, max_relative = 0.05);
        assert_relative_eq!(fit.seconds_a_byte, 1.0 / 5e9, max_relative = 0.05);
        assert!((0.05..0.15).contains(&fit.error), "{}", fit.error);
    }

    #[test]
    fn neither_term_is_negative() {
        let falling = [(1, 3.0), (1000, 2.0)];
        let steep = [(1, 1.0), (1000, 5000.0)];
        let point = |(bytes, seconds)| Point {
            messages: 1,
            bytes,
            seconds,
        };
        let fit = AlphaBeta::fit(&falling.map(point)).unwrap();
        assert_eq!(fit.seconds_a_byte, 0.0);
        assert!((2.0..3.0).contains(&fit.alpha), "{}", fit.alpha);
        let fit = AlphaBeta::fit(&steep.map(point)).unwrap();
        assert_eq!(fit.alpha, 0.0);
        assert!(fit.seconds_a_byte > 0.0);
    }

    #[test]
    fn one_size_gives_no_fit() {
        assert_eq!(AlphaBeta::fit(&points(|_| 1.0)[..1]), None);
        assert_eq!(AlphaBeta::fit(&[]), None);
    }
}
