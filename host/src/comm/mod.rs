//! Ranks and how they talk: sums over all of them, and the exchange of halos between neighbours.
//!
//! [`Comm`] is what a way of running ranks must offer: one rank alone ([`serial`]), ranks as
//! threads of one process ([`threads`]), or processes under MPI (`mpi`). [`Ranks`] is what
//! everybody else uses. Only this module names MPI and OpenSHMEM.

mod exchange;
#[cfg(feature = "mpi")]
pub mod mpi;
mod one_sided;
pub mod serial;
#[cfg(feature = "shmem")]
mod shmem;
pub mod threads;
mod transport;
#[cfg(feature = "mpi")]
mod window;

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Instant;

use crate::error::Error;
use crate::halo::{Halo, Neighbour};

pub use exchange::Exchange;
pub use one_sided::Region;
pub use transport::{Library, Transport};

/// A way of running ranks. What one rank calls all ranks call, in the same order; only messages
/// between two ranks concern nobody else.
pub trait Comm {
    /// What runs the ranks, in words.
    fn name(&self) -> String;
    /// This rank.
    fn rank(&self) -> usize;
    /// Number of ranks.
    fn size(&self) -> usize;
    /// This rank's place among those on the same machine, and their number.
    fn local(&self) -> (usize, usize);
    /// Processes that the ranks are: one each, unless they are threads.
    fn processes(&self) -> usize {
        self.size()
    }
    /// Waits for all ranks.
    fn barrier(&self);
    /// Each value summed over the ranks, on all of them.
    fn sum(&self, values: &mut [f64]);
    /// The bytes of every rank, on all of them.
    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>>;
    /// Sends bytes to another rank, which must receive as many. Returns when `bytes` may change.
    fn send(&self, rank: usize, bytes: &[u8]);
    /// Receives bytes from another rank.
    fn receive(&self, rank: usize, bytes: &mut [u8]);
    /// The bytes of rank `root`, on all of them; all have room for as many.
    fn broadcast(&self, root: usize, bytes: &mut [u8]);
    /// Each of `mine` summed over the ranks, in `sums` on all of them; both are of the same length.
    fn allreduce(&self, mine: &[f32], sums: &mut [f32]);
    /// The first `size` ranks by themselves, with the same numbers; nothing on the others.
    fn subset(&self, size: usize) -> Option<Box<dyn Comm>>;
    /// Two-sided messages to and from the neighbours, `element` bytes for each element.
    fn messages(&self, neighbours: &[Neighbour], element: usize) -> Box<dyn Exchange>;
    /// Whether these ranks have such memory (see [`Self::region`]).
    fn has(&self, library: Library) -> bool;
    /// Memory that the other ranks can write to: `bytes` and `flags` counters on this rank.
    ///
    /// # Errors
    /// If these ranks have no such memory, or not this much.
    fn region(
        &self,
        library: Library,
        bytes: usize,
        flags: usize,
    ) -> Result<Box<dyn Region>, Error>;
    /// Ends all ranks because this one cannot go on.
    fn abort(&self, code: i32) -> !;
}

/// How dot products are summed over the ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduce {
    /// As the library likes.
    #[default]
    Fast,
    /// In the order of the ranks: the same bits whatever the library.
    Ordered,
}

impl fmt::Display for Reduce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fast => "fast",
            Self::Ordered => "ordered",
        })
    }
}

impl FromStr for Reduce {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fast" => Ok(Self::Fast),
            "ordered" => Ok(Self::Ordered),
            _ => Err(format!("'{text}' is no way to sum; use fast or ordered")),
        }
    }
}

/// The ranks of a run; copies are the same ones.
#[derive(Clone)]
pub struct Ranks(Rc<Inner>);

struct Inner {
    comm: Box<dyn Comm>,
    transport: Transport,
    reduce: Reduce,
    overlap: bool,
    traffic: Cell<Traffic>,
}

