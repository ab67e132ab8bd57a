//! Ranks whose messages arrive changed: every operation must notice, before the timing and in it.

use std::cell::Cell;
use std::rc::Rc;

use cubie::net::{Operation, Request, run};
use cubie::progress::Silent;
use cubie_host::comm::threads::{self, Threads};
use cubie_host::comm::{Comm, Exchange, Library, Reduce, Region, Transport};
use cubie_host::halo::Neighbour;
use cubie_host::{Error, Ranks};

/// Turns a bit over on rank 1.
struct Fault {
    rank: usize,
    /// In which operation.
    operation: Operation,
    /// In which of its messages that have a middle.
    message: usize,
    /// In their last byte instead of the first.
    last: bool,
    /// Messages so far.
    count: Cell<usize>,
}

impl Fault {
    fn strike(&self, operation: Operation, bytes: &mut [u8]) {
        if operation != self.operation || self.rank != 1 || bytes.len() < 8 {
            return;
        }
        let now = self.count.replace(self.count.get() + 1);
        if now == self.message {
            let place = if self.last { bytes.len() - 1 } else { 0 };
            bytes[place] ^= 64;
        }
    }
}

/// Threads with such a fault.
struct Faulty<C> {
    comm: C,
    fault: Rc<Fault>,
}

impl Comm for Faulty<Threads> {
    fn name(&self) -> String {
        self.comm.name()
    }
    fn rank(&self) -> usize {
        self.comm.rank()
    }
    fn size(&self) -> usize {
        self.comm.size()
    }
    fn local(&self) -> (usize, usize) {
        self.comm.local()
    }
    fn barrier(&self) {
        self.comm.barrier();
    }
    fn sum(&self, values: &mut [f64]) {
        self.comm.sum(values);
    }
    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.comm.gather(bytes)
    }
    fn send(&self, rank: usize, bytes: &[u8]) {
        self.comm.send(rank, bytes);
    }
    fn receive(&self, rank: usize, bytes: &mut [u8]) {
        self.comm.receive(rank, bytes);
        self.fault.strike(Operation::PingPong, bytes);
    }
    fn broadcast(&self, root: usize, bytes: &mut [u8]) {
        self.comm.broadcast(root, bytes);
        self.fault.strike(Operation::Bcast, bytes);
    }
    fn allreduce(&self, mine: &[f32], sums: &mut [f32]) {
        self.comm.allreduce(mine, sums);
        let bytes = bytemuck::cast_slice_mut(sums);
        self.fault.strike(Operation::Allreduce, bytes);
    }
    fn subset(&self, size: usize) -> Option<Box<dyn Comm>> {
        self.comm.subset(size)
    }
    fn messages(&self, neighbours: &[Neighbour], element: usize) -> Box<dyn Exchange> {
        // A ring exchanges bytes, a halo doubles.
        let operation = match element {
            1 => Operation::Exchange,
            _ => Operation::Halo,
        };
        Box::new(FaultyExchange {
            exchange: self.comm.messages(neighbours, element),
            operation,
            fault: Rc::clone(&self.fault),
            incoming: Vec::new(),
        })
    }
    fn has(&self, library: Library) -> bool {
        self.comm.has(library)
    }
    fn region(&self, library: Library, n: usize, flags: usize) -> Result<Box<dyn Region>, Error> {
        self.comm.region(library, n, flags)
    }
    fn abort(&self, code: i32) -> ! {
        self.comm.abort(code)
    }
}

struct FaultyExchange {
    exchange: Box<dyn Exchange>,
    operation: Operation,
    fault: Rc<Fault>,
    incoming: Vec<u8>,
}

impl Exchange for FaultyExchange {
    fn outgoing(&mut self) -> &mut [u8] {
        self.exchange.outgoing()
    }
    fn start(&mut self) {
        self.exchange.start();
    }
    fn finish(&mut self) -> &[u8] {
        self.incoming = self.exchange.finish().to_vec();
        self.fault.strike(self.operation, &mut self.incoming);
        &self.incoming
    }
}

/// What all ranks say of an operation with a fault; nothing if it is never reached.
fn outcome(operation: Operation, message: usize, last: bool) -> Option<String> {
    let request = Request {
        operations: vec![operation],
        max_bytes: 64,
        seconds: 0.01,
        local: [16; 3],
    };
    let measured = threads::run(2, |comm| {
        let fault = Rc::new(Fault {
            rank: comm.rank(),
            operation,
            message,
            last,
            count: Cell::new(0),
        });
        let comm = Box::new(Faulty { comm, fault });
        let ranks = Ranks::new(comm, Transport::Isend, Reduce::Fast);
        run(&ranks, &request, &mut Silent)
    });
    measured.err().map(|failure| failure.to_string())
}

#[test]
fn a_bit_that_is_turned_over_is_noticed() {
    let operations = Operation::ALL.into_iter();
    for operation in operations.filter(|&operation| operation != Operation::Barrier) {
        let name = operation.name();
        let noticed = |message, last| {
            let error = outcome(operation, message, last);
            let error = error.unwrap_or_else(|| panic!("{name}: nobody noticed"));
            assert!(error.starts_with(name), "{name}: {error}");
            assert!(error.contains("something else than was sent"), "{error}");
        };
        // The warm-up of a size, whole; a timed repetition of it, by the first element.
        noticed(3, true);
        noticed(12, false);
        assert_eq!(outcome(operation, usize::MAX, true), None, "{name}");
    }
}
