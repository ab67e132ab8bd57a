//! The operations of the Intel MPI Benchmarks, each as it is done there.
//!
//! PingPong: a message there and one back. Exchange: one to and one from each of two neighbours in a
//! ring. Bcast: from rank 0. Allreduce: sums of `f32`. Barrier.

use cubie_host::comm::{Comm, Transport};
use cubie_host::halo::Neighbour;
use cubie_host::{HaloExchange, Ranks};

use super::measure::Clock;
use super::paged::Paged;
use super::payload::{Depth, Route, holds, holds_sums, sums, write, write_values};
use crate::Error;

/// An operation on messages of one size, made once and repeated often.
pub(super) trait Repeated {
    /// What the clock sees.
    const CLOCK: Clock;
    /// Messages of a repetition that follow one another.
    const MESSAGES: f64 = 1.0;

    /// Makes ready what repetition `k` sends; not timed where repetitions are timed one by one.
    fn prepare(&mut self, k: usize, depth: Depth);
    /// Does it.
    fn run(&mut self);
    /// Whether repetition `k` brought what was sent; not timed where `prepare` is not.
    fn is_right(&self, k: usize, depth: Depth) -> bool;
}

/// A message from rank 0 to rank 1, and one back.
pub(super) struct PingPong<'a> {
    comm: &'a dyn Comm,
    there: Route,
    back: Route,
    outgoing: Paged<u8>,
    incoming: Paged<u8>,
}

impl<'a> PingPong<'a> {
    pub(super) fn new(comm: &'a dyn Comm, bytes: usize) -> Self {
        assert_eq!(comm.size(), 2);
        // Asked once: even this call would be seen by the clock.
        let (from, to) = (comm.rank(), 1 - comm.rank());
        Self {
            comm,
            there: Route { from, to },
            back: Route { from: to, to: from },
            outgoing: Paged::new(bytes),
            incoming: Paged::new(bytes),
        }
    }
}

impl Repeated for PingPong<'_> {
    const CLOCK: Clock = Clock::Together;
    const MESSAGES: f64 = 2.0;
    fn prepare(&mut self, k: usize, depth: Depth) {
        write(&mut self.outgoing, self.there, k, depth);
    }
    fn run(&mut self) {
        let other = self.there.to;
        if other == 1 {
            self.comm.send(other, &self.outgoing);
            self.comm.receive(other, &mut self.incoming);
        } else {
            self.comm.receive(other, &mut self.incoming);
            self.comm.send(other, &self.outgoing);
        }
    }
    fn is_right(&self, k: usize, depth: Depth) -> bool {
        holds(&self.incoming, self.back, k, depth)
    }
}

/// A halo: messages to and from neighbours, by any transport.
pub(super) struct Neighbours {
    rank: usize,
    exchange: HaloExchange,
    neighbours: Vec<Neighbour>,
    element: usize,
    /// The repetition that is underway.
    now: (usize, Depth),
    is_right: bool,
}

impl Neighbours {
    /// # Errors
    /// If these ranks do not have the transport, or it has too little memory.
    pub(super) fn new(
        ranks: &Ranks,
        transport: Transport,
        neighbours: Vec<Neighbour>,
        element: usize,
    ) -> Result<Self, Error> {
        Ok(Self {
            rank: ranks.rank(),
            exchange: ranks.exchange_by(transport, &neighbours, element)?,
            neighbours,
            element,
            now: (0, Depth::Whole),
            is_right: true,
        })
    }

    /// The two neighbours in a ring of all ranks, with so many bytes for each.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn ring(ranks: &Ranks, bytes: usize) -> Result<Self, Error> {
        let (rank, size) = (ranks.rank(), ranks.size());
        let neighbour = |(i, rank)| Neighbour {
            rank,
            send: i * bytes..(i + 1) * bytes,
            recv: i * bytes..(i + 1) * bytes,
        };
        let ring = [(rank + size - 1) % size, (rank + 1) % size];
        let ring = ring.into_iter().enumerate().map(neighbour).collect();
        Self::new(ranks, Transport::Isend, ring, 1)
    }
}

