//! Every step of the V-cycle and of CG on every level: `cargo bench --bench kernels -- 104`.
//!
//! One block for each device and format, headed by the bandwidth that was measured just before:
//! what threads read on a CPU, what a copy reads and writes on a GPU. Then a line for each step of
//! `Backend` with three figures for each level:
//!
//! - `us`: microseconds of one call, by the wall clock until the device is idle; the median of
//!   batches, so the cost of a launch is in it and that of waiting hardly is.
//! - `GB/s`: the bytes that the backend counts for the call (`Work` in `src/meter.rs`) over that time.
//! - `share`: the same as a share of the bandwidth. Above 100 % the data come from caches, as they
//!   do on levels that fit them; what is far below on the finest level is worth a look.
//!
//! Then whole iterations, in double precision and `mixed`: GFLOP/s as HPCG counts flops, and `optimise`,
//! the seconds from the ordered problem to matrices and vectors on the device.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(
    non_snake_case,
    reason = "A and Ap are the names that the algorithm has"
)]

#[path = "../common"]
mod common {
    pub(crate) mod iterations;
    pub(crate) mod median;
}
mod steps;

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use cubie::cli::DeviceFlags;
use cubie::device::Device;
use cubie::machine::Machine;
use cubie::model::{Counts, level_sizes};
use cubie::params::{DeviceChoice, Devices, Format};
use cubie::solver::Orderings;
use cubie::{Op, Precision};
use cubie_host::{Geometry, Order, Ordered, Problem, Ranks};

use common::iterations::Iterations;
use steps::{Call, Row, Steps};

/// Times each step of the V-cycle and of CG on each level. Without --device: the CPU, and the best
/// GPU if there is one.
#[derive(Parser)]
struct Flags {
    /// Points of each side of the box, a multiple of 8
    #[arg(default_value = "64")]
    n: usize,
    /// split or ell28 [default: both]
    #[arg(long)]
    format: Option<Format>,
    #[command(flatten)]
    device: DeviceFlags,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

/// Iterations of a set.
const ITERATIONS: usize = 10;
/// Time that sets take at least.
const SETS: Duration = Duration::from_secs(1);

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let geometry = Geometry::single([flags.n; 3])?;
    let start = Instant::now();
    let problem = Problem::new(&geometry);
    let setup = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let orderings = Orderings::new(&Order::COLOR8, &problem);
    let ordering = start.elapsed().as_secs_f64();
    println!(
        "{}³: set-up {setup:.3} s, ordering {ordering:.3} s",
        flags.n
    );
    let levels = orderings.view(&problem.levels);
    let machine = Machine::here();
    for choice in devices(&flags.device.device)? {
        for format in formats(flags.format) {
            let mut params = flags.device.params(&machine, Vec::new());
            params.device = choice.clone();
            params.format = Some(format);
            let device = Device::open(&params, 0)?;
            if choice == DeviceChoice::Auto && matches!(device, Device::Cpu { .. }) {
                continue;
            }
            measure(&device, params.precision, &problem, &levels)?;
        }
    }
    Ok(())
}

/// The devices to measure: the CPU and the best GPU, unless the user names some.
fn devices(named: &Devices) -> anyhow::Result<Vec<DeviceChoice>> {
    match named {
        Devices::Each(list) if list[..] == [DeviceChoice::Auto] => {
            Ok(vec![DeviceChoice::Cpu, DeviceChoice::Auto])
        }
        Devices::Each(list) => Ok(list.clone()),
        Devices::Together(_) => bail!("name devices with commas: each is measured alone"),
    }
}

fn formats(asked: Option<Format>) -> Vec<Format> {
    asked.map_or_else(|| vec![Format::Split, Format::Ell28], |format| vec![format])
}

/// Measures the steps in one precision, and whole iterations also in `mixed` unless one is asked for.
fn measure(
    device: &Device,
    asked: Option<Precision>,
    problem: &Problem,
    levels: &[Ordered<'_>],
) -> anyhow::Result<()> {
    let ranks = Ranks::serial();
    let precision = device.precision(asked, &ranks)?;
    let bandwidth = device
        .bandwidth()
        .context("no room to measure its memory")?;
    let described = device.describe();
    let threads = match device {
        Device::Cpu { threads, .. } => format!("{threads} threads, "),
        Device::Gpu { .. } => String::new(),
    };
    let format = device.format();
    println!(
        "\n{} ({threads}{}), {format}: {:.1} GB/s",
        described.name,
        described.driver,
        bandwidth / 1e9
    );
    let job = Steps(levels);
    // `Steps` uploads one level after the other; the coarsest is there to have a system at all.
    let coarsest = &levels[levels.len() - 1..];
    let table = device.run(precision, coarsest, &ranks, job)?;
    let precision_of_steps = match precision {
        Precision::Mixed => "steps of CG's precision".to_owned(),
        alone => alone.to_string(),
    };
    println!("{}", heading(&precision_of_steps, levels));
    for row in &table {
        println!("{}", line(row, bandwidth));
    }
    let precisions = match asked {
        Some(_) => vec![precision],
        None => vec![precision, Precision::Mixed],
    };
    for precision in precisions {
        iterations(device, precision, problem, levels, bandwidth)?;
    }
    Ok(())
}

fn heading(precision: &str, levels: &[Ordered<'_>]) -> String {
    let sides = levels.iter().map(|level| {
        let side = format!("{}³ us", level.level.geometry.n[0]);
        format!(" | {side:>11} {:>6} {:>6}", "GB/s", "share")
    });
    format!("{precision:<22}{}", sides.collect::<String>())
}

fn line(row: &Row, bandwidth: f64) -> String {
    let levels = row.levels.iter().map(|call| match call {
        None => format!(" | {:>11} {:>6} {:>6}", "", "", ""),
        Some(Call { seconds, bytes }) => format!(
            " | {:>11.1} {:>6.1} {:>5.0}%",
            1e6 * seconds,
            bytes / seconds / 1e9,
            100.0 * bytes / seconds / bandwidth
        ),
    });
    format!("{:<22}{}", row.step, levels.collect::<String>())
}

fn iterations(
    device: &Device,
    precision: Precision,
    problem: &Problem,
    levels: &[Ordered<'_>],
    bandwidth: f64,
) -> anyhow::Result<()> {
    let job = Iterations {
        precision,
        problem,
        level: &levels[0],
        iterations: ITERATIONS,
        least: SETS,
        began: Instant::now(),
    };
    let measured = device.run(precision, levels, &Ranks::serial(), job)?;
    let geometry = &problem.levels[0].geometry;
    let flops = Counts::new(&level_sizes(geometry), 1, ITERATIONS as u64).flops;
    let rate = |op| measured.work.bytes[op] / measured.work.seconds[op] / 1e9;
    let all = measured.work.bytes.sum() / measured.seconds;
    println!(
        "iterations in {}: {:.2} GFLOP/s, {:.1} GB/s ({:.0} %), {:.0} bytes a row; WAXPBY {:.1}, SpMV {:.1}, MG {:.1} GB/s; residual {:.3e}; optimise {:.3} s",
        precision,
        flops.sum() / measured.set / 1e9,
        all / 1e9,
        100.0 * all / bandwidth,
        measured.work.bytes.sum() / (measured.iterations * problem.b.len()) as f64,
        rate(Op::Waxpby),
        rate(Op::Spmv),
        rate(Op::Mg),
        measured.residual,
        measured.optimise.as_secs_f64(),
    );
    Ok(())
}
