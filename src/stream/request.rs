//! What is to be measured: as a user says it, or beside a run.

use super::{Bind, width};
use crate::Precision;
use crate::cpu::PageSize;
use crate::machine::Machine;
use crate::results::{DeviceKind, Results};
use crate::topology::Topology;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Request {
    /// Elements of each array; `None` leaves it to the caches.
    pub elements: Option<usize>,
    /// How often each kernel runs; the first time does not count.
    pub times: usize,
    /// In single precision instead of double.
    pub single: bool,
    /// Threads of a CPU, if the user said how many.
    pub threads: Option<usize>,
    /// Where they are pinned, if the user said it; else compactly.
    pub bind: Option<Bind>,
    /// Points of the box, multiples of 2, as whose columns a CPU gathers; `None` takes a box whose x
    /// the second-level cache holds.
    pub local: Option<[usize; 3]>,
    /// The pages of a CPU's arrays, if the user said which; else large, as those of HPCG's runs.
    pub pages: Option<PageSize>,
}

/// Times of a short measurement.
const SHORT: usize = 10;
/// Times of a measurement beside a run at most.
const BESIDE: usize = 50;
/// Bytes of an array over all of those times, in each of which some twenty arrays are passed over:
/// about a second, since others who use the same memory come and go.
const BESIDE_BYTES: usize = 2 << 30;

impl Request {
    /// A short measurement of the device and with the threads of a run that has just ended. On a
    /// CPU the arrays together have as many bytes as the run works on, if caches could hold some of
    /// them, and x the size of the run's: so they find in the caches what the run finds there.
    pub fn beside(run: &Results, machine: &Machine) -> Self {
        let bytes = usize::try_from(run.memory.optimise).unwrap_or(usize::MAX);
        let array = (bytes / 3).min(Topology::here().beyond_caches());
        let times = (BESIDE_BYTES / array.max(1)).clamp(SHORT, BESIDE);
        Self::like(run, machine, array, times)
    }

    /// The same on arrays that no cache holds, however small the run was: what its memory gives.
    pub fn of_memory(run: &Results, machine: &Machine) -> Self {
        let array = Topology::here().beyond_caches_in_short();
        Self::like(run, machine, array, SHORT)
    }

    /// A measurement of the device and with the threads of a run; on a CPU with arrays of so many bytes
    /// and so often.
    fn like(run: &Results, machine: &Machine, array: usize, times: usize) -> Self {
        let threads = usize::try_from(run.threads).unwrap_or(usize::MAX);
        let on_gpu = run.device.kind == DeviceKind::Gpu;
        // The precision of MG. Not every GPU has the other.
        let single = run.precision != Precision::F64;
        let (_, element_bytes) = width(single);
        Self {
            elements: (!on_gpu).then_some(array / element_bytes),
            times: if on_gpu { SHORT } else { times },
            single,
            threads: (!on_gpu).then(|| threads.min(machine.threads)),
            bind: None,
            local: Some(run.local.map(|n| usize::try_from(n).unwrap_or(usize::MAX))),
            pages: None,
        }
    }
}
