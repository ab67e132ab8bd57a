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

#[test]
fn messages_broadcasts_and_sums_reach_whom_they_should() {
    run(4, Transport::Isend, |ranks| {
        let (comm, rank) = (ranks.comm(), ranks.rank());
        let mut got = [0; 3];
        match rank {
            1 => {
                comm.send(2, &[1, 2, 3]);
                comm.send(2, &[4, 5, 6]);
            }
            2 => {
                comm.receive(1, &mut got);
                assert_eq!(got, [1, 2, 3]);
                comm.receive(1, &mut got);
                assert_eq!(got, [4, 5, 6]);
            }
            _ => {}
        }
        for root in 0..4 {
            let mut bytes = [u8::try_from(10 * rank).unwrap(); 5];
            comm.broadcast(root, &mut bytes);
            assert_eq!(bytes, [u8::try_from(10 * root).unwrap(); 5]);
        }
        let mut sums = [9.0; 2];
        comm.allreduce(&[rank as f32, 1.0], &mut sums);
        assert_eq!(sums, [6.0, 4.0]);
        comm.allreduce(&[], &mut []);
    });
}

#[test]
fn the_first_ranks_can_be_by_themselves() {
    run(5, Transport::PutFlag, |ranks| {
        for size in [1, 2, 3, 5] {
            let subset = ranks.subset(size);
            assert_eq!(subset.is_some(), ranks.rank() < size);
            if let Some(subset) = subset {
                assert_eq!((subset.rank(), subset.size()), (ranks.rank(), size));
                assert_eq!(subset.sum_of(1.0), size as f64);
                assert_eq!(subset.transports(), TRANSPORTS);
            }
        }
        ranks.barrier();
    });
}

#[test]
fn a_rank_that_fails_ends_those_that_are_by_themselves_and_those_that_wait() {
    let outcome = threads::run(3, |comm| {
        let ranks = Ranks::new(Box::new(comm), Transport::Isend, Reduce::Fast);
        let subset = ranks.subset(2);
        match ranks.rank() {
            0 => return Err(Error::NoShmem),
            1 => subset.unwrap().barrier(),
            _ => ranks.barrier(),
        }
        Ok(())
    });
    assert_eq!(outcome, Err(Error::NoShmem));
}
