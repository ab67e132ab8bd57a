//! The bytes that the CPU backend counts, for a comparison with an independent count:
//! `benches/traffic.sh` runs this under cachegrind.
//!
//! Solves so many iterations of CG on one thread and prints the counted bytes. Two runs with
//! different numbers of iterations differ by what an iteration moves; set-up drops out.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use clap::Parser;
use cubie::cg::CgParams;
use cubie::cpu::Cpu;
use cubie::mg::Multigrid;
use cubie::params::Format;
use cubie::solver::{Orderings, Solver};
use cubie_host::{Geometry, Order, Problem, Ranks};

/// Counts the bytes of some iterations.
#[derive(Parser)]
struct Flags {
    /// Points of each side of the box, a multiple of 8
    #[arg(default_value = "48")]
    n: usize,
    /// Iterations of CG
    #[arg(default_value = "1")]
    iterations: usize,
    /// split or ell28
    #[arg(long, default_value = "split")]
    format: Format,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let problem = Problem::new(&Geometry::single([flags.n; 3])?);
    let orderings = Orderings::new(&Order::COLOR8, &problem);
    let levels = orderings.view(&problem.levels);
    let ranks = Ranks::serial();
    let mut backend = Cpu::<f64>::new(1, flags.format);
    let system = Multigrid::new(&mut backend, &levels, &ranks)?;
    let mut solver = Solver::new(backend, &ranks, system, &levels[0], &problem.b, false)?;
    solver.solve(&CgParams {
        max_iter: flags.iterations,
        tolerance: 0.0,
        preconditioned: true,
    })?;
    println!("{:.0} bytes", solver.finish()?.bytes.sum());
    Ok(())
}
