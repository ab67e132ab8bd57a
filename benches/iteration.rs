//! Whole CG iterations: GFLOP/s as HPCG counts them, and the bytes that move.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::time::Instant;

use cubie::Backend;
use cubie::cg::CgParams;
use cubie::cpu::Cpu;
use cubie::meter::Op;
use cubie::mg::{Mixed, Multigrid, System};
use cubie::params::Format;
use cubie::solver::{Orderings, Solver};
use cubie_host::{Geometry, Order, Ordered, Problem, Ranks};

fn main() {
    let arg = |i: usize, default: usize| {
        std::env::args()
            .filter(|a| !a.starts_with('-'))
            .nth(i)
            .map_or(default, |a| a.parse().expect("a number"))
    };
    let (n, threads) = (arg(1, 104), arg(2, 2));
    let start = Instant::now();
    let problem = Problem::new(&Geometry::single([n; 3]).unwrap());
    println!(
        "{n}³, {threads} threads: set-up {:.3} s",
        start.elapsed().as_secs_f64()
    );
    let start = Instant::now();
    let orderings = Orderings::new(&Order::COLOR8, &problem);
    println!(
        "colouring and permutation {:.3} s",
        start.elapsed().as_secs_f64()
    );
    let levels = orderings.view(&problem.levels);
    for format in [Format::Ell28, Format::Split] {
        let start = Instant::now();
        let mut f64 = Cpu::<f64>::new(threads, format);
        let system = Multigrid::new(&mut f64, &levels, &Ranks::serial()).unwrap();
        println!(
            "{format}: conversion {:.3} s",
            start.elapsed().as_secs_f64()
        );
        measure("f64", &problem, f64, system, &levels, false);
        let mut f64 = Cpu::<f64>::new(threads, format);
        let f32 = f64.sibling::<f32>();
        let system = Mixed::new(&mut f64, f32, &levels, &Ranks::serial()).unwrap();
        measure("mixed", &problem, f64, system, &levels, true);
    }
}

fn measure<B: Backend, S: System<B>>(
    name: &str,
    problem: &Problem,
    backend: B,
    system: S,
    levels: &[Ordered<'_>],
    narrow: bool,
) {
    let mut solver = Solver::new(
        backend,
        &Ranks::serial(),
        system,
        &levels[0],
        &problem.b,
        narrow,
    )
    .unwrap();
    let params = CgParams {
        max_iter: 10,
        tolerance: 0.0,
        preconditioned: true,
    };
    let (fine, coarse) = problem.levels.split_at(3);
    let mg: u64 = fine.iter().map(|l| 10 * l.A.nnz).sum::<u64>()
        + coarse.iter().map(|l| 4 * l.A.nnz).sum::<u64>();
    let n = problem.b.len() as u64;
    let flops = 10 * (6 * n * 2 + 2 * problem.levels[0].A.nnz + mg);
    let mut rates = Vec::new();
    for _ in 0..7 {
        solver.finish().unwrap();
        let convergence = solver.solve(&params).unwrap();
        let work = solver.finish().unwrap();
        rates.push((
            flops as f64 / work.seconds.sum() / 1e9,
            work,
            convergence.last(),
        ));
    }
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (gflops, work, last) = rates[rates.len() / 2];
    println!(
        "{name}: {gflops:.2} GFLOP/s, {:.1} GB/s, residual {last:.3e}",
        work.bytes.sum() / work.seconds.sum() / 1e9
    );
    for op in Op::ALL {
        println!(
            "  {op:?}: {:.1} % {:.1} GB/s",
            100.0 * work.seconds[op] / work.seconds.sum(),
            work.bytes[op] / work.seconds[op] / 1e9
        );
    }
}
