//! Runs side by side: a table in the terminal, and comma-separated values with a run a line.

use super::quoted;
use crate::saved::run::Run;

/// The widest column; longer values are cut.
const WIDEST: usize = 28;

/// A fact a line, a run a column.
pub fn table(runs: &[Run]) -> String {
    let facts: Vec<_> = runs.iter().map(Run::facts).collect();
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
        let facts = run.facts();
        if k == 0 {
            let names: Vec<&str> = facts.iter().map(|(name, _)| *name).collect();
            text += &format!("run,started,{}\n", names.join(","));
        }
        let values: Vec<String> = facts.iter().map(|(_, value)| quoted(value)).collect();
        text += &format!(
            "{},{},{}\n",
            quoted(&run.name),
            run.started,
            values.join(",")
        );
    }
    text
}
