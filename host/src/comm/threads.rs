//! Ranks as threads of one process: for tests, and for a GPU and a CPU working together.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::{Comm, Exchange, Library, Region};
use crate::error::Error;
use crate::halo::Neighbour;

/// One of several ranks in a process.
pub struct Threads {
    rank: usize,
    team: Arc<Team>,
}

/// What the ranks share.
struct Team {
    size: usize,
    arrived: AtomicUsize,
    phase: AtomicUsize,
    /// What each rank shows the others in a `gather`.
    shown: Vec<Mutex<Vec<u8>>>,
    /// Messages underway, by sender and receiver.
    mail: Vec<Mutex<VecDeque<Vec<u8>>>>,
    /// Memory that a rank has just opened for the others.
    regions: Vec<Mutex<Option<Arc<Shared>>>>,
    /// Some of the ranks by themselves, as the first rank has just gathered them.
    subset: Mutex<Option<Arc<Team>>>,
    /// Whether a rank is gone: of these, or of those that they were taken from.
    gone: Arc<AtomicBool>,
}

/// The payload of the panic that ends a rank because another one is gone.
struct AnotherRankIsGone;

/// Runs `rank` on `size` ranks at once; returns what each yields, in their order.
///
/// # Errors
/// The error of the first rank that fails; the others end at their next word to it.
///
/// # Panics
/// If a rank panics.
pub fn run<T: Send, E: Send>(
    size: usize,
    rank: impl Fn(Threads) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let team = Arc::new(Team::new(size, Arc::default()));
    let one = |index: usize| {
        let comm = Threads {
            rank: index,
            team: Arc::clone(&team),
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| rank(comm)));
        if !matches!(outcome, Ok(Ok(_))) {
            team.gone.store(true, Ordering::Release);
        }
        outcome
    };
    let outcomes: Vec<_> = thread::scope(|scope| {
        let one = &one;
        let ranks: Vec<_> = (0..size)
            .map(|index| scope.spawn(move || one(index)))
            .collect();
        ranks
            .into_iter()
            .map(|rank| rank.join().and_then(|outcome| outcome))
            .collect()
    });
    let mut results = Vec::with_capacity(size);
    let mut panic = None;
    for outcome in outcomes {
        match outcome {
            Ok(result) => results.push(result?),
            Err(payload) if payload.is::<AnotherRankIsGone>() => {}
            Err(payload) => panic = Some(payload),
        }
    }
    match panic {
        Some(payload) => resume_unwind(payload),
        None => Ok(results),
    }
}

impl Team {
    fn new(size: usize, gone: Arc<AtomicBool>) -> Self {
        Self {
            size,
            arrived: AtomicUsize::new(0),
            phase: AtomicUsize::new(0),
            shown: (0..size).map(|_| Mutex::default()).collect(),
            mail: (0..size * size).map(|_| Mutex::default()).collect(),
            regions: (0..size).map(|_| Mutex::default()).collect(),
            subset: Mutex::default(),
            gone,
        }
    }

    /// Puts a message into the mailbox of two ranks.
    fn post(&self, from: usize, to: usize, bytes: &[u8]) {
        lock(&self.mail[from * self.size + to]).push_back(bytes.to_vec());
    }

    /// Waits for the next message of two ranks.
    fn collect(&self, from: usize, to: usize, bytes: &mut [u8]) {
        let mail = &self.mail[from * self.size + to];
        bytes.copy_from_slice(&self.wait(|| lock(mail).pop_front()));
    }