impl Repeated for Neighbours {
    const CLOCK: Clock = Clock::Together;
    fn prepare(&mut self, k: usize, depth: Depth) {
        self.now = (k, depth);
    }
    fn run(&mut self) {
        let (k, depth) = self.now;
        let (neighbours, element, me) = (&self.neighbours, self.element, self.rank);
        let bytes = |range: &std::ops::Range<usize>| range.start * element..range.end * element;
        let pack = |outgoing: &mut [u8]| {
            for Neighbour { rank: to, send, .. } in neighbours {
                let route = Route { from: me, to: *to };
                write(&mut outgoing[bytes(send)], route, k, depth);
            }
            Ok::<_, Error>(())
        };
        let started = self.exchange.start(pack);
        started.expect("nothing can go wrong with plain bytes");
        let mut is_right = true;
        self.exchange.finish(|incoming| {
            for Neighbour {
                rank: from, recv, ..
            } in neighbours
            {
                let route = Route {
                    from: *from,
                    to: me,
                };
                is_right &= holds(&incoming[bytes(recv)], route, k, depth);
            }
        });
        self.is_right = is_right;
    }
    fn is_right(&self, _: usize, _: Depth) -> bool {
        self.is_right
    }
}

/// Bytes from rank 0 to all.
pub(super) struct Bcast<'a> {
    comm: &'a dyn Comm,
    bytes: Paged<u8>,
}

impl<'a> Bcast<'a> {
    const ROUTE: Route = Route { from: 0, to: 0 };

    pub(super) fn new(comm: &'a dyn Comm, bytes: usize) -> Self {
        let bytes = Paged::new(bytes);
        Self { comm, bytes }
    }
}

impl Repeated for Bcast<'_> {
    const CLOCK: Clock = Clock::Each;
    fn prepare(&mut self, k: usize, depth: Depth) {
        if self.comm.rank() == 0 {
            write(&mut self.bytes, Self::ROUTE, k, depth);
        }
    }
    fn run(&mut self) {
        self.comm.broadcast(0, &mut self.bytes);
    }
    fn is_right(&self, k: usize, depth: Depth) -> bool {
        holds(&self.bytes, Self::ROUTE, k, depth)
    }
}

/// Sums over all ranks.
pub(super) struct Allreduce<'a> {
    comm: &'a dyn Comm,
    mine: Paged<f32>,
    sums: Paged<f32>,
    expected: Vec<f32>,
}

impl<'a> Allreduce<'a> {
    pub(super) fn new(comm: &'a dyn Comm, bytes: usize) -> Self {
        let len = bytes / size_of::<f32>();
        Self {
            comm,
            mine: Paged::new(len),
            sums: Paged::new(len),
            expected: sums(comm.size()),
        }
    }
}

impl Repeated for Allreduce<'_> {
    const CLOCK: Clock = Clock::Each;
    fn prepare(&mut self, k: usize, depth: Depth) {
        write_values(&mut self.mine, self.comm.rank(), k, depth);
    }
    fn run(&mut self) {
        self.comm.allreduce(&self.mine, &mut self.sums);
    }
    fn is_right(&self, k: usize, depth: Depth) -> bool {
        holds_sums(&self.sums, &self.expected, k, depth)
    }
}

/// Waiting for all.
pub(super) struct Barrier<'a>(pub(super) &'a dyn Comm);

impl Repeated for Barrier<'_> {
    const CLOCK: Clock = Clock::Together;
    fn prepare(&mut self, _: usize, _: Depth) {}
    fn run(&mut self) {
        self.0.barrier();
    }
    fn is_right(&self, _: usize, _: Depth) -> bool {
        true
    }
}
