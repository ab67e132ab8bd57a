//! Which CPU each thread is pinned to.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::StreamError;
use crate::topology::{LogicalCpu, Topology};

/// A way of choosing the CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bind {
    /// One socket after the other, one thread a core before second hardware threads.
    #[default]
    Compact,
    /// The sockets in turn.
    Spread,
    /// These CPUs, by the operating system's numbers.
    Cores(Vec<usize>),
    /// So many CPUs of each socket.
    PerSocket(usize),
    /// Each of [`PLANS`] in turn.
    Plans,
}

impl FromStr for Bind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "compact" => Ok(Self::Compact),
            None if text == "spread" => Ok(Self::Spread),
            None if text == "plans" => Ok(Self::Plans),
            Some(("cores", list)) => list
                .split(',')
                .map(range)
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| format!("'{list}' is no list of CPUs such as 0,2,4-7"))
                .and_then(|ranges| {
                    let mut seen = BTreeSet::new();
                    let cpus = ranges.concat();
                    match cpus.iter().find(|&cpu| !seen.insert(cpu)) {
                        Some(cpu) => Err(format!(
                            "'{list}' has CPU {cpu} twice; each thread needs a CPU of its own"
                        )),
                        None => Ok(Self::Cores(cpus)),
                    }
                }),
            Some(("per-socket", count)) => count
                .parse()
                .ok()
                .filter(|&count| count > 0)
                .map(Self::PerSocket)
                .ok_or_else(|| format!("'{count}' is no number of CPUs a socket, such as 2")),
            _ => Err(format!(
                "'{text}' is no binding; use compact, spread, cores:LIST, per-socket:N or plans"
            )),
        }
    }
}

/// `4` or `4-7`.
fn range(text: &str) -> Option<Vec<usize>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < 1 << 20).then(|| (first..=last).collect())
}

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compact => f.pad("compact"),
            Self::Spread => f.pad("spread"),
            Self::Cores(list) => {
                let list: Vec<_> = list.iter().map(usize::to_string).collect();
                write!(f, "cores:{}", list.join(","))
            }
            Self::PerSocket(count) => write!(f, "per-socket:{count}"),
            Self::Plans => f.pad("plans"),
        }
    }
}

impl Bind {
    /// The CPUs of the threads, one each; `threads` as the user asked for, if he did.
    ///
    /// # Errors
    /// If this process may not use such CPUs.
    ///
    /// # Panics
    /// On [`Bind::Plans`], which is several bindings.
    pub fn cpus(
        &self,
        topology: &Topology,
        threads: Option<usize>,
    ) -> Result<Vec<usize>, StreamError> {
        let all = topology.cpus.len();
        let asked = threads.unwrap_or(all);
        if asked > all {
            return Err(StreamError::TooManyThreads { asked, all });
        }
        let sockets = topology.sockets();
        let mut cpus: Vec<LogicalCpu> = match self {
            Self::Plans => unreachable!("plans are run one by one"),
            Self::Compact => {
                let mut cpus = sockets.concat();
                cpus.sort_by_key(|cpu| cpu.thread);
                cpus
            }
            Self::Spread => in_turn(&sockets),
            Self::Cores(list) => list
                .iter()
                .map(|&id| {
                    let found = topology.cpus.iter().find(|cpu| cpu.id == id);
                    found.copied().ok_or_else(|| StreamError::NoCpu {
                        id,
                        allowed: ids(&topology.cpus),
                    })
                })
                .collect::<Result<_, _>>()?,
            Self::PerSocket(count) => {
                if let Some(small) = sockets.iter().find(|cpus| cpus.len() < *count) {
                    return Err(StreamError::SmallSocket {
                        count: *count,
                        socket: small[0].socket,
                        has: small.len(),
                    });
                }
                sockets
                    .iter()
                    .flat_map(|cpus| cpus[..*count].to_vec())
                    .collect()
            }
        };
        if let Some(threads) = threads {
            if threads > cpus.len() {
                return Err(StreamError::TooManyThreads {
                    asked: threads,
                    all: cpus.len(),
                });
            }
            cpus.truncate(threads);
        }
        Ok(cpus.iter().map(|cpu| cpu.id).collect())
    }
}

/// The first of each socket, then the second of each, ...
fn in_turn(sockets: &[Vec<LogicalCpu>]) -> Vec<LogicalCpu> {
    let most = sockets.iter().map(Vec::len).max().unwrap_or(0);
    (0..most)
        .flat_map(|k| sockets.iter().filter_map(move |cpus| cpus.get(k).copied()))
        .collect()
}

fn ids(cpus: &[LogicalCpu]) -> String {
    let mut ids: Vec<usize> = cpus.iter().map(|cpu| cpu.id).collect();
    ids.sort_unstable();
    ids.iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A part of the sockets and of the cores of each of them, both in quarters.
type Part = (usize, usize);

/// A plan of the Magic Cube study, whose blades had four sockets of four cores; so quarters of the
/// sockets and quarters of their cores scale it to another machine.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads on the study's blade, and a letter.
    pub name: &'static str,
    /// In words.
    pub means: &'static str,
    parts: &'static [Part],
}

