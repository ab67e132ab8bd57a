//! Runs side by side: a table in the terminal, and comma-separated values with a run a line.

use super::quoted;
use crate::number::{bytes, fixed, percent, readable};
use crate::results::Results;
use crate::saved::run::Run;

/// The widest column; longer values are cut.
const WIDEST: usize = 28;

/// A fact a line, a run a column.
pub fn table(runs: &[Run]) -> String {
    let facts: Vec<_> = runs.iter().map(|run| facts(&run.results)).collect();
    let mut columns = vec![vec![String::new()]];
    columns[0].extend(facts[0].iter().map(|(name, _)| (*name).to_owned()));
    for (run, facts) in runs.iter().zip(&facts) {
        let mut column = vec![short(&run.name)];
        column.extend(facts.iter().map(|(_, value)| short(value)));
        columns.push(column);
    }
    let widths: Vec<usize> = columns
        .iter()
        .map(|column| {
            column
                .iter()
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for line in 0..columns[0].len() {
        let mut cells = columns[0][line].clone();
        cells += &" ".repeat(widths[0] - cells.chars().count());
        for (column, width) in columns.iter().zip(&widths).skip(1) {
            let cell = &column[line];
            cells += &" ".repeat(2 + width - cell.chars().count());
            cells += cell;
        }
        text += cells.trim_end();
        text.push('\n');
    }
    text
}

fn short(text: &str) -> String {
    if text.chars().count() <= WIDEST {
        text.to_owned()
    } else {
        text.chars().take(WIDEST - 1).chain(['…']).collect()
    }
}

/// A run a line, under a line of names.
pub fn csv(runs: &[Run]) -> String {
    let mut text = String::new();
    for (k, run) in runs.iter().enumerate() {
        let facts = facts(&run.results);
        if k == 0 {
            let names: Vec<&str> = facts.iter().map(|(name, _)| *name).collect();
            text += &format!("run,started,{}\n", names.join(","));
        }
        let values: Vec<String> = facts.iter().map(|(_, value)| quoted(value)).collect();
        text += &format!(
            "{},{},{}\n",
            quoted(&run.name),
            run.results.started,
            values.join(",")
        );
    }
    text
}

/// What a comparison shows, by name.
pub(super) fn facts(results: &Results) -> Vec<(&'static str, String)> {
    let sides = |n: [u64; 3]| format!("{} x {} x {}", n[0], n[1], n[2]);
    let rating = results.rating();
    let memory = &results.memory;
    let mut facts = vec![
        ("GFLOP/s", readable(rating.official)),
        ("status", results.status().into()),
        ("device", results.device.name.clone()),
        ("backend", results.device.backend.clone()),
        ("precision", results.precision.to_string()),
        ("order", results.order.clone()),
        ("format", results.format.clone()),
        ("ranks", results.ranks.to_string()),
        ("threads", results.threads.to_string()),
        ("local box", sides(results.local)),
        ("global grid", sides(results.global)),
        ("memory", bytes(memory.host + memory.device)),
        ("iterations", results.optimised.iterations.to_string()),
        (
            "iterations a set",
            results.optimised.iterations_per_set.to_string(),
        ),
        ("true residual", format!("{:.2e}", results.true_residual)),
        ("sets", results.sets.count.to_string()),
        ("set-up s", format!("{:.3}", results.times.setup)),
        ("optimise s", format!("{:.3}", results.times.optimise)),
        ("timed s", format!("{:.3}", results.times.total)),
    ];
    let iterations = results.iterations() as f64;
    let names = ["DDOT ms/it", "WAXPBY ms/it", "SpMV ms/it", "MG ms/it"];
    for (name, seconds) in names.into_iter().zip(results.times.ops.all()) {
        facts.push((name, fixed(1e3 * seconds / iterations, 4)));
    }
    facts.push(("raw GFLOP/s", readable(rating.raw)));
    let speed = results.gbytes_per_second();
    facts.push(("GB/s moved", fixed(speed, 2)));
    let halo = results.halo.as_ref();
    let share = halo.map(|halo| percent(halo.seconds / results.times.total));
    facts.push(("halo", share.unwrap_or_else(|| "none".into())));
    facts
}
