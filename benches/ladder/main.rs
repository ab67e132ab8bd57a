//! The optimisation steps of the paper "HPCG on the Angara network" (2015), climbed on this machine:
//! `cargo bench --bench ladder -- --nx 16 --ny 16 --nz 128`.
//!
//! One table for each number of threads: whole CG iterations in GFLOP/s as HPCG counts flops, the
//! factor to the line above and to the contiguous rows on one thread, and the iterations that the
//! order needs to the residual of 50 iterations in natural order, beside what the paper found on 12
//! cores. Each step is compared with the sequential twin in the same order before it is timed, so it
//! needs no test of its own. The slow steps are written here (`rows.rs`, `plain.rs`); the others are cubie's.
//!
//! Then the halo: each rank one thread with 16³ points, ranks as threads of this process by each
//! transport; or those of `mpirun` by the one that `--halo` names, in a build with `--features mpi`:
//! `mpirun -n 4 target/release/deps/ladder-… --halo put-flag`.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(
    non_snake_case,
    reason = "A and Axf are the names that the algorithm has"
)]

#[path = "../common"]
mod common {
    pub(crate) mod median;
}
mod halo;
mod plain;
mod rows;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use cubie::cg::CgParams;
use cubie::cpu::Cpu;
use cubie::machine::Machine;
use cubie::mg::Multigrid;
use cubie::model::{Counts, level_sizes};
use cubie::params::{Format, Sizes};
use cubie::reference::Reference;
use cubie::solver::{Orderings, Solver};
use cubie::validate::kernels::hash_vector;
use cubie::{Backend, report};
use cubie_host::comm::Transport;
use cubie_host::{Geometry, Order, Ordered, Problem, Ranks};

use common::median::median;
use plain::Plain;
use rows::{Contiguous, Ellpack, PerRow};

/// Climbs the ladder of a paper's optimisation steps.
#[derive(Parser)]
struct Flags {
    /// Points in x
    #[arg(long, default_value = "16")]
    nx: usize,
    /// Points in y
    #[arg(long, default_value = "16")]
    ny: usize,
    /// Points in z
    #[arg(long, default_value = "128")]
    nz: usize,
    /// Numbers of threads [default: 1 and all cores]
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// Numbers of ranks for the halo, as threads of this process
    #[arg(long, value_delimiter = ',', default_value = "2,4,8")]
    ranks: Vec<usize>,
    /// Measure only the halo, with the ranks of mpirun and by this transport
    #[arg(long)]
    halo: Option<Transport>,
    /// Draw the ladder into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

/// Colours as they are numbered, which is what the paper visits.
const COLORS_AS_NUMBERED: Order = Order::Color8([0, 1, 2, 3, 4, 5, 6, 7]);
/// Iterations whose residual every order must reach.
const REFERENCE: usize = 50;
/// Iterations of a set.
const ITERATIONS: usize = 10;
/// Time that sets take at least.
const SETS: Duration = Duration::from_millis(700);
/// How far a step may be from its twin: the roundings of a V-cycle.
const TOLERANCE: f64 = 1e-12;

/// A step and what was measured of it.
struct Step {
    name: &'static str,
    threads: usize,
    paper: &'static str,
    gflops: f64,
    iterations: usize,
}

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    if let Some(transport) = flags.halo {
        halos(1, &[transport])?;
        return Ok(());
    }
    let sizes = Sizes {
        n: [flags.nx, flags.ny, flags.nz].map(Some),
        ..Sizes::default()
    };
    let geometry = sizes.grid(1)?.geometry(0)?;
    let cores = Machine::here().threads;
    let threads = match &flags.threads[..] {
        [] if cores == 1 => vec![1],
        [] => vec![1, cores],
        asked => asked.to_vec(),
    };
    let ladder = Ladder::new(&geometry)?;
    let mut bars = Vec::new();
    for threads in threads {
        let steps = ladder.climb(threads)?;
        print(&geometry, threads, &steps);
        // The sequential steps are drawn once.
        let drawn = if bars.is_empty() {
            &steps[..]
        } else {
            &steps[2..]
        };
        let contiguous = steps[1].gflops;
        bars.extend(drawn.iter().map(|step| bar(step, contiguous)));
    }
    if let Some(file) = &flags.svg {
        let title = format!("GFLOP/s on {} x {} x {}", flags.nx, flags.ny, flags.nz);
        fs::write(file, report::bar_chart(&title, &bars))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    println!(
        "\nhalo of {}³ a rank, ranks as threads; the paper, 36 x 8 ranks: puts, at last with flags, +39 %",
        halo::SIDE
    );
    let transports = [Transport::Isend, Transport::PutBarrier, Transport::PutFlag];
    for &ranks in &flags.ranks {
        halos(ranks, &transports)?;
    }
    Ok(())
}

/// The problem that is solved on every step.
struct Ladder {
    problem: Problem,
    /// The residual after 50 iterations in natural order.
    target: f64,
    flops: f64,
}

impl Ladder {
    fn new(geometry: &Geometry) -> anyhow::Result<Self> {
        let problem = Problem::new(geometry);
        let orderings = Orderings::new(&Order::Natural, &problem);
        let levels = orderings.view(&problem.levels);
        let target = solver(Reference::new(), &levels, &problem)?
            .solve(&params(REFERENCE, 0.0))?
            .last();
        let counts = Counts::new(&level_sizes(geometry), 1, ITERATIONS as u64);
        Ok(Self {
            target,
            flops: counts.flops.sum(),
            problem,
        })
    }

