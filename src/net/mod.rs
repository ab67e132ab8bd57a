//! `cubie net`: what the network gives, by the operations of the Intel MPI Benchmarks and by the
//! halo transports of `--halo` with HPCG's own halos.
//!
//! Every operation runs on 2, 4, 8 … ranks and on all of them, while the others wait in a barrier.
//! Before the timing every byte that arrives is compared with what was sent; in a timed repetition
//! the first element of a message, which carries its number.

mod alpha_beta;
mod error;
mod halo;
mod measure;
mod operations;
mod paged;
mod payload;
mod tables;

use std::str::FromStr;

use cubie_host::Ranks;
use cubie_host::comm::Transport;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::launch::{Failure, agree};
use crate::machine::Machine;
use crate::progress::Progress;
use tables::Part;

pub use alpha_beta::AlphaBeta;
pub use error::{NetError, NoFigures};
pub use halo::HaloShape;

/// The largest message, if nobody says another.
pub const MAX_BYTES: usize = 4 << 20;
/// Seconds of an operation on one size, if nobody says another.
pub const SECONDS: f64 = 1.0;
/// Messages of the largest size that a rank holds at once: two to send, two received, and two on
/// their way.
const HELD: u64 = 6;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A message there and back, between two ranks.
    PingPong,
    /// Messages to and from both neighbours in a ring.
    Exchange,
    /// From one rank to all.
    Bcast,
    /// Sums over all ranks.
    Allreduce,
    /// Waiting for all.
    Barrier,
    /// Halos of HPCG, by every transport that there is.
    Halo,
}

impl Operation {
    /// All, in the order in which they run.
    pub const ALL: [Self; 6] = [
        Self::PingPong,
        Self::Exchange,
        Self::Bcast,
        Self::Allreduce,
        Self::Barrier,
        Self::Halo,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::PingPong => "PingPong",
            Self::Exchange => "Exchange",
            Self::Bcast => "Bcast",
            Self::Allreduce => "Allreduce",
            Self::Barrier => "Barrier",
            Self::Halo => "Halo",
        }
    }
}

impl FromStr for Operation {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL
            .into_iter()
            .find(|operation| operation.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            let names = Self::ALL.map(|operation| operation.name().to_lowercase());
            format!("'{text}' is not measured here; use {}", names.join(", "))
        })
    }
}

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which operations.
    pub operations: Vec<Operation>,
    /// The largest message in bytes.
    pub max_bytes: usize,
    /// The most seconds of an operation on one size.
    pub seconds: f64,
    /// Points of a rank's box, for its halos.
    pub local: [usize; 3],
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Net {
    /// What ran the ranks.
    pub library: String,
    /// How many there were.
    pub ranks: usize,
    /// How many of them on the machine of the first.
    pub ranks_a_machine: usize,
    /// A table for each operation and number of ranks.
    pub tables: Vec<Table>,
}

/// An operation on so many ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Its name; that of a halo ends in its transport.
    pub operation: String,
    /// Ranks that took part.
    pub processes: usize,
    /// Ranks that waited meanwhile.
    pub waiting: usize,
    /// A line for each size.
    pub rows: Vec<Row>,
    /// Latency and bandwidth, by the slowest rank; a halo's latency is that of one message.
    pub fit: Option<AlphaBeta>,
}

/// One size. Times are seconds of a repetition: the mean on each rank, and of these the least, the
/// most and the mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Bytes of a message; those of all messages of the busiest rank for a halo.
    pub bytes: usize,
    /// How often.
    pub repetitions: usize,
    /// On the fastest rank.
    pub min: f64,
    /// On the slowest.
    pub max: f64,
    /// The mean over the ranks.
    pub avg: f64,
    /// Who sends how much, for a halo.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub halo: Option<HaloShape>,
}

impl Table {
    /// The operation's kind.
    pub fn kind(&self) -> Option<Operation> {
        self.operation.split('-').next()?.parse().ok()
    }
}

