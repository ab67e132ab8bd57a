//! One rank's run: from flags to checked parameters and an open device, on which all ranks agree, to results.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use cubie_host::{Grid, Ranks};

use crate::cli::HpcgFlags;
use crate::device::Device;
use crate::fit::{Room, rehearse, smallest};
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
    agree(ranks, if first { check_alone(flags) } else { Ok(()) })?;

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
    let together = benchmark::common_precision(ranks, room.precision, params.precision);
    agree(ranks, together)?;
    if let Some(share) = flags.fill() {
        let grid = room.fill(share, params.grid.np).map_err(Error::from);
        params.grid = smallest(ranks, &agree(ranks, grid)?);
    }
    if let Some(shared) = &params.hybrid {
        let (grid, notice) = hybrid::grid(ranks, &params.grid, shared, &device, room.precision)?;
        params.grid = grid;
        params.notices.extend(notice);
    }
    agree(ranks, alike(ranks, &params.grid, params.seconds))?;
    let geometry = params.grid.geometry(ranks.rank()).map_err(Error::from);
    let geometry = agree(ranks, geometry)?;
    agree(ranks, room.check(&geometry, ranks))?;
    agree(ranks, rehearse(&device, &params, &geometry, ranks))?;
    Ok((params, device))
}

/// Refuses a `--compare` whose second run could not begin.
fn check_alone(flags: &HpcgFlags) -> Result<(), Error> {
    let Some(alone) = flags.alone() else {
        return Ok(());
    };
    prepare(&alone, &Ranks::serial())
        .map(drop)
        .map_err(|failure| Error::CannotCompare(failure.to_string()))
}

/// Refuses ranks whose grids or times differ: such ranks would wait for each other for ever.
fn alike(ranks: &Ranks, grid: &Grid, seconds: u64) -> Result<(), Error> {
    let all = ranks.gather_bytes(format!("{grid:?} {seconds}").as_bytes());
    match all.iter().position(|of_rank| *of_rank != all[0]) {
        Some(rank) => Err(Error::UnlikeRankZero(rank)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubie_host::comm::{Reduce, Transport, threads};

    #[test]
    fn ranks_that_were_told_different_things_are_refused() {
        let check = |heights: [usize; 3], seconds: [u64; 3]| {
            let all = threads::run(3, |comm| {
                let ranks = Ranks::new(Box::new(comm), Transport::Isend, Reduce::Fast);
                let grid = Grid::uniform([1, 1, 3], [16, 16, heights[ranks.rank()]]);
                alike(&ranks, &grid, seconds[ranks.rank()])
            });
            all.map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(check([16; 3], [60; 3]), Ok(()));
        assert!(check([16, 16, 24], [60; 3]).unwrap_err().contains("rank 2"));
        assert!(check([16; 3], [60, 30, 60]).unwrap_err().contains("rank 1"));
    }
}
