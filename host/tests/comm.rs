//! Ranks as threads: sums, gathers, and every halo transport that threads have.

use std::time::Duration;

use cubie_host::comm::{Reduce, Transport, threads};
use cubie_host::{Error, Grid, Halo, Ranks};

const TRANSPORTS: [Transport; 3] = [Transport::Isend, Transport::PutBarrier, Transport::PutFlag];

fn run<T: Send>(size: usize, transport: Transport, rank: impl Fn(Ranks) -> T + Sync) -> Vec<T> {
    threads::run(size, |comm| {
        Ok::<_, Error>(rank(Ranks::new(Box::new(comm), transport, Reduce::Ordered)))
    })
    .unwrap()
}

#[test]
fn sums_maxima_and_gathers_reach_all_ranks() {
    let outcomes = run(5, Transport::Isend, |ranks| {
        let rank = ranks.rank() as f64;
        (
            ranks.sum_of(rank),
            ranks.max_of(-rank),
            ranks.gather(&vec![rank; ranks.rank()]),
        )
    });
    for (sum, max, gathered) in outcomes {
        assert_eq!((sum, max), (10.0, 0.0));
        assert_eq!(
            gathered,
            (0..5)
                .map(|rank| vec![rank as f64; rank])
                .collect::<Vec<_>>()
        );
    }
}

/// Each rank sends its global row numbers plus the round; what arrives must be the neighbours'
/// rows of the same round, although one rank after the other is late.
#[test]
fn no_halo_is_overwritten_while_it_is_read() {
    let grid = Grid::split_in_z([2, 2, 3], [4, 2], 1, 4, 2);
    for transport in TRANSPORTS {
        run(grid.size(), transport, |ranks| {
            let geometry = grid.geometry(ranks.rank()).unwrap();
            let halo = Halo::new(&geometry);
            let expected = halo.external_rows(&geometry);
            let mut exchange = ranks.exchange(&halo, 8).unwrap();
            for round in 0..40u64 {
                if (round * 7 + 3) % 12 == ranks.rank() as u64 {
                    std::thread::sleep(Duration::from_millis(3));
                }
                let value = |row: u64| (row + 1_000_000 * round).to_ne_bytes();
                exchange
                    .start(|bytes| {
                        for (bytes, &i) in bytes.as_chunks_mut().0.iter_mut().zip(&halo.send_rows) {
                            *bytes = value(geometry.global_row(i as usize));
                        }
                        Ok::<_, Error>(())
                    })
                    .unwrap();
                exchange.finish(|bytes| {
                    if (round * 5 + 1) % 12 == ranks.rank() as u64 {
                        std::thread::sleep(Duration::from_millis(3));
                    }
                    let got: Vec<[u8; 8]> = bytes.as_chunks().0.to_vec();
                    let expected: Vec<[u8; 8]> = expected.iter().map(|&row| value(row)).collect();
                    assert_eq!(
                        got,
                        expected,
                        "{transport}, round {round}, rank {}",
                        ranks.rank()
                    );
                });
            }
            let traffic = ranks.take_traffic();
            assert_eq!(traffic.exchanges, 40);
            assert_eq!(traffic.bytes, 40 * 8 * halo.send_rows.len() as u64);
        });
    }
}

#[test]
fn a_rank_that_fails_ends_the_others() {
    let outcome = threads::run(3, |comm| {
        let ranks = Ranks::new(Box::new(comm), Transport::Isend, Reduce::Fast);
        if ranks.rank() == 1 {
            return Err(Error::TooManyRows { n: [1; 3] });
        }
        ranks.barrier();
        Ok(())
    });
    assert_eq!(outcome, Err(Error::TooManyRows { n: [1; 3] }));
}

#[test]
fn threads_have_no_shmem() {
    let outcome = threads::run(2, |comm| {
        let ranks = Ranks::new(Box::new(comm), Transport::ShmemFlag, Reduce::Fast);
        let geometry = Grid::uniform([2, 1, 1], [2; 3]).geometry(ranks.rank())?;
        ranks.exchange(&Halo::new(&geometry), 8).map(|_| ())
    });
    assert_eq!(outcome, Err(Error::NoShmem));
}
