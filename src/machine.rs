//! What this host has: memory and threads.

use cubie_host::Ranks;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// Memory and threads of the host, as far as this process may use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Memory; `None` where the operating system does not tell.
    pub memory: Option<Memory>,
    /// Threads that run at the same time: the cores in the affinity mask.
    pub threads: usize,
}

/// Bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// What can still be allocated.
    pub free: u64,
}

impl Machine {
    /// Asks the operating system; a container's limits count.
    pub fn here() -> Self {
        Self {
            memory: memory(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Machine {
    /// Threads for each of these ranks: the cores of its affinity mask, shared among those on this
    /// machine that have the same mask.
    pub fn threads_of(&self, ranks: &Ranks) -> usize {
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        let mask: Vec<usize> = cores.iter().map(|core| core.id).collect();
        let mine = format!("{:?} {mask:?}", host_name());
        let sharing = sum_alike(ranks, &mine, 1);
        let sharing = usize::try_from(sharing).unwrap_or(usize::MAX);
        (self.threads / sharing).max(1)
    }
}

/// The sum of `amount` over the ranks that have the same `key`, such as the name of their host.
pub fn sum_alike(ranks: &Ranks, key: &str, amount: u64) -> u64 {
    let mine = [&amount.to_ne_bytes(), key.as_bytes()].concat();
    let all = ranks.gather_bytes(&mine);
    let alike = all
        .iter()
        .filter_map(|bytes| bytes.split_first_chunk())
        .filter(|(_, other)| *other == key.as_bytes());
    alike.map(|(amount, _)| u64::from_ne_bytes(*amount)).sum()
}

fn memory() -> Option<Memory> {
    let ram = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(ram).ok()?;
    let (total, free) = (system.total_memory(), system.available_memory());
    Some(match system.cgroup_limits() {
        Some(limits) => Memory {
            total: total.min(limits.total_memory),
            // What the group caches of files is given back on demand, so it counts as free.
            free: free.min(limits.total_memory.saturating_sub(limits.rss)),
        },
        None => Memory { total, free },
    })
}

/// The name of this host, if it has one.
pub fn host_name() -> Option<String> {
    System::host_name().ok()
}

/// The name of the CPU, as far as the operating system tells.
pub fn cpu_name() -> String {
    let cpus = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
    let brand = System::new_with_specifics(cpus)
        .ok()
        .and_then(|system| Some(system.cpus().first()?.brand().trim().to_owned()));
    brand
        .filter(|brand| !brand.is_empty())
        .unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH))
}
