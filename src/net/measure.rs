//! How an operation is timed: warm-up with every byte compared, then as many repetitions as the
//! size of the messages and the time allow.

use std::time::Instant;

use cubie_host::Ranks;

use super::operations::Repeated;
use super::payload::Depth;

/// Repetitions of small messages, as in the Intel MPI Benchmarks.
const MOST_REPETITIONS: usize = 1000;
/// Bytes that are sent in all repetitions together, as there.
const VOLUME: usize = 40 << 20;
/// Repetitions before the timing.
const WARM_UP: usize = 10;
/// Barriers before the timing, as there.
const BARRIERS: usize = 2;

/// What the clock sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// All repetitions together: one starts as soon as the one before is done.
    Together,
    /// Each by itself, and all ranks wait for each other after it.
    Each,
}

/// How long it took.
pub(super) struct Timed {
    pub(super) repetitions: usize,
    /// Seconds of a repetition on each rank; of a message where one follows the other.
    pub(super) seconds: Vec<f64>,
}

/// Times an operation on messages of so many bytes, at most `limit` seconds; nothing if any rank
/// got something else than was sent. All ranks get the same.
pub(super) fn measure<R: Repeated>(
    ranks: &Ranks,
    operation: &mut R,
    bytes: usize,
    limit: f64,
) -> Option<Timed> {
    let mut is_right = true;
    let mut warm_up = [0.0; WARM_UP];
    for (k, seconds) in warm_up.iter_mut().enumerate() {
        operation.prepare(k, Depth::Whole);
        let start = Instant::now();
        operation.run();
        *seconds = start.elapsed().as_secs_f64();
        is_right &= operation.is_right(k, Depth::Whole);
    }
    // The first rank decides for all; the slowest repetition, mostly the first, does not count.
    warm_up.sort_by(f64::total_cmp);
    let usual = &warm_up[..WARM_UP - 1];
    let one = ranks.gather(&[usual.iter().sum::<f64>() / usual.len() as f64])[0][0];
    let repetitions = repetitions(bytes, one, limit);

    for _ in 0..BARRIERS {
        ranks.barrier();
    }
    let timed = WARM_UP..WARM_UP + repetitions;
    let mut seconds = 0.0;
    match R::CLOCK {
        Clock::Together => {
            let start = Instant::now();
            for k in timed {
                operation.prepare(k, Depth::First);
                operation.run();
                is_right &= operation.is_right(k, Depth::First);
            }
            seconds = start.elapsed().as_secs_f64();
        }
        Clock::Each => {
            for k in timed {
                operation.prepare(k, Depth::First);
                let start = Instant::now();
                operation.run();
                seconds += start.elapsed().as_secs_f64();
                is_right &= operation.is_right(k, Depth::First);
                ranks.barrier();
            }
        }
    }
    let all = ranks.gather(&[
        seconds / repetitions as f64 / R::MESSAGES,
        f64::from(is_right),
    ]);
    all.iter().all(|rank| rank[1] == 1.0).then(|| Timed {
        repetitions,
        seconds: all.iter().map(|rank| rank[0]).collect(),
    })
}

/// How often messages of so many bytes are sent, if once takes so many seconds.
fn repetitions(bytes: usize, seconds: f64, limit: f64) -> usize {
    let by_volume = (VOLUME / bytes.max(1)).clamp(1, MOST_REPETITIONS);
    // A float beyond the integers becomes the largest of them.
    #[expect(clippy::cast_possible_truncation, reason = "above 0")]
    let by_time = (limit / seconds) as usize;
    by_time.clamp(1, by_volume)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_messages_and_slow_ones_are_repeated_less() {
        assert_eq!(repetitions(0, 1e-6, 1.0), 1000);
        assert_eq!(repetitions(4 << 20, 1e-6, 1.0), 10);
        assert_eq!(repetitions(1 << 30, 1e-6, 1.0), 1);
        assert_eq!(repetitions(8, 0.01, 1.0), 100);
        assert_eq!(repetitions(8, 5.0, 1.0), 1);
        assert_eq!(repetitions(8, 0.0, 1.0), 1000);
    }
}
