//! A sweep over rows of which each needs those before it, by a team: with the result of one thread.
//!
//! The steps of a sweep come in runs of equal length, such as the rows of a plane. A step needs all
//! earlier ones of its run, and of the run before as many as come before it in its own and some
//! more. Each member has its share of every run and works on it as soon as what it needs is done.

use std::iter;
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Release;

use super::Member;

/// The steps of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// How many there are.
    pub len: usize,
    /// Steps of a run; the last may be shorter if it needs no other.
    pub run: usize,
    /// Runs of a block; the first of a block needs no other.
    pub block: usize,
    /// Steps that are done before others hear of it.
    pub chunk: usize,
    /// A step needs so many more of the run before than come before it in its own; at least one,
    /// so that what is done of a run is not done before the run before it.
    pub lead: usize,
}

/// How many steps of a run are done; alone on its cache lines, since other threads look at it.
#[derive(Default)]
#[repr(align(128))]
pub struct Done(AtomicUsize);

impl Steps {
    fn runs(&self) -> usize {
        self.len.div_ceil(self.run)
    }
    /// Room for what one sweep says of its runs.
    pub fn done(&self) -> Vec<Done> {
        iter::repeat_with(Done::default).take(self.runs()).collect()
    }
    /// The run that a run needs, which a sweep backward or forward has visited before it.
    fn before(&self, run: usize, backward: bool) -> Option<usize> {
        if backward {
            let next = run + 1;
            (next < self.runs() && !next.is_multiple_of(self.block)).then_some(next)
        } else {
            (!run.is_multiple_of(self.block)).then(|| run - 1)
        }
    }
    /// The chunks of one run that belong to a member of a team.
    fn share(&self, member: Member<'_>, run: usize) -> Range<usize> {
        member.share(self.in_run(run).div_ceil(self.chunk))
    }
    fn in_run(&self, run: usize) -> usize {
        self.run.min(self.len - run * self.run)
    }
    /// The steps that belong to a member of a team.
    pub fn of(self, member: Member<'_>) -> impl Iterator<Item = usize> {
        (0..self.runs()).flat_map(move |run| {
            let share = self.share(member, run);
            let end = (share.end * self.chunk).min(self.in_run(run));
            let first = run * self.run;
            first + share.start * self.chunk..first + end
        })
    }
}

/// The chunks of a member's share in the order of a sweep. The next one is given out when what it
/// needs is done, and is done when the one after it is asked for.
pub struct Wave<'a> {
    steps: Steps,
    member: Member<'a>,
    done: &'a [Done],
    backward: bool,
    /// Runs that this member has begun.
    begun: usize,
    /// Its chunks of the current run.
    share: Range<usize>,
    /// The run of the chunk that is worked on, and how many of its steps are done after it.
    current: Option<(usize, usize)>,
}

impl<'a> Wave<'a> {
    /// A sweep that all members of the team make. `done` is of these steps and of no other sweep.
    pub fn new(steps: Steps, member: Member<'a>, done: &'a [Done], backward: bool) -> Self {
        Self {
            steps,
            member,
            done,
            backward,
            begun: 0,
            share: 0..0,
            current: None,
        }
    }
}

impl Iterator for Wave<'_> {
    type Item = Range<usize>;

    /// Steps to be visited in the order of the sweep.
    #[inline(always)]
    fn next(&mut self) -> Option<Range<usize>> {
        if let Some((run, then)) = self.current.take() {
            self.done[run].0.store(then, Release);
        }
        let (steps, runs) = (self.steps, self.steps.runs());
        while self.share.is_empty() {
            if self.begun == runs {
                return None;
            }
            self.begun += 1;
            self.share = steps.share(self.member, self.run());
        }
        let run = self.run();
        let chunk = if self.backward {
            self.share.next_back()?
        } else {
            self.share.next()?
        };
        let all = steps.in_run(run);
        let at = chunk * steps.chunk..((chunk + 1) * steps.chunk).min(all);
        let earlier = if self.backward {
            all - at.end
        } else {
            at.start
        };
        let then = earlier + at.len();
        self.member.wait_until(&self.done[run].0, earlier);
        if let Some(before) = steps.before(run, self.backward) {
            let least = (then - 1 + steps.lead).min(all);
            self.member.wait_until(&self.done[before].0, least);
        }
        self.current = Some((run, then));
        Some(run * steps.run + at.start..run * steps.run + at.end)
    }
}

impl Wave<'_> {
    fn run(&self) -> usize {
        if self.backward {
            self.steps.runs() - self.begun
        } else {
            self.begun - 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{Pool, SharedSlice};
    use std::sync::Mutex;

    /// Blocks of three planes of 35 steps, each of which needs some before it in its own plane and
    /// some about its place in the plane before.
    const STEPS: Steps = Steps {
        len: 9 * 35,
        run: 35,
        block: 3,
        chunk: 4,
        lead: 8,
    };

    #[test]
    fn every_step_belongs_to_one_member() {
        for len in [STEPS.len, STEPS.len + 10] {
            let steps = Steps { len, ..STEPS };
            let all = Mutex::new(Vec::new());
            Pool::new(3).run(|member| all.lock().unwrap().extend(steps.of(member)));
            let mut all = all.into_inner().unwrap();
            all.sort_unstable();
            assert_eq!(all, (0..len).collect::<Vec<_>>());
        }
    }

    /// Sums up what each step needs, modulo a prime.
    fn sweep(threads: usize, backward: bool) -> Vec<u64> {
        let mut x = vec![1; STEPS.len];
        let done = STEPS.done();
        let shared = SharedSlice::new(&mut x);
        Pool::new(threads).run(|member| {
            for chunk in Wave::new(STEPS, member, &done, backward) {
                for k in 0..chunk.len() {
                    let i = if backward {
                        chunk.end - 1 - k
                    } else {
                        chunk.start + k
                    };
                    let (plane, place) = (i / 35, i % 35);
                    let mut earlier = Vec::new();
                    for d in [1, 5, 6, 7] {
                        let j = if backward {
                            place + d
                        } else {
                            place.wrapping_sub(d)
                        };
                        earlier.extend((j < 35).then_some(35 * plane + j));
                    }
                    if let Some(before) = STEPS.before(plane, backward) {
                        for d in -7..=7 {
                            let j = place.wrapping_add_signed(d);
                            earlier.extend((j < 35).then_some(35 * before + j));
                        }
                    }
                    // SAFETY: the wave has left those behind, and the step is this member's.
                    unsafe {
                        let x = shared.as_ptr();
                        let sum: u64 = earlier.into_iter().map(|j| *x.add(j)).sum();
                        *x.add(i) = (3 * sum + i as u64) % 1_000_003;
                    }
                }
            }
        });
        x
    }

    #[test]
    fn a_team_gives_the_result_of_one() {
        for backward in [false, true] {
            let alone = sweep(1, backward);
            for threads in [2, 3, 5, 40] {
                for _ in 0..20 {
                    assert_eq!(sweep(threads, backward), alone, "{threads} {backward}");
                }
            }
        }
    }
}