impl Row {
    /// Bytes per second as the Intel MPI Benchmarks count them: with `copies` of the message.
    pub fn rate(&self, copies: f64) -> f64 {
        copies * self.bytes as f64 / self.max
    }
}

impl Net {
    /// The table of an operation on the most ranks.
    fn largest(&self, operation: &str) -> Option<&Table> {
        let tables = self.tables.iter().filter(|t| t.operation == operation);
        tables.max_by_key(|table| table.processes)
    }

    /// Latency of a message and bandwidth of a rank in the exchange of halos on the most ranks, by
    /// this transport or by the first that was measured; with the transport and the ranks.
    ///
    /// # Errors
    /// If no halo was measured.
    pub fn halo(&self, transport: Option<&str>) -> Result<(&Table, AlphaBeta), NoFigures> {
        let names = transport
            .into_iter()
            .chain(Transport::ALL.map(Transport::name));
        let mut tables = names.filter_map(|name| self.largest(&halo_name(name)));
        let fitted = tables.find_map(|table| Some((table, table.fit?)));
        fitted.ok_or(NoFigures("Halo"))
    }

    /// Latency and bandwidth of an allreduce on the most ranks.
    ///
    /// # Errors
    /// If none was measured.
    pub fn allreduce(&self) -> Result<(&Table, AlphaBeta), NoFigures> {
        let table = self.largest(Operation::Allreduce.name());
        let fitted = table.and_then(|table| Some((table, table.fit?)));
        fitted.ok_or(NoFigures("Allreduce"))
    }
}

fn halo_name(transport: &str) -> String {
    format!("{}-{transport}", Operation::Halo.name())
}

/// Measures; complete on the first rank. All ranks call it.
///
/// # Errors
/// If there is only one rank or too little memory, or messages arrive changed; all ranks agree.
pub fn run(ranks: &Ranks, request: &Request, progress: &mut dyn Progress) -> Result<Net, Failure> {
    agree(ranks, possible(ranks, request))?;
    let counts = counts(ranks.size());
    let subsets: Vec<_> = counts
        .iter()
        .map(|&count| match count == ranks.size() {
            // OpenSHMEM is only there for the whole.
            true => Some(ranks.clone()),
            false => ranks.subset(count),
        })
        .collect();
    let mut tables = Vec::new();
    for &operation in &request.operations {
        for (&processes, subset) in counts.iter().zip(&subsets) {
            if operation == Operation::PingPong && processes > 2 {
                continue;
            }
            progress.begin(&format!("{} on {processes} ranks", operation.name()), 0);
            let part = Part {
                operation,
                request,
                waiting: ranks.size() - processes,
            };
            let measured = subset.as_ref().map(|subset| part.tables(subset));
            ranks.barrier();
            tables.extend(agree(ranks, measured.unwrap_or(Ok(Vec::new())))?);
            progress.end();
        }
    }
    Ok(Net {
        library: ranks.comm().name(),
        ranks: ranks.size(),
        ranks_a_machine: ranks.local().1,
        tables,
    })
}

/// Whether there are enough ranks and enough memory.
fn possible(ranks: &Ranks, request: &Request) -> Result<(), Error> {
    if ranks.is_alone() {
        return Err(NetError::Alone.into());
    }
    let (most, here) = (request.max_bytes as u64, ranks.local().1);
    let needed = HELD * most * here as u64;
    match Machine::here().memory {
        Some(memory) if needed > memory.free => Err(NetError::Memory {
            most,
            ranks: here,
            needed,
            free: memory.free,
        }
        .into()),
        _ => Ok(()),
    }
}

/// The numbers of ranks that take part: powers of two, and all.
fn counts(size: usize) -> Vec<usize> {
    let powers = (1..).map(|power| 1 << power);
    powers
        .take_while(|&count| count < size)
        .chain([size])
        .collect()
}
