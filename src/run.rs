//! One rank's run: from flags to checked parameters and an open device, on which all ranks agree, to results.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use cubie_host::Ranks;

use crate::cli::HpcgFlags;
use crate::device::Device;
use crate::fit::{Room, rehearse};
use crate::launch::{Failure, agree};
use crate::machine::Machine;
use crate::params::Params;
use crate::{Error, Results, benchmark, hybrid, progress};

/// A rank that has ended well.
pub struct Ended {
    /// What the run found out.
    pub results: Results,
    /// Whether it is the one that writes.
    pub first: bool,
}

/// Runs the benchmark on this rank, together with the others. Raising `stop` on any rank ends it
/// after the current set.
///
/// # Errors
/// What makes no sense or does not fit, before any work; what fails later.
pub fn run(ranks: &Ranks, flags: &HpcgFlags, stop: &AtomicBool) -> Result<Ended, Failure> {
    let outputs = flags.outputs();
    let first = ranks.rank() == 0;
    let (params, device) = prepare(flags, ranks)?;
    agree(ranks, if first { outputs.probe() } else { Ok(()) })?;

    let mut progress = progress::shown(first && !outputs.quiet);
    let results = benchmark::run(&params, &device, ranks, progress.as_mut(), stop)?;
    Ok(Ended { results, first })
}

/// The flags, checked against what this rank's machine and device can hold; all ranks agree.
fn prepare(flags: &HpcgFlags, ranks: &Ranks) -> Result<(Params, Device), Failure> {
    let machine = Machine::here();
    let (local, ranks_here) = ranks.local();
    if flags.compares() && ranks.processes() > 1 {
        agree(ranks, Err(Error::CompareUnderMpi))?;
    }
    let mut params = agree(ranks, flags.check(ranks.size(), &machine, Path::new(".")))?;
    let devices = flags.devices().check(ranks_here);
    agree(ranks, devices.map_err(Error::from))?;
    if ranks.is_alone() && flags.says_how_ranks_talk() {
        params
            .notices
            .push("one rank talks to nobody: --halo, --reduce and --overlap change nothing".into());
    }
    params.device = flags.devices().of(local).clone();
    params.threads = flags.threads().unwrap_or_else(|| machine.threads_of(ranks));
    let device = agree(ranks, Device::open(&params, local))?;
    let room = agree(ranks, Room::of(&device, &params, machine, ranks))?;
    if let Some(share) = flags.fill() {
        let grid = room.fill(share, params.grid.np).map_err(Error::from);
        params.grid = agree(ranks, grid)?;
    }
    if let Some(shared) = &params.hybrid {
        let (grid, notice) = hybrid::grid(ranks, &params.grid, shared, &device, room.precision)?;
        params.grid = grid;
        params.notices.extend(notice);
    }
    let geometry = params.grid.geometry(ranks.rank()).map_err(Error::from);
    let geometry = agree(ranks, geometry)?;
    agree(ranks, room.check(&geometry, ranks))?;
    agree(ranks, rehearse(&device, &params, &geometry, ranks))?;
    Ok((params, device))
}
