//! Halos by one-sided puts: memory that other ranks write to, and two ways to know that they have.
//!
//! Each rank has room for two halos and uses them in turn, because a neighbour may be one
//! exchange ahead: it starts exchange k + 1 as soon as it has this rank's part of exchange k, while
//! this rank may still read its own k. It cannot be two ahead, since exchange k + 2 needs this
//! rank's part of k + 1, which is sent only after k has been read.

use super::{Comm, Exchange, Library};
use crate::error::Error;
use crate::halo::Neighbour;

/// Memory of one rank that the others write to, with counters. What virtual shared arrays need.
pub trait Region {
    /// Writes `bytes` at `offset` into the memory of `rank`.
    fn put(&self, rank: usize, offset: usize, bytes: &[u8]);
    /// Adds 1 to a counter of `rank`, after what this rank has put there.
    fn raise(&self, rank: usize, flag: usize);
    /// Waits until a counter of this rank has reached `value`; what was put before is there.
    fn wait(&self, flag: usize, value: u64);
    /// Waits until all ranks are here and all that they have put is where it belongs.
    fn barrier(&self);
    /// Reads from this rank's memory; nobody may be writing there.
    fn read(&self, offset: usize, bytes: &mut [u8]);
}

/// An exchange by puts, with a flag for each neighbour or with a barrier of all ranks.
pub(super) fn puts(
    comm: &dyn Comm,
    library: Library,
    flags: bool,
    neighbours: &[Neighbour],
    element: usize,
) -> Result<Box<dyn Exchange>, Error> {
    let received = neighbours.last().map_or(0, |last| last.recv.end * element);
    let sent = neighbours.last().map_or(0, |last| last.send.end * element);
    let mut directory = vec![received as u64];
    for neighbour in neighbours {
        directory.extend([
            neighbour.rank as u64,
            (neighbour.recv.start * element) as u64,
        ]);
    }
    // Everybody learns where its elements go in the others' memory, and with which counter.
    let bytes: Vec<u8> = directory
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    let directories = comm.gather(&bytes);
    let targets = neighbours
        .iter()
        .map(|neighbour| {
            let words = directories[neighbour.rank].as_chunks().0;
            let word = |i: usize| usize::try_from(u64::from_ne_bytes(words[i])).expect("fits");
            let back = (0..(words.len() - 1) / 2)
                .find(|i| word(1 + 2 * i) == comm.rank())
                .expect("neighbours are mutual");
            Target {
                rank: neighbour.rank,
                send: neighbour.send.start * element..neighbour.send.end * element,
                offset: word(2 + 2 * back),
                parity_stride: word(0),
                flag: back,
            }
        })
        .collect();
    let region = comm.region(library, 2 * received, neighbours.len())?;
    Ok(Box::new(Puts {
        region,
        flags,
        targets,
        outgoing: vec![0; sent],
        incoming: vec![0; received],
        round: 0,
    }))
}

struct Puts {
    region: Box<dyn Region>,
    flags: bool,
    targets: Vec<Target>,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// Exchanges finished.
    round: u64,
}

/// Where a part of the outgoing elements goes.
struct Target {
    rank: usize,
    send: std::ops::Range<usize>,
    /// Where its elements start in the first of the target's two halos.
    offset: usize,
    /// Bytes of one of the target's halos.
    parity_stride: usize,
    /// The target's counter for this rank.
    flag: usize,
}

impl Exchange for Puts {
    fn outgoing(&mut self) -> &mut [u8] {
        &mut self.outgoing
    }

    fn start(&mut self) {
        let parity = usize::from(self.round % 2 == 1);
        for target in &self.targets {
            let offset = target.offset + parity * target.parity_stride;
            self.region
                .put(target.rank, offset, &self.outgoing[target.send.clone()]);
            if self.flags {
                self.region.raise(target.rank, target.flag);
            }
        }
    }

    fn finish(&mut self) -> &[u8] {
        if self.flags {
            for flag in 0..self.targets.len() {
                self.region.wait(flag, self.round + 1);
            }
        } else {
            self.region.barrier();
        }
        let parity = usize::from(self.round % 2 == 1);
        self.region
            .read(parity * self.incoming.len(), &mut self.incoming);
        self.round += 1;
        &self.incoming
    }
}
