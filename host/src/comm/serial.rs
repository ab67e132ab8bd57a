//! One rank alone.

use super::{Comm, Exchange, Library, Region};
use crate::error::Error;
use crate::halo::Neighbour;

/// One rank alone.
pub struct Serial;

impl Comm for Serial {
    fn rank(&self) -> usize {
        0
    }
    fn size(&self) -> usize {
        1
    }
    fn local(&self) -> (usize, usize) {
        (0, 1)
    }
    fn barrier(&self) {}
    fn sum(&self, _: &mut [f64]) {}
    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        vec![bytes.to_vec()]
    }
    fn messages(&self, _: &[Neighbour], _: usize) -> Box<dyn Exchange> {
        unreachable!("a rank alone has no neighbours")
    }
    fn region(&self, _: Library, _: usize, _: usize) -> Result<Box<dyn Region>, Error> {
        unreachable!("a rank alone has no neighbours")
    }
    fn abort(&self, code: i32) -> ! {
        std::process::exit(code)
    }
}
