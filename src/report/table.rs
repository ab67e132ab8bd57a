//! The short table in the terminal.

use std::fmt::{Display, Write};
use std::path::Path;

use crate::Op;
use crate::number::{bytes, counted, fixed, g, of_memory, percent};
use crate::results::Results;

/// What a run found out, in a few lines; `report` is where the whole report is.
pub fn table(results: &Results, report: Option<&Path>) -> String {
    let mut table = Table::default();
    let device = &results.device;
    table.row(
        "device",
        format_args!("{} ({})", device.name, device.backend),
    );
    table.row(
        "run",
        format_args!(
            "{}, {}, {}, {}",
            results.precision,
            results.order,
            results.format,
            counted(results.threads, "thread")
        ),
    );
    let [gnx, gny, gnz] = results.global;
    table.row(
        "problem",
        format_args!(
            "{gnx} x {gny} x {gnz} on {}, {} rows, {} nonzeros",
            counted(results.ranks, "rank"),
            results.levels[0].rows,
            results.levels[0].nnz
        ),
    );
    table.row("memory", memory(results));
    ranks(&mut table, results);
    checks(&mut table, results);
    operations(&mut table, results);
    rating(&mut table, results);
    if let Some(report) = report {
        table.row("report", report.display());
    }
    table.0
}

/// What a run found out, in one line.
pub fn line(results: &Results) -> String {
    let device = &results.device;
    format!(
        "{} GFLOP/s, {} ({}, {}, {} on {})\n",
        g(results.rating().official),
        results.status(),
        results.precision,
        results.order,
        results.format,
        device.name
    )
}

#[derive(Default)]
struct Table(String);

impl Table {
    fn row(&mut self, head: &str, text: impl Display) {
        self.line(format_args!("{head:<12}{text}"));
    }

    fn line(&mut self, line: impl Display) {
        let line = line.to_string();
        writeln!(self.0, "{}", line.trim_end()).expect("a String takes everything");
    }
}

/// Ranks that are listed one by one.
const LISTED: usize = 8;

fn ranks(table: &mut Table, results: &Results) {
    let Some(halo) = &results.halo else { return };
    for rank in results.ranks_detail.iter().take(LISTED) {
        let [nx, ny, nz] = rank.local;
        table.row(
            &format!("rank {}", rank.rank),
            format_args!(
                "{}: {nx} x {ny} x {nz}, {} of the rows, busy {:.3} s",
                rank.device,
                percent(rank.share),
                rank.busy
            ),
        );
    }
    if let Some(more) = results.ranks_detail.len().checked_sub(LISTED + 1) {
        table.row(
            "",
            format_args!("and {} more", counted(more as u64 + 1, "rank")),
        );
    }
    table.row("balance", percent(results.balance()));
    table.row(
        "halo",
        format_args!(
            "{}: {} a rank, {} in all, {} of the time",
            halo.transport,
            counted(halo.exchanges, "exchange"),
            bytes(halo.bytes),
            percent(halo.seconds / results.times.total)
        ),
    );
}

fn memory(results: &Results) -> String {
    let memory = &results.memory;
    let mut text = format!("{} on the host", bytes(memory.host));
    if memory.device > 0 {
        text += &format!(", {} on the device", bytes(memory.device));
    }
    if let Some(fill) = results.fill() {
        text += &format!(" ({} of its memory)", percent(fill));
    }
    text
}

fn checks(table: &mut Table, results: &Results) {
    let checks = &results.checks;
    let verdict = |passed| if passed { "passed" } else { "FAILED" };
    let spectral = &checks.spectral;
    table.row(
        "spectral",
        format_args!(
            "{}: {} of {} iterations, {} of {} with the preconditioner",
            verdict(spectral.passed),
            spectral.unpreconditioned,
            spectral.unpreconditioned_expected,
            spectral.preconditioned,
            spectral.preconditioned_expected
        ),
    );
    table.row(
        "symmetry",
        format_args!(
            "{}: {} for SpMV, {} for MG",
            verdict(checks.symmetry.passed),
            g(checks.symmetry.spmv),
            g(checks.symmetry.mg)
        ),
    );
    table.row(
        "iterations",
        format_args!(
            "{}: {} where the reference needs {}; {} a set",
            verdict(checks.iterations.passed),
            results.optimised.iterations,
            results.reference.iterations,
            results.optimised.iterations_per_set
        ),
    );
    table.row(
        "norms",
        format_args!(
            "{}: {} with variance {} over {}",
            verdict(checks.norms.passed),
            g(checks.norms.mean),
            g(checks.norms.variance),
            counted(results.sets.count, "set")
        ),
    );
    table.row("residual", format_args!("{:.2e}", results.true_residual));
}

/// Passes below which an operation has been fused into others.
const FUSED: f64 = 0.005;

fn operations(table: &mut Table, results: &Results) {
    table.line("");
    table.line(format_args!(
        "{:<12}{:>10}{:>12}{:>10}{:>10}{:>10}{:>12}",
        "", "seconds", "GFLOP/s", "GB", "GB/s", "passes", "of memory"
    ));
    let mut line = |name: &str, seconds: f64, gflops: f64, gbytes: f64, passes: f64| {
        let speed = gbytes / seconds;
        let share = results.bandwidth.map_or(f64::NAN, |b| 1e9 * speed / b);
        // What a fused operation leaves has no speed of its own.
        let fused = passes < FUSED;
        let or_fused = |text: String| if fused { "fused".into() } else { text };
        table.line(format_args!(
            "{name:<12}{seconds:>10.3}{:>12}{gbytes:>10.2}{:>10}{passes:>10.2}{:>12}",
            or_fused(fixed(gflops, 3)),
            or_fused(fixed(speed, 2)),
            or_fused(of_memory(share)),
        ));
    };
    let times = &results.times;
    for op in Op::ALL {
        let gbytes = results.moved[op] / 1e9;
        line(
            op.name(),
            times.ops[op],
            results.gflops_of(op),
            gbytes,
            results.passes_of(op),
        );
    }
    let passes = Op::ALL.iter().map(|&op| results.passes_of(op)).sum();
    line(
        "total",
        times.total,
        results.rating().raw,
        results.gbytes_moved(),
        passes,
    );
    if let Some(bandwidth) = results.bandwidth {
        table.line(format_args!(
            "a pass is 324 bytes a row in an iteration; memory gave {:.1} GB/s, cached is what was faster",
            bandwidth / 1e9
        ));
    }
    if times.estimated {
        table.line("(shared out by bytes: this device has no timestamps)");
    }
    table.line("");
}

fn rating(table: &mut Table, results: &Results) {
    let status = results.status();
    table.row(
        "rating",
        format_args!("{} GFLOP/s, {status}", g(results.rating().official)),
    );
    if let Some(alone) = &results.alone {
        let times = results.rating().official / alone.gflops;
        table.row(
            "alone",
            format_args!(
                "{} GFLOP/s on {}; together {times:.2} times that",
                g(alone.gflops),
                alone.device
            ),
        );
    }
    for reason in results.not_official_because() {
        table.row("", format_args!("because {reason}"));
    }
}
