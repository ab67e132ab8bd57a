//! The phases of a run with their times and their progress.

use std::time::Instant;

use cubie_host::Ranks;

use crate::progress::Progress;
use crate::results::Phase;

/// The phases so far with their times.
pub(super) struct Phases<'p> {
    ranks: Ranks,
    progress: &'p mut dyn Progress,
    done: Vec<Phase>,
}

impl<'p> Phases<'p> {
    pub(super) fn new(ranks: &Ranks, progress: &'p mut dyn Progress) -> Self {
        Self {
            ranks: ranks.clone(),
            progress,
            done: Vec::new(),
        }
    }

    /// Runs a phase of so many steps; 0 if nobody knows how many.
    pub(super) fn run<T>(
        &mut self,
        name: &str,
        steps: u64,
        phase: impl FnOnce(&mut dyn Progress) -> T,
    ) -> T {
        self.progress.begin(name, steps);
        self.ranks.barrier();
        let start = Instant::now();
        let outcome = phase(self.progress);
        self.record(name, start);
        self.progress.end();
        outcome
    }

    /// Notes a phase that began at `start` and has just ended; its seconds are those of the
    /// slowest rank.
    pub(super) fn record(&mut self, name: &str, start: Instant) {
        let seconds = self.ranks.max_of(start.elapsed().as_secs_f64());
        self.done.push(Phase {
            name: name.into(),
            seconds,
        });
    }

    /// Seconds of the last phase.
    pub(super) fn last(&self) -> f64 {
        self.done.last().map_or(0.0, |phase| phase.seconds)
    }

    /// All of them.
    pub(super) fn into_done(self) -> Vec<Phase> {
        self.done
    }
}
