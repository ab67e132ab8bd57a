//! A fixed team of threads that run the same closure, and the barrier between their steps.
//!
//! Kernels of the coarse levels take microseconds, so waiting spins for a while before it gives
//! the core away, and a team is not asleep between the kernels of an iteration.

mod wave;

use std::cell::Cell;
use std::hint;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

pub use wave::{Done, Steps, Wave};

/// Turns of a waiting loop before a thread yields its core.
const SPINS: u32 = 2_000;
/// Yields before an idle thread goes to sleep.
const YIELDS: u32 = 200;

/// A team of threads, the caller among them.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Not `Sync`: a team works on one task at a time, and none starts another one.
    alone: PhantomData<Cell<()>>,
}

/// What a member of the team knows while it runs a closure.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    /// Its number, from 0.
    pub index: usize,
    /// Members of the team.
    pub count: usize,
    shared: &'a Shared,
}

/// The closure of the current round, without its lifetime.
#[derive(Clone, Copy)]
struct Task(*const (dyn Fn(Member<'_>) + Sync));

// SAFETY: the closure is `Sync`, and `Pool::run` keeps it alive until every worker is done with it.
unsafe impl Send for Task {}

struct Shared {
    count: usize,
    /// The current task; written by the caller before it raises `round`.
    task: Mutex<Option<Task>>,
    round: AtomicUsize,
    wake: Condvar,
    done: AtomicUsize,
    arrived: AtomicUsize,
    phase: AtomicUsize,
    quit: AtomicBool,
    panicked: AtomicBool,
}

impl Pool {
    /// A team of `count` threads; `count - 1` are started. A team that fills the CPUs of this process
    /// stays where it is: each of the started threads is pinned to a CPU of its own, which leaves
    /// one to the caller, who stays free since others inherit what it may use.
    pub fn new(count: usize) -> Self {
        assert!(count > 0, "a team has at least one member");
        let shared = Arc::new(Shared {
            count,
            task: Mutex::new(None),
            round: AtomicUsize::new(0),
            wake: Condvar::new(),
            done: AtomicUsize::new(0),
            arrived: AtomicUsize::new(0),
            phase: AtomicUsize::new(0),
            quit: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
        });
        let cpus = core_affinity::get_core_ids().unwrap_or_default();
        let workers = (1..count)
            .map(|index| {
                let shared = Arc::clone(&shared);
                let cpu = cpus.get(index).copied().filter(|_| cpus.len() == count);
                thread::spawn(move || {
                    // Where pinning is refused, threads wander as they would without it.
                    cpu.map(core_affinity::set_for_current);
                    shared.work(index)
                })
            })
            .collect();
        Self {
            shared,
            workers,
            alone: PhantomData,
        }
    }

    /// Runs `task` on every member and returns when all are done.
    pub fn run(&self, task: impl Fn(Member<'_>) + Sync) {
        let shared = &*self.shared;
        if shared.count > 1 {
            let erased: *const (dyn Fn(Member<'_>) + Sync + '_) = &task;
            // SAFETY: only the lifetime changes; the wait below outlasts every use.
            let erased: *const (dyn Fn(Member<'_>) + Sync + 'static) =
                unsafe { std::mem::transmute(erased) };
            let mut slot = shared
                .task
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            *slot = Some(Task(erased));
            shared.done.store(0, Ordering::Relaxed);
            shared.round.fetch_add(1, Ordering::Release);
            drop(slot);
            shared.wake.notify_all();
        }
        let rest = WaitForTheRest(shared);
        task(Member {
            index: 0,
            count: shared.count,
            shared,
        });
        drop(rest);
        assert!(
            !shared.panicked.load(Ordering::Relaxed),
            "a thread of the team panicked"
        );
    }

    /// Runs `task` on the pieces of `data` that the members own; each gets its piece's start.
    pub fn split<T: Send>(&self, data: &mut [T], task: impl Fn(usize, &mut [T]) + Sync) {
        let all = SharedSlice::new(data);
        self.run(|member| {
            let range = member.share(all.len());
            // SAFETY: the members' shares do not overlap.
            task(range.start, unsafe { all.slice_mut(range) });
        });
    }
}

/// Keeps the caller's closure alive until the workers are done with it, even if the caller panics.
struct WaitForTheRest<'a>(&'a Shared);

impl Drop for WaitForTheRest<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.panicked.store(true, Ordering::Relaxed);
        }
        wait_until(|| self.0.done.load(Ordering::Acquire) == self.0.count - 1);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        {
            let _slot = self
                .shared
                .task
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            self.shared.quit.store(true, Ordering::Relaxed);
            self.shared.round.fetch_add(1, Ordering::Release);
        }
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            // A worker's panic has been reported by `run`.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn work(&self, index: usize) {
        let mut seen = 0;
        loop {
            seen = self.next_round(seen);
            if self.quit.load(Ordering::Relaxed) {
                return;
            }
            let task = *self
                .task
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            if let Some(Task(task)) = task {
                let member = Member {
                    index,
                    count: self.count,
                    shared: self,
                };
                let run = std::panic::AssertUnwindSafe(|| {
                    // SAFETY: `Pool::run` waits for `done` before the closure goes out of scope.
                    unsafe { (*task)(member) }
                });
                if std::panic::catch_unwind(run).is_err() {
                    self.panicked.store(true, Ordering::Relaxed);
                }
            }
            self.done.fetch_add(1, Ordering::Release);
        }
    }

    /// Waits for a round other than `seen`: spins, then yields, then sleeps.
    fn next_round(&self, seen: usize) -> usize {
        for turn in 0..SPINS + YIELDS {
            let round = self.round.load(Ordering::Acquire);
            if round != seen {
                return round;
            }
            relax(turn);
        }
        let mut slot = self
            .task
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            let round = self.round.load(Ordering::Acquire);
            if round != seen {
                return round;
            }
            slot = self
                .wake
                .wait(slot)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

impl Member<'_> {
    /// Waits until every member has come here.
    pub fn barrier(&self) {
        let shared = self.shared;
        if shared.count == 1 {
            return;
        }
        let phase = shared.phase.load(Ordering::Relaxed);
        if shared.arrived.fetch_add(1, Ordering::AcqRel) + 1 == shared.count {
            shared.arrived.store(0, Ordering::Relaxed);
            shared.phase.store(phase.wrapping_add(1), Ordering::Release);
        } else {
            wait_until(|| {
                shared.phase.load(Ordering::Acquire) != phase
                    || shared.panicked.load(Ordering::Relaxed)
            });
        }
    }

    /// Waits until `counter` has come to `least`, and returns it. What was written before it was
    /// raised can be read afterwards.
    pub fn wait_until(&self, counter: &AtomicUsize, least: usize) -> usize {
        let mut seen = 0;
        wait_until(|| {
            seen = counter.load(Ordering::Acquire);
            seen >= least || self.shared.panicked.load(Ordering::Relaxed)
        });
        seen.max(least)
    }

    /// This member's share of `len` things: contiguous, the same every time.
    pub fn share(&self, len: usize) -> std::ops::Range<usize> {
        len * self.index / self.count..len * (self.index + 1) / self.count
    }
}

fn wait_until(mut ready: impl FnMut() -> bool) {
    let mut turn = 0;
    while !ready() {
        relax(turn);
        turn = turn.saturating_add(1);
    }
}

fn relax(turn: u32) {
    if turn < SPINS {
        hint::spin_loop()
    } else {
        thread::yield_now()
    }
}

/// A slice that the members of a team write to at places that do not overlap.
#[derive(Clone, Copy)]
pub struct SharedSlice<T> {
    start: *mut T,
    len: usize,
}

// SAFETY: every access goes through an unsafe method whose caller promises that no two threads
// touch the same element at the same time unless both read.
unsafe impl<T: Send> Sync for SharedSlice<T> {}

impl<T> SharedSlice<T> {
    /// Borrows the elements of `data` for a team; the caller keeps `data` borrowed while it runs.
    pub fn new(data: &mut [T]) -> Self {
        Self {
            start: data.as_mut_ptr(),
            len: data.len(),
        }
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The elements in `range`.
    ///
    /// # Safety
    /// No other thread may touch them while the slice lives.
    #[expect(clippy::mut_from_ref, reason = "that is what it is for; see Safety")]
    pub unsafe fn slice_mut(&self, range: std::ops::Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: in bounds by the assertion, not shared by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }

    /// The first element, for kernels that read some elements while others are written.
    pub fn as_ptr(&self) -> *mut T {
        self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_runs_every_round() {
        let pool = Pool::new(3);
        let hits = AtomicUsize::new(0);
        for _ in 0..1000 {
            pool.run(|member| {
                hits.fetch_add(1 << (16 * member.index), Ordering::Relaxed);
            });
        }
        assert_eq!(hits.load(Ordering::Relaxed), 1000 * 0x1_0001_0001);
    }

    #[test]
    fn nobody_passes_the_barrier_early() {
        let pool = Pool::new(4);
        let steps = AtomicUsize::new(0);
        pool.run(|member| {
            for step in 0..500 {
                steps.fetch_add(1, Ordering::Relaxed);
                member.barrier();
                assert_eq!(steps.load(Ordering::Relaxed), 4 * (step + 1));
                member.barrier();
            }
        });
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_team_that_fills_the_cpus_is_pinned() {
        let cpus = || core_affinity::get_core_ids().unwrap().len();
        let all = cpus();
        Pool::new(all).run(|member| {
            let may_use = cpus();
            assert_eq!(may_use, if member.index == 0 { all } else { 1 });
        });
        Pool::new(all + 1).run(|_| assert_eq!(cpus(), all));
        assert_eq!(cpus(), all);
    }

    #[test]
    fn shares_tile_the_whole() {
        let pool = Pool::new(3);
        let mut data = vec![0; 100];
        pool.split(&mut data, |start, piece| {
            piece
                .iter_mut()
                .enumerate()
                .for_each(|(i, value)| *value += start + i);
        });
        assert_eq!(data, (0..100).collect::<Vec<_>>());
    }

    #[test]
    #[should_panic(expected = "a thread of the team panicked")]
    fn a_panic_reaches_the_caller() {
        Pool::new(2).run(|member| assert_eq!(member.index, 0, "only the caller lives"));
    }

    #[test]
    fn a_team_wakes_after_it_slept() {
        let pool = Pool::new(2);
        thread::sleep(std::time::Duration::from_millis(50));
        let hits = AtomicUsize::new(0);
        pool.run(|_| {
            hits.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(hits.load(Ordering::Relaxed), 2);
    }
}
