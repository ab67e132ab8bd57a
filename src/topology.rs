//! Where this process may run: its logical CPUs with their cores and sockets, and the caches they share.
//!
//! Linux tells under `/sys/devices/system/cpu`; elsewhere each CPU counts as a core of one socket.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A logical CPU that this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogicalCpu {
    /// Its number for the operating system.
    pub id: usize,
    /// Its socket.
    pub socket: usize,
    /// Its core within the socket.
    pub core: usize,
    /// Its place among the hardware threads of the core, from 0.
    pub thread: usize,
}

/// The CPUs that this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// By socket, then by core, then by hardware thread.
    pub cpus: Vec<LogicalCpu>,
    /// Bytes of all their last-level caches together; `None` where the system does not tell.
    pub last_level_cache: Option<u64>,
}

/// An array that no cache holds has so many times the bytes of the last-level caches.
const CACHES: u64 = 4;
/// Bytes of the caches where the system does not tell.
const ASSUMED_CACHE: u64 = 32 << 20;
/// Bytes of an array at most where the memory is only looked at in passing.
const MOST_IN_SHORT: usize = 256 << 20;

/// Where Linux describes its CPUs.
const SYSTEM: &str = "/sys/devices/system/cpu";

impl Topology {
    /// Asks the operating system.
    pub fn here() -> Self {
        let allowed = core_affinity::get_core_ids().unwrap_or_default();
        let ids = match allowed.len() {
            0 => vec![0],
            _ => allowed.into_iter().map(|core| core.id).collect(),
        };
        Self::read(Path::new(SYSTEM), &ids)
    }

    /// The topology of the CPUs `ids` as the files in `system` describe it.
    fn read(system: &Path, ids: &[usize]) -> Self {
        let place = |id: usize| {
            let fact = |name: &str| number(&system.join(format!("cpu{id}/topology/{name}")));
            let socket = fact("physical_package_id").unwrap_or(0);
            (socket, fact("core_id").unwrap_or(id), id)
        };
        let mut places: Vec<_> = ids.iter().map(|&id| place(id)).collect();
        places.sort_unstable();
        let mut cpus: Vec<LogicalCpu> = Vec::with_capacity(places.len());
        for (socket, core, id) in places {
            let thread = match cpus.last() {
                Some(last) if (last.socket, last.core) == (socket, core) => last.thread + 1,
                _ => 0,
            };
            cpus.push(LogicalCpu {
                id,
                socket,
                core,
                thread,
            });
        }
        Self {
            cpus,
            last_level_cache: last_level_cache(system, ids),
        }
    }

    /// The CPUs of each socket, one for each core before the second hardware threads.
    pub fn sockets(&self) -> Vec<Vec<LogicalCpu>> {
        let numbers: BTreeSet<usize> = self.cpus.iter().map(|cpu| cpu.socket).collect();
        let one = |socket: usize| {
            let mut cpus = self.cpus.clone();
            cpus.retain(|cpu| cpu.socket == socket);
            cpus.sort_by_key(|cpu| cpu.thread);
            cpus
        };
        numbers.into_iter().map(one).collect()
    }

    /// Bytes of an array that no cache holds.
    pub fn beyond_caches(&self) -> usize {
        let bytes = CACHES * self.last_level_cache.unwrap_or(ASSUMED_CACHE);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// The same, but no more than a look at the memory may take in passing: from 96³ on that needs no
    /// more memory than HPCG's run.
    pub fn beyond_caches_in_short(&self) -> usize {
        self.beyond_caches().min(MOST_IN_SHORT)
    }

    /// Cores, each counted once however many hardware threads it has.
    pub fn cores(&self) -> usize {
        self.cpus.iter().filter(|cpu| cpu.thread == 0).count()
    }
}

/// The sum over the caches of the highest level, each counted once.
fn last_level_cache(system: &Path, ids: &[usize]) -> Option<u64> {
    let mut highest = 0;
    let mut caches = BTreeSet::new();
    for id in ids {
        let cache = system.join(format!("cpu{id}/cache"));
        for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
            let dir = entry.path();
            let Some(level) = number(&dir.join("level")) else {
                continue;
            };
            if level > highest {
                highest = level;
                caches.clear();
            }
            if level == highest {
                let shared = text(&dir.join("shared_cpu_list")).unwrap_or_default();
                caches.insert((shared, size(&text(&dir.join("size"))?)?));
            }
        }
    }
    let bytes: u64 = caches.iter().map(|(_, bytes)| bytes).sum();
    (bytes > 0).then_some(bytes)
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number(path: &Path) -> Option<usize> {
    text(path)?.parse().ok()
}

/// Bytes of a size such as `32768K` or `32M`.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['K', 'M']);
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    Some(digits.parse::<u64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of two cores with two hardware threads each, numbered as Linux likes to.
    #[test]
    fn cores_sockets_and_caches_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        for id in 0..8 {
            let (socket, core) = (id % 4 / 2, id % 2);
            let topology = dir.path().join(format!("cpu{id}/topology"));
            let cache = dir.path().join(format!("cpu{id}/cache"));
            fs::create_dir_all(&topology).unwrap();
            fs::write(topology.join("physical_package_id"), format!("{socket}\n")).unwrap();
            fs::write(topology.join("core_id"), format!("{core}\n")).unwrap();
            let shared = [format!("{core},{}", core + 4), format!("socket {socket}")];
            for (level, size) in [(2, "512K"), (3, "16M")] {
                let index = cache.join(format!("index{level}"));
                fs::create_dir_all(&index).unwrap();
                fs::write(index.join("level"), level.to_string()).unwrap();
                fs::write(index.join("size"), size).unwrap();
                fs::write(index.join("shared_cpu_list"), &shared[level - 2]).unwrap();
            }
        }
        let all: Vec<usize> = (0..8).collect();
        let topology = Topology::read(dir.path(), &all);
        assert_eq!(topology.cores(), 4);
        assert_eq!(topology.last_level_cache, Some(32 << 20));
        let ids = |cpus: &Vec<LogicalCpu>| cpus.iter().map(|cpu| cpu.id).collect::<Vec<_>>();
        let sockets: Vec<_> = topology.sockets().iter().map(ids).collect();
        assert_eq!(sockets, [[0, 1, 4, 5], [2, 3, 6, 7]]);

        let one = Topology::read(dir.path(), &[2]);
        assert_eq!((one.cores(), one.last_level_cache), (1, Some(16 << 20)));
        let unknown = Topology::read(Path::new("/nowhere"), &[0, 1]);
        assert_eq!((unknown.cores(), unknown.last_level_cache), (2, None));
    }
}
