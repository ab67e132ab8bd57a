//! What the host's memory gives: the sum of a vector that no cache holds (`cubie stream`: Read).

use std::hint::black_box;
use std::time::Instant;

use super::dot::dot;
use super::pages::Pages;
use crate::pool::Pool;
use crate::topology::Topology;

/// Measurements, of which the best counts.
const ROUNDS: usize = 3;

/// Bytes a second that so many threads read.
pub fn read_bandwidth(threads: usize) -> f64 {
    let pool = Pool::new(threads);
    let len = Topology::here().beyond_caches_in_short() / size_of::<f64>();
    let mut values = Pages::<f64>::zeros(len);
    // Whoever reads a part has touched it first.
    pool.split(&mut values, |_, part| part.fill(1.0));
    let time = || {
        let start = Instant::now();
        black_box(dot(&pool, &values, &values));
        start.elapsed().as_secs_f64()
    };
    let best = (0..ROUNDS).map(|_| time()).fold(f64::INFINITY, f64::min);
    size_of_val(&values[..]) as f64 / best
}