/// What this rank has spent on talking.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Halo exchanges.
    pub exchanges: u64,
    /// Bytes that this rank sent in them.
    pub bytes: u64,
    /// Seconds in them, from packed to unpacked; with overlap without what was worked on meanwhile.
    pub seconds: f64,
    /// Seconds in sums over the ranks.
    pub reductions: f64,
}

/// The larger number; NaN if one of them is, so that a device that fails does not look perfect.
pub fn max_or_nan(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

impl Ranks {
    /// The ranks of `comm`, talking like this. Backends work while a halo travels (`overlap`) if
    /// ranks of other machines are among them: within one it travels faster than work is divided.
    pub fn new(comm: Box<dyn Comm>, transport: Transport, reduce: Reduce) -> Self {
        let overlap = comm.size() > comm.local().1;
        Self::overlapping(comm, transport, reduce, overlap)
    }

    /// The same, with or without overlap.
    pub fn overlapping(
        comm: Box<dyn Comm>,
        transport: Transport,
        reduce: Reduce,
        overlap: bool,
    ) -> Self {
        Self(Rc::new(Inner {
            comm,
            transport,
            reduce,
            overlap,
            traffic: Cell::default(),
        }))
    }

    /// One rank alone.
    pub fn serial() -> Self {
        Self::new(Box::new(serial::Serial), Transport::Isend, Reduce::Fast)
    }

    /// This rank.
    pub fn rank(&self) -> usize {
        self.0.comm.rank()
    }
    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.0.comm.size()
    }
    /// Whether there is nobody to talk to.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }
    /// This rank's place among those on the same machine, and their number.
    pub fn local(&self) -> (usize, usize) {
        self.0.comm.local()
    }
    /// Processes that the ranks are: one each, or one for all.
    pub fn processes(&self) -> usize {
        self.0.comm.processes()
    }
    /// How halos travel.
    pub fn transport(&self) -> Transport {
        self.0.transport
    }
    /// What runs the ranks, for whoever measures it.
    pub fn comm(&self) -> &dyn Comm {
        &*self.0.comm
    }
    /// The first `size` ranks by themselves; nothing on the others. All call it.
    pub fn subset(&self, size: usize) -> Option<Self> {
        let comm = self.0.comm.subset(size)?;
        Some(Self::new(comm, self.0.transport, self.0.reduce))
    }
    /// The halo transports that these ranks have.
    pub fn transports(&self) -> Vec<Transport> {
        let has = |transport: &Transport| match transport.puts() {
            Some((library, _)) => self.0.comm.has(library),
            None => true,
        };
        Transport::ALL.into_iter().filter(has).collect()
    }
    /// Waits for all ranks.
    pub fn barrier(&self) {
        self.0.comm.barrier();
    }
    /// Ends all ranks because this one cannot go on.
    pub fn abort(&self, code: i32) -> ! {
        self.0.comm.abort(code)
    }

    /// Sums each value over the ranks.
    pub fn sum(&self, values: &mut [f64]) {
        if self.is_alone() {
            return;
        }
        let start = Instant::now();
        match self.0.reduce {
            Reduce::Fast => self.0.comm.sum(values),
            Reduce::Ordered => self.combine(values, |sum, value| sum + value),
        }
        self.count(|traffic| traffic.reductions += start.elapsed().as_secs_f64());
    }

    /// One value summed over the ranks.
    pub fn sum_of(&self, mut value: f64) -> f64 {
        self.sum(std::slice::from_mut(&mut value));
        value
    }

    /// The largest of each value over the ranks.
    pub fn max(&self, values: &mut [f64]) {
        if !self.is_alone() {
            self.combine(values, max_or_nan);
        }
    }

    /// One value's largest over the ranks.
    pub fn max_of(&self, mut value: f64) -> f64 {
        self.max(std::slice::from_mut(&mut value));
        value
    }

    /// The values of every rank, on all of them.
    pub fn gather(&self, values: &[f64]) -> Vec<Vec<f64>> {
        self.gather_bytes(
            &values
                .iter()
                .flat_map(|v| v.to_ne_bytes())
                .collect::<Vec<_>>(),
        )
        .iter()
        .map(|bytes| {
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|&v| f64::from_ne_bytes(v))
                .collect()
        })
        .collect()
    }

    /// The bytes of every rank, on all of them.
    pub fn gather_bytes(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.0.comm.gather(bytes)
    }

    /// The values of all ranks combined in the order of the ranks.
    fn combine(&self, values: &mut [f64], combine: impl Fn(f64, f64) -> f64) {
        let all = self.gather(values);
        for (i, value) in values.iter_mut().enumerate() {
            *value = all[1..]
                .iter()
                .fold(all[0][i], |sum, rank| combine(sum, rank[i]));
        }
    }

    /// An exchange of this halo with `element` bytes for each element; made once, used often.
    ///
    /// # Errors
    /// If these ranks do not have the transport.
    pub fn exchange(&self, halo: &Halo, element: usize) -> Result<HaloExchange, Error> {
        self.exchange_by(self.0.transport, &halo.neighbours, element)
    }

    /// An exchange with these neighbours by any transport.
    ///
    /// # Errors
    /// If these ranks do not have the transport.
    pub fn exchange_by(
        &self,
        transport: Transport,
        neighbours: &[Neighbour],
        element: usize,
    ) -> Result<HaloExchange, Error> {
        let comm = &*self.0.comm;
        let exchange = match transport.puts() {
            _ if self.is_alone() => None,
            None => Some(comm.messages(neighbours, element)),
            Some((library, flags)) => {
                let puts = one_sided::puts(comm, library, flags, neighbours, element)?;
                Some(puts)
            }
        };
        let sent = neighbours.last().map_or(0, |last| last.send.end);
        Ok(HaloExchange {
            exchange,
            ranks: self.clone(),
            bytes: (sent * element) as u64,
            started: None,
        })
    }

    /// What has been spent on talking since the last call.
    pub fn take_traffic(&self) -> Traffic {
        self.0.traffic.take()
    }

    fn count(&self, add: impl FnOnce(&mut Traffic)) {
        let mut traffic = self.0.traffic.get();
        add(&mut traffic);
        self.0.traffic.set(traffic);
    }
}

