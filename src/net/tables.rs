//! One operation on some of the ranks: a row for each size, and the fit of all.

use cubie_host::Ranks;
use cubie_host::comm::Transport;

use super::alpha_beta::{AlphaBeta, Point};
use super::measure::measure;
use super::operations::{Allreduce, Barrier, Bcast, Neighbours, PingPong, Repeated};
use super::{NetError, Operation, Request, Row, Table, halo, halo_name};
use crate::Error;

/// One operation on some ranks.
pub(super) struct Part<'a> {
    pub(super) operation: Operation,
    pub(super) request: &'a Request,
    /// Ranks that do not take part.
    pub(super) waiting: usize,
}

impl Part<'_> {
    /// Measures on all of these ranks, which get the same: a table, or one for each transport.
    ///
    /// # Errors
    /// If messages arrive changed, or a transport has too little memory.
    pub(super) fn tables(&self, ranks: &Ranks) -> Result<Vec<Table>, Error> {
        let most = self.request.max_bytes;
        let (sizes, name) = match self.operation {
            Operation::Halo => {
                let transports = ranks.transports().into_iter();
                return transports
                    .map(|transport| self.halos(ranks, transport))
                    .collect();
            }
            Operation::Barrier => (vec![0], self.operation.name()),
            Operation::Allreduce => (sizes(size_of::<f32>(), most), self.operation.name()),
            _ => (sizes(1, most), self.operation.name()),
        };
        let rows = sizes.into_iter().map(|bytes| self.row(ranks, bytes));
        let rows = rows.collect::<Result<_, _>>()?;
        Ok(vec![self.table(ranks, name.into(), rows)])
    }

    fn row(&self, ranks: &Ranks, bytes: usize) -> Result<Row, Error> {
        let comm = ranks.comm();
        let name = self.operation.name();
        match self.operation {
            Operation::PingPong => self.timed(ranks, name, bytes, PingPong::new(comm, bytes)),
            Operation::Exchange => self.timed(ranks, name, bytes, Neighbours::ring(ranks, bytes)?),
            Operation::Bcast => self.timed(ranks, name, bytes, Bcast::new(comm, bytes)),
            Operation::Allreduce => self.timed(ranks, name, bytes, Allreduce::new(comm, bytes)),
            Operation::Barrier => self.timed(ranks, name, bytes, Barrier(comm)),
            Operation::Halo => unreachable!("halos have sizes of their own"),
        }
    }

    fn halos(&self, ranks: &Ranks, transport: Transport) -> Result<Table, Error> {
        let name = halo_name(transport.name());
        let mut rows = Vec::new();
        for (shape, neighbours) in halo::halos(ranks, self.request.local)? {
            let bytes = shape.bytes.iter().sum();
            let exchange = halo::exchange(ranks, transport, neighbours)?;
            let row = self.timed(ranks, &name, bytes, exchange)?;
            let halo = Some(shape);
            rows.push(Row { halo, ..row });
        }
        Ok(self.table(ranks, name, rows))
    }

    fn timed<R: Repeated>(
        &self,
        ranks: &Ranks,
        name: &str,
        bytes: usize,
        mut operation: R,
    ) -> Result<Row, Error> {
        let timed = measure(ranks, &mut operation, bytes, self.request.seconds);
        let timed = timed.ok_or_else(|| NetError::Corrupted {
            operation: name.into(),
            size: bytes,
            processes: ranks.size(),
        })?;
        let seconds = timed.seconds.iter().copied();
        Ok(Row {
            bytes,
            repetitions: timed.repetitions,
            min: seconds.clone().fold(f64::INFINITY, f64::min),
            max: seconds.clone().fold(0.0, f64::max),
            avg: seconds.sum::<f64>() / timed.seconds.len() as f64,
            halo: None,
        })
    }

    fn table(&self, ranks: &Ranks, operation: String, rows: Vec<Row>) -> Table {
        // A collective operation on nothing does nothing.
        let points = rows.iter().filter(|row| row.bytes > 0).map(|row| Point {
            messages: row.halo.as_ref().map_or(1, |shape| shape.to.len()),
            bytes: row.bytes,
            seconds: row.max,
        });
        let fit = AlphaBeta::fit(&points.collect::<Vec<_>>());
        Table {
            operation,
            processes: ranks.size(),
            waiting: self.waiting,
            rows,
            fit,
        }
    }
}

/// The sizes of messages: nothing, then powers of two from `least` to `most`.
fn sizes(least: usize, most: usize) -> Vec<usize> {
    let powers = (0..).map(|power| least << power);
    let powers = powers.take_while(|&bytes| bytes <= most);
    [0].into_iter().chain(powers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two_up_to_the_most() {
        assert_eq!(sizes(1, 4), [0, 1, 2, 4]);
        assert_eq!(sizes(1, 7), [0, 1, 2, 4]);
        assert_eq!(sizes(4, 16), [0, 4, 8, 16]);
        assert_eq!(sizes(4, 3), [0]);
        assert_eq!(sizes(1, 4 << 20).len(), 24);
    }
}