    /// All steps on so many threads; the first two are sequential.
    fn climb(&self, threads: usize) -> anyhow::Result<Vec<Step>> {
        let n = threads;
        let plane = Order::Plane2;
        let natural = Order::Natural;
        let rows = || Plain::<Contiguous>::new(n);
        let numbered = &COLORS_AS_NUMBERED;
        let alone = (Plain::<PerRow>::new(1), Plain::<Contiguous>::new(1));
        let ellpack = Plain::<Ellpack>::new(n);
        let slices = Cpu::<f64>::new(n, Format::Ell28);
        let split = Cpu::<f64>::new(n, Format::Split);
        Ok(vec![
            self.step("row by row", 1, &natural, "", alone.0)?,
            self.step("contiguous", 1, &natural, "1.5 over row by row", alone.1)?,
            self.step("8 colours", n, numbered, "> 3 over contiguous", rows())?,
            self.step("plane2:1", n, &plane(1), "better than 8 colours", rows())?,
            self.step("plane2:2", n, &plane(2), "4.8 over contiguous", rows())?,
            self.step("ELLPACK-28", n, &plane(2), "1.05", ellpack)?,
            self.step("ell28, SIMD", n, &Order::COLOR8, "", slices)?,
            self.step("split, SIMD", n, &Order::COLOR8, "", split)?,
        ])
    }