/// A halo's exchange, with its cost on the ranks' bill.
pub struct HaloExchange {
    exchange: Option<Box<dyn Exchange>>,
    ranks: Ranks,
    bytes: u64,
    started: Option<f64>,
}

impl HaloExchange {
    /// Whether there is anything to exchange, and work should go on meanwhile.
    pub fn overlaps(&self) -> bool {
        self.is_needed() && self.ranks.0.overlap
    }

    /// Whether there is anything to exchange: if not, the other calls are never needed.
    pub fn is_needed(&self) -> bool {
        self.exchange.is_some()
    }

    /// Lets `pack` write the elements to send, in the order of `Halo::send_rows`, and sends them.
    pub fn start<E>(&mut self, pack: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<(), E> {
        if let Some(exchange) = &mut self.exchange {
            // A GPU does earlier work before it packs: that is not the exchange's time.
            pack(exchange.outgoing())?;
            let start = Instant::now();
            exchange.start();
            self.started = Some(start.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Waits for the neighbours and hands the externals to `unpack`.
    pub fn finish(&mut self, unpack: impl FnOnce(&[u8])) {
        if let Some(exchange) = &mut self.exchange {
            let start = Instant::now();
            unpack(exchange.finish());
            let seconds = self.started.take().unwrap_or(0.0) + start.elapsed().as_secs_f64();
            self.ranks.count(|traffic| {
                traffic.exchanges += 1;
                traffic.bytes += self.bytes;
                traffic.seconds += seconds;
            });
        }
    }
}
