//! One rank alone.

use super::{Comm, Exchange, Library, Region};
use crate::error::Error;
use crate::halo::Neighbour;

/// One rank alone.
pub struct Serial;

impl Comm for Serial {
    fn name(&self) -> String {
        "one rank".into()
    }
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
    fn send(&self, _: usize, _: &[u8]) {
        unreachable!("a rank alone has nobody to send to")
    }
    fn receive(&self, _: usize, _: &mut [u8]) {
        unreachable!("a rank alone has nobody to receive from")
    }
    fn broadcast(&self, _: usize, _: &mut [u8]) {}
    fn allreduce(&self, mine: &[f32], sums: &mut [f32]) {
        sums.copy_from_slice(mine);
    }
    fn subset(&self, size: usize) -> Option<Box<dyn Comm>> {
        (size > 0).then(|| Box::new(Self) as _)
    }
    fn has(&self, _: Library) -> bool {
        false
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