    /// Waits until `ready` gives something; yields the core meanwhile.
    fn wait<T>(&self, mut ready: impl FnMut() -> Option<T>) -> T {
        loop {
            if let Some(found) = ready() {
                return found;
            }
            if self.gone.load(Ordering::Acquire) {
                resume_unwind(Box::new(AnotherRankIsGone));
            }
            thread::yield_now();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Comm for Threads {
    fn name(&self) -> String {
        "threads of one process".into()
    }
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        self.team.size
    }
    fn local(&self) -> (usize, usize) {
        (self.rank, self.team.size)
    }
    fn processes(&self) -> usize {
        1
    }

    fn barrier(&self) {
        let team = &*self.team;
        let phase = team.phase.load(Ordering::Relaxed);
        if team.arrived.fetch_add(1, Ordering::AcqRel) + 1 == team.size {
            team.arrived.store(0, Ordering::Relaxed);
            team.phase.store(phase.wrapping_add(1), Ordering::Release);
        } else {
            team.wait(|| (team.phase.load(Ordering::Acquire) != phase).then_some(()));
        }
    }

    fn sum(&self, values: &mut [f64]) {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect();
        let all = self.gather(&bytes);
        for (i, value) in values.iter_mut().enumerate() {
            *value = all
                .iter()
                .map(|rank| f64::from_ne_bytes(rank.as_chunks().0[i]))
                .sum();
        }
    }

    fn gather(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        lock(&self.team.shown[self.rank]).splice(.., bytes.iter().copied());
        self.barrier();
        let all = self
            .team
            .shown
            .iter()
            .map(|shown| lock(shown).clone())
            .collect();
        self.barrier();
        all
    }

    fn send(&self, rank: usize, bytes: &[u8]) {
        self.team.post(self.rank, rank, bytes);
    }
    fn receive(&self, rank: usize, bytes: &mut [u8]) {
        self.team.collect(rank, self.rank, bytes);
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) {
        let shown = &self.team.shown[root];
        if self.rank == root {
            lock(shown).splice(.., bytes.iter().copied());
        }
        self.barrier();
        if self.rank != root {
            bytes.copy_from_slice(&lock(shown));
        }
        self.barrier();
    }

    fn allreduce(&self, mine: &[f32], sums: &mut [f32]) {
        let bytes = mine.iter().flat_map(|value| value.to_ne_bytes());
        lock(&self.team.shown[self.rank]).splice(.., bytes);
        self.barrier();
        sums.fill(0.0);
        for shown in &self.team.shown {
            for (sum, &value) in sums.iter_mut().zip(lock(shown).as_chunks().0) {
                *sum += f32::from_ne_bytes(value);
            }
        }
        self.barrier();
    }

    fn subset(&self, size: usize) -> Option<Box<dyn Comm>> {
        if self.rank == 0 {
            let team = Team::new(size, Arc::clone(&self.team.gone));
            *lock(&self.team.subset) = Some(Arc::new(team));
        }
        self.barrier();
        let team = lock(&self.team.subset).clone().expect("made by the first");
        self.barrier();
        let rank = self.rank;
        (rank < size).then(|| Box::new(Self { rank, team }) as _)
    }

    fn has(&self, library: Library) -> bool {
        library == Library::Own
    }

    fn messages(&self, neighbours: &[Neighbour], element: usize) -> Box<dyn Exchange> {
        let bytes = |end: Option<usize>| vec![0; end.unwrap_or(0) * element];
        Box::new(Messages {
            rank: self.rank,
            team: Arc::clone(&self.team),
            neighbours: neighbours.to_vec(),
            element,
            outgoing: bytes(neighbours.last().map(|last| last.send.end)),
            incoming: bytes(neighbours.last().map(|last| last.recv.end)),
        })
    }

    fn region(
        &self,
        library: Library,
        bytes: usize,
        flags: usize,
    ) -> Result<Box<dyn Region>, Error> {
        if !self.has(library) {
            return Err(Error::NoShmem);
        }
        let mine = Arc::new(Shared {
            bytes: Mutex::new(vec![0; bytes]),
            flags: (0..flags).map(|_| AtomicU64::new(0)).collect(),
        });
        *lock(&self.team.regions[self.rank]) = Some(mine);
        self.barrier();
        let all = self
            .team
            .regions
            .iter()
            .map(|region| lock(region).clone().expect("opened by all"))
            .collect();
        self.barrier();
        Ok(Box::new(SharedRegion {
            rank: self.rank,
            all,
            comm: Self {
                rank: self.rank,
                team: Arc::clone(&self.team),
            },
        }))
    }

    fn abort(&self, _: i32) -> ! {
        self.team.gone.store(true, Ordering::Release);
        resume_unwind(Box::new(AnotherRankIsGone))
    }
}

/// Two-sided messages through mailboxes.
struct Messages {
    rank: usize,
    team: Arc<Team>,
    neighbours: Vec<Neighbour>,
    element: usize,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
}

impl Exchange for Messages {
    fn outgoing(&mut self) -> &mut [u8] {
        &mut self.outgoing
    }
    fn start(&mut self) {
        for neighbour in &self.neighbours {
            let bytes = neighbour.send.start * self.element..neighbour.send.end * self.element;
            self.team
                .post(self.rank, neighbour.rank, &self.outgoing[bytes]);
        }
    }
    fn finish(&mut self) -> &[u8] {
        for neighbour in &self.neighbours {
            let bytes = neighbour.recv.start * self.element..neighbour.recv.end * self.element;
            self.team
                .collect(neighbour.rank, self.rank, &mut self.incoming[bytes]);
        }
        &self.incoming
    }
}

/// Memory of one rank that the others write to.
struct Shared {
    bytes: Mutex<Vec<u8>>,
    flags: Vec<AtomicU64>,
}

struct SharedRegion {
    rank: usize,
    all: Vec<Arc<Shared>>,
    comm: Threads,
}

impl Region for SharedRegion {
    fn put(&self, rank: usize, offset: usize, bytes: &[u8]) {
        lock(&self.all[rank].bytes)[offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    fn raise(&self, rank: usize, flag: usize) {
        self.all[rank].flags[flag].fetch_add(1, Ordering::Release);
    }
    fn wait(&self, flag: usize, value: u64) {
        let flag = &self.all[self.rank].flags[flag];
        self.comm
            .team
            .wait(|| (flag.load(Ordering::Acquire) >= value).then_some(()));
    }
    fn barrier(&self) {
        self.comm.barrier();
    }
    fn read(&self, offset: usize, bytes: &mut [u8]) {
        bytes.copy_from_slice(&lock(&self.all[self.rank].bytes)[offset..offset + bytes.len()]);
    }
}