/// The study's six plans.
pub const PLANS: [Plan; 6] = [
    Plan {
        name: "8a",
        means: "half of the cores of each socket",
        parts: &[(4, 2)],
    },
    Plan {
        name: "8b",
        means: "all cores of half of the sockets",
        parts: &[(2, 4)],
    },
    Plan {
        name: "8c",
        means: "three quarters of the cores of half of the sockets, a quarter of the others",
        parts: &[(2, 3), (2, 1)],
    },
    Plan {
        name: "12a",
        means: "three quarters of the cores of each socket",
        parts: &[(4, 3)],
    },
    Plan {
        name: "12b",
        means: "all cores of three quarters of the sockets",
        parts: &[(3, 4)],
    },
    Plan {
        name: "16",
        means: "all cores",
        parts: &[(4, 4)],
    },
];

impl Plan {
    /// The CPUs of the plan on this machine, one a core.
    ///
    /// # Errors
    /// What this machine lacks, in words.
    pub fn cpus(&self, topology: &Topology) -> Result<Vec<usize>, String> {
        let mut sockets = topology.sockets();
        for cpus in &mut sockets {
            cpus.retain(|cpu| cpu.thread == 0);
        }
        let mut rest = sockets.as_slice();
        let mut chosen = Vec::new();
        for &(of_sockets, of_cores) in self.parts {
            let Some(count) = quarters(of_sockets, sockets.len()) else {
                return Err(format!(
                    "{} cannot be divided so",
                    counted(sockets.len(), "socket")
                ));
            };
            let (these, others) = rest.split_at(count);
            rest = others;
            for cpus in these {
                let Some(count) = quarters(of_cores, cpus.len()) else {
                    let cores = counted(cpus.len(), "core");
                    return Err(format!("a socket of {cores} cannot be divided so"));
                };
                chosen.extend(cpus[..count].iter().map(|cpu| cpu.id));
            }
        }
        Ok(chosen)
    }
}

/// So many quarters of `whole`, if that is a whole number.
fn quarters(quarters: usize, whole: usize) -> Option<usize> {
    (quarters * whole)
        .is_multiple_of(4)
        .then_some(quarters * whole / 4)
}

fn counted(count: usize, what: &str) -> String {
    crate::number::counted(count as u64, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(sockets: usize, cores: usize, threads: usize) -> Topology {
        let total = sockets * cores;
        let cpu = |id: usize| LogicalCpu {
            id,
            socket: id % total / cores,
            core: id % cores,
            thread: id / total,
        };
        Topology {
            cpus: (0..total * threads).map(cpu).collect(),
            last_level_cache: None,
        }
    }

    fn bound(bind: &str, topology: &Topology, threads: Option<usize>) -> Vec<usize> {
        bind.parse::<Bind>()
            .unwrap()
            .cpus(topology, threads)
            .unwrap()
    }

    #[test]
    fn threads_go_where_they_are_bound() {
        let topology = machine(2, 2, 2);
        assert_eq!(bound("compact", &topology, None), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(bound("compact", &topology, Some(3)), [0, 1, 2]);
        assert_eq!(bound("spread", &topology, Some(3)), [0, 2, 1]);
        assert_eq!(bound("per-socket:1", &topology, None), [0, 2]);
        assert_eq!(bound("cores:3,0-1", &topology, None), [3, 0, 1]);
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        let topology = machine(1, 2, 1);
        let refused = |bind: &str, threads| {
            let bind: Bind = bind.parse().unwrap();
            bind.cpus(&topology, threads).unwrap_err().to_string()
        };
        assert!(refused("cores:5", None).contains("CPU 5"));
        assert!(refused("compact", Some(3)).contains('3'));
        assert!(refused("per-socket:3", None).contains("socket 0"));
        for text in [
            "cores:",
            "cores:2-1",
            "cores:x",
            "per-socket:0",
            "tight",
            "plans:1",
        ] {
            assert!(text.parse::<Bind>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_plans_are_the_studys_on_its_own_machine() {
        let blade = machine(4, 4, 1);
        let plans = PLANS.map(|plan| plan.cpus(&blade).unwrap());
        assert_eq!(plans.each_ref().map(Vec::len), [8, 8, 8, 12, 12, 16]);
        assert_eq!(plans[0], [0, 1, 4, 5, 8, 9, 12, 13]);
        assert_eq!(plans[1], [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(plans[2], [0, 1, 2, 4, 5, 6, 8, 12]);
        assert_eq!(plans[4], (0..12).collect::<Vec<_>>());
        let small = machine(1, 2, 1);
        let possible = PLANS.map(|plan| plan.cpus(&small).is_ok());
        assert_eq!(possible, [true, false, false, false, false, true]);
    }
}
