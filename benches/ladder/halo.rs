//! The last steps of the ladder: how the halo travels between ranks.

use std::time::{Duration, Instant};

use cubie::cg::CgParams;
use cubie::cpu::Cpu;
use cubie::launch::{Failure, Launch, launch};
use cubie::mg::Multigrid;
use cubie::params::{Format, Sizes};
use cubie::reference::Reference;
use cubie::solver::{Orderings, Solver};
use cubie::{Backend, Error};
use cubie_host::comm::{Reduce, Transport};
use cubie_host::{Order, Ordered, Problem, Ranks};

use crate::common::median::median;

/// Points of a side of each rank's box, as in the paper.
pub(crate) const SIDE: usize = 16;
/// Iterations of a set.
const ITERATIONS: usize = 10;
/// Time that sets take at least.
const LEAST: Duration = Duration::from_millis(500);

/// What was measured with one transport.
pub(crate) struct Halo {
    /// Whether this process speaks for all ranks.
    pub(crate) speaks: bool,
    pub(crate) ranks: usize,
    /// Seconds of an iteration, on the slowest rank; the median of sets.
    pub(crate) iteration: f64,
    /// Seconds of an exchange, on the slowest rank.
    pub(crate) exchange: f64,
    /// The residual after a set, to be the same with every transport.
    pub(crate) residual: f64,
    /// The twin's.
    pub(crate) twin: f64,
}

/// Runs `ranks` ranks as threads, or those of `mpirun`, each on one thread.
pub(crate) fn measure(ranks: usize, transport: Transport) -> anyhow::Result<Halo> {
    let how = Launch {
        here: ranks,
        transport,
        reduce: Reduce::Ordered,
        overlap: Some(false),
    };
    #[expect(
        clippy::print_stderr,
        reason = "under mpirun one rank says what failed"
    )]
    let failed = |why: &str| eprintln!("{why}");
    let measured = launch(&how, on_rank, failed)?;
    measured.ok_or_else(|| anyhow::anyhow!("the ranks could not run"))
}

fn on_rank(ranks: &Ranks) -> Result<Halo, Failure> {
    let sizes = Sizes {
        n: [Some(SIDE); 3],
        ..Sizes::default()
    };
    let grid = sizes.grid(ranks.size()).map_err(Error::from)?;
    let problem = Problem::new(&grid.geometry(ranks.rank()).map_err(Error::from)?);
    let orderings = Orderings::new(&Order::COLOR8, &problem);
    let levels = orderings.view(&problem.levels);
    let twin = solver(Reference::new(), ranks, &levels, &problem)?
        .solve(&set())?
        .last();

    let backend = Cpu::<f64>::new(1, Format::Split);
    let mut solver = solver(backend, ranks, &levels, &problem)?;
    let mut residual = solver.solve(&set())?.last();
    ranks.take_traffic();
    let mut seconds = Vec::new();
    // All ranks do the same number of sets: as many as the slowest wants.
    let mut all = 0.0;
    while all < LEAST.as_secs_f64() {
        ranks.barrier();
        let start = Instant::now();
        residual = solver.solve(&set())?.last();
        let set = ranks.max_of(start.elapsed().as_secs_f64());
        seconds.push(set / ITERATIONS as f64);
        all += set;
    }
    let traffic = ranks.take_traffic();
    Ok(Halo {
        speaks: ranks.rank() == 0,
        ranks: ranks.size(),
        iteration: median(seconds),
        exchange: ranks.max_of(traffic.seconds / traffic.exchanges.max(1) as f64),
        residual,
        twin,
    })
}

fn set() -> CgParams {
    CgParams {
        max_iter: ITERATIONS,
        tolerance: 0.0,
        preconditioned: true,
    }
}

fn solver<B: Backend>(
    mut backend: B,
    ranks: &Ranks,
    levels: &[Ordered<'_>],
    problem: &Problem,
) -> Result<Solver<B, Multigrid<B>>, Error> {
    let system = Multigrid::new(&mut backend, levels, ranks)?;
    Solver::new(backend, ranks, system, &levels[0], &problem.b, false)
}