    /// Compares a step with its twin, counts its iterations, and times them.
    fn step<B: Backend>(
        &self,
        name: &'static str,
        threads: usize,
        order: &Order,
        paper: &'static str,
        backend: B,
    ) -> anyhow::Result<Step> {
        let Self { problem, .. } = self;
        let orderings = Orderings::new(order, problem);
        let levels = orderings.view(&problem.levels);
        let mut twin = solver(Reference::new(), &levels, problem)?;
        let mut ours = solver(backend, &levels, problem)?;
        let v = hash_vector(&problem.levels[0].geometry);
        for (kernel, ours, theirs) in [
            ("SpMV", ours.spmv_of(&v)?, twin.spmv_of(&v)?),
            ("MG", ours.mg_of(&v)?, twin.mg_of(&v)?),
        ] {
            let off = distance(&ours, &theirs);
            ensure!(off <= TOLERANCE, "{kernel} of '{name}' is off by {off:e}");
        }
        let iterations = ours
            .solve(&params(10 * REFERENCE, self.target))?
            .iterations();

        ours.finish()?;
        let mut seconds = Vec::new();
        let start = Instant::now();
        while seconds.is_empty() || start.elapsed() < SETS {
            let set = Instant::now();
            ours.solve(&params(ITERATIONS, 0.0))?;
            ours.finish()?;
            seconds.push(set.elapsed().as_secs_f64());
        }
        Ok(Step {
            name,
            threads,
            paper,
            gflops: self.flops / median(seconds) / 1e9,
            iterations,
        })
    }
}

fn params(max_iter: usize, tolerance: f64) -> CgParams {
    CgParams {
        max_iter,
        tolerance,
        preconditioned: true,
    }
}

fn solver<B: Backend>(
    mut backend: B,
    levels: &[Ordered<'_>],
    problem: &Problem,
) -> anyhow::Result<Solver<B, Multigrid<B>>> {
    let ranks = Ranks::serial();
    let system = Multigrid::new(&mut backend, levels, &ranks)?;
    Ok(Solver::new(
        backend, &ranks, system, &levels[0], &problem.b, false,
    )?)
}

/// max|ours − theirs| / max|theirs|; infinite where one is no number.
fn distance(ours: &[f64], theirs: &[f64]) -> f64 {
    let largest = theirs
        .iter()
        .fold(0.0, |max: f64, value| max.max(value.abs()));
    let off = ours.iter().zip(theirs).map(|(o, t)| (o - t).abs());
    off.fold(0.0, |max: f64, off| {
        if off.is_nan() {
            f64::INFINITY
        } else {
            max.max(off)
        }
    }) / largest
}

fn print(geometry: &Geometry, threads: usize, steps: &[Step]) {
    let [nx, ny, nz] = geometry.n;
    println!("\n{nx} x {ny} x {nz}, threads: {threads}");
    println!(
        "{:<20} {:>7} {:>8} {:>7} {:>15} {:>10}  paper",
        "step", "threads", "GFLOP/s", "factor", "over contiguous", "iterations"
    );
    let contiguous = steps[1].gflops;
    let mut before = None;
    for step in steps {
        let factor =
            before.map_or_else(String::new, |before| format!("{:.2}", step.gflops / before));
        println!(
            "{:<20} {:>7} {:>8.3} {factor:>7} {:>15.2} {:>10}  {}",
            step.name,
            step.threads,
            step.gflops,
            step.gflops / contiguous,
            step.iterations,
            step.paper
        );
        before = Some(step.gflops);
    }
}

/// A step for the plot: its rate, the factor over contiguous rows, and the paper's.
fn bar(step: &Step, contiguous: f64) -> (String, f64, String) {
    let name = format!("{} ({})", step.name, step.threads);
    let factor = step.gflops / contiguous;
    let paper = step.paper.strip_suffix(" over contiguous");
    let paper = paper.map_or_else(String::new, |paper| format!("; paper {paper}"));
    let text = format!("{:.2} GFLOP/s (x {factor:.2}{paper})", step.gflops);
    (name, step.gflops, text)
}

/// Measures each transport with so many ranks, and prints a line for each.
fn halos(ranks: usize, transports: &[Transport]) -> anyhow::Result<()> {
    let mut first = None;
    for &transport in transports {
        let measured = halo::measure(ranks, transport)?;
        let off = (measured.residual / measured.twin - 1.0).abs();
        ensure!(
            off < 1e-9,
            "the residual with {transport} is off by {off:e}"
        );
        let (before, residual) = *first.get_or_insert((measured.iteration, measured.residual));
        ensure!(
            residual.to_bits() == measured.residual.to_bits(),
            "{transport} changes the result"
        );
        if measured.speaks {
            let factor = match transports {
                [_] => String::new(),
                _ => format!(" factor {:.2},", before / measured.iteration),
            };
            println!(
                "{:>3} ranks  {transport:<14} {:>8.1} us an iteration,{factor} {:>6.1} us an exchange",
                measured.ranks,
                1e6 * measured.iteration,
                1e6 * measured.exchange
            );
        }
    }
    Ok(())
}
