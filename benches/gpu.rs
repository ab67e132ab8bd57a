//! A GPU in one table: `benches/gpu.sh`, or `cargo bench --bench gpu -- 256 --device NAME`.
//!
//! First every kernel is checked against its twin; then each precision solves a box of N points a
//! side for some seconds. The rating is the benchmark's, with a tenth of set-up and optimise time
//! on each set; its reference phases and checks are left out, so that 256 takes minutes.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod common {
    pub(crate) mod iterations;
    pub(crate) mod median;
}

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use cubie::Op;
use cubie::cli::DeviceFlags;
use cubie::device::Device;
use cubie::machine::Machine;
use cubie::model::{Counts, level_sizes};
use cubie::params::DeviceChoice;
use cubie::solver::Orderings;
use cubie::validate::kernels::check_kernels;
use cubie_host::{Geometry, Order, Problem, Ranks};

use common::iterations::Iterations;

/// Measures a GPU in every precision that it can.
#[derive(Parser)]
struct Flags {
    /// Points of each side of the box, a multiple of 8
    #[arg(default_value = "64")]
    n: usize,
    /// Seconds of timed sets in each precision
    #[arg(long, default_value = "20")]
    seconds: u64,
    #[command(flatten)]
    device: DeviceFlags,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

/// Iterations of a set.
const ITERATIONS: usize = 50;

/// The box on which kernels are checked.
const CHECKED_BOX: [usize; 3] = [32, 24, 40];

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let params = flags.device.params(&Machine::here(), Vec::new());
    let device = Device::open(&params, 0)?;
    let Device::Gpu { device: gpu, .. } = &device else {
        if params.device == DeviceChoice::Auto {
            // So that a plain `cargo bench` works everywhere.
            println!("no GPU here but such as are played by programs; name one with --device");
            return Ok(());
        }
        bail!("this measures GPUs; name one with --device, `cubie devices` lists them");
    };
    let precisions = match params.precision {
        Some(asked) => vec![device.precision(Some(asked), &Ranks::serial())?],
        None => device.precisions(),
    };
    for &precision in &precisions {
        let checks = check_kernels(&device, precision, &Order::COLOR8, CHECKED_BOX)?;
        if let Some(failed) = checks.iter().find(|check| !check.passed()) {
            bail!(
                "{} in {precision} on level {} is off by {:e}, more than {:e}: no rating for wrong results",
                failed.kernel,
                failed.level,
                failed.error,
                failed.bound
            );
        }
    }

    let geometry = Geometry::single([flags.n; 3])?;
    let start = Instant::now();
    let problem = Problem::new(&geometry);
    let setup = start.elapsed();
    let start = Instant::now();
    let orderings = Orderings::new(&Order::COLOR8, &problem);
    let ordering = start.elapsed();
    let levels = orderings.view(&problem.levels);
    let copy = gpu.copy_bandwidth().context("cannot measure its memory")? / 1e9;
    let described = device.describe();
    println!(
        "{} ({}, {}), {n}³, {format}: kernels checked; a copy moves {copy:.1} GB/s",
        described.name,
        described.driver,
        described.backend,
        n = flags.n,
        format = device.format(),
    );
    println!(
        "{:>9} {:>9} {:>9} {:>8} | GB/s {:>6} {:>7} {:>7} {:>7} {:>7} | {:>7} {:>9} {:>10}",
        "precision",
        "raw",
        "final",
        "flop/B",
        "DDOT",
        "WAXPBY",
        "SpMV",
        "MG",
        "all",
        "of copy",
        "bytes/row",
        "residual"
    );
    let flops = Counts::new(&level_sizes(&geometry), 1, ITERATIONS as u64)
        .flops
        .sum();
    for precision in precisions {
        let job = Iterations {
            precision,
            problem: &problem,
            level: &levels[0],
            iterations: ITERATIONS,
            least: Duration::from_secs(flags.seconds),
            began: Instant::now(),
        };
        let measured = device.run(precision, &levels, &Ranks::serial(), job)?;
        let set = measured.set;
        let before = setup + ordering + measured.optimise;
        let raw = flops / set / 1e9;
        let bytes = measured.work.bytes;
        let rate = |op| bytes[op] / measured.work.seconds[op] / 1e9;
        let all = bytes.sum() / measured.seconds / 1e9;
        let row = bytes.sum() / (measured.iterations * problem.b.len()) as f64;
        println!(
            "{:>9} {raw:>9.3} {:>9.3} {:>8.4} | {:>11.1} {:>7.1} {:>7.1} {:>7.1} {all:>7.1} | {:>6.1}% {row:>9.0} {:>10.2e}",
            precision.name(),
            flops / (set + before.as_secs_f64() / 10.0) / 1e9,
            raw / copy,
            rate(Op::Dot),
            rate(Op::Waxpby),
            rate(Op::Spmv),
            rate(Op::Mg),
            100.0 * all / copy,
            measured.residual,
        );
    }
    if device.times_are_estimated() {
        println!("GB/s of single operations are estimates: this device has no timestamps");
    }
    Ok(())
}
