//! The tables of a page.

use std::fmt::Write;

use crate::meter::Op;
use crate::number::{fixed, of_memory, percent};
use crate::report::chart::escaped;
use crate::report::compare;
use crate::results::Results;
use crate::saved::run::Run;
use crate::stream::Streams;

/// An HTML table; the first cell of each row is its head.
fn html_table(head: &[String], rows: &[Vec<String>]) -> String {
    let cells = |cells: &[String], tag: &str| {
        let mut row = String::new();
        for (k, cell) in cells.iter().enumerate() {
            let tag = if k == 0 { "th" } else { tag };
            let _ = write!(row, "<{tag}>{}</{tag}>", escaped(cell));
        }
        format!("<tr>{row}</tr>")
    };
    let head = if head.is_empty() {
        String::new()
    } else {
        format!("<thead>{}</thead>", cells(head, "th"))
    };
    let rows: Vec<String> = rows.iter().map(|row| cells(row, "td")).collect();
    format!("<table>{head}<tbody>{}</tbody></table>", rows.concat())
}

fn strings<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// A fact a row, a run a column.
pub(super) fn facts(runs: &[Run]) -> String {
    let columns: Vec<_> = runs
        .iter()
        .map(|run| compare::facts(&run.results))
        .collect();
    let rows: Vec<Vec<String>> = (0..columns[0].len())
        .map(|row| {
            let values = columns.iter().map(|facts| facts[row].1.clone());
            std::iter::once(columns[0][row].0.to_owned())
                .chain(values)
                .collect()
        })
        .collect();
    let mut head = vec![String::new()];
    head.extend(runs.iter().map(|run| run.name.clone()));
    html_table(if runs.len() > 1 { &head } else { &[] }, &rows)
}

pub(super) fn kernels_text(run: &Results, bandwidth: Option<f64>) -> String {
    let mut text =
        "Of the timed sets; sums that are fused into other kernels move no bytes of their own"
            .to_owned();
    if bandwidth.is_some() {
        text += "; the last column is the share of the measured bandwidth, where caches do not serve more than memory could";
    }
    if run.times.estimated {
        text += "; times are shared out by bytes, since this device has no timestamps";
    }
    text + "."
}

pub(super) fn kernels(run: &Results, bandwidth: Option<f64>) -> String {
    let row = |name: &str, seconds: f64, flops: f64, moved: f64| {
        let mut row = vec![
            name.to_owned(),
            format!("{seconds:.3}"),
            percent(seconds / run.times.total),
            fixed(flops / seconds / 1e9, 3),
            fixed(moved / seconds / 1e9, 2),
        ];
        row.extend(bandwidth.map(|bandwidth| of_memory(moved / seconds / bandwidth)));
        row
    };
    let (flops, moved) = (run.counts().flops, run.moved);
    let of = |op: Op| row(op.name(), run.times.ops[op], flops[op], moved[op]);
    let mut rows = Op::ALL.map(of).to_vec();
    rows.push(row("all", run.times.total, flops.sum(), moved.sum()));
    let mut head = strings(["", "seconds", "share", "GFLOP/s", "GB/s"]);
    head.extend(bandwidth.map(|_| "of memory".to_owned()));
    html_table(&head, &rows)
}

pub(super) fn checks(run: &Results) -> String {
    let checks = &run.checks;
    let verdict = |passed| if passed { "passed" } else { "FAILED" }.to_owned();
    let row = |name: &str, passed| vec![name.to_owned(), verdict(passed)];
    let rows = [
        row("spectral test", checks.spectral.passed),
        row("symmetry test", checks.symmetry.passed),
        row("reference's residual reached", checks.iterations.passed),
        row("norms of the sets", checks.norms.passed),
        vec![
            "true residual ‖b − A x‖/‖b‖".into(),
            format!("{:.2e}", run.true_residual),
        ],
    ];
    html_table(&[], &rows)
}

pub(super) fn phases(run: &Results) -> String {
    let rows = run.times.phases.iter();
    let rows: Vec<_> = rows
        .map(|phase| vec![phase.name.clone(), format!("{:.3}", phase.seconds)])
        .collect();
    html_table(&[], &rows)
}

pub(super) fn stream_table(streams: &Streams) -> String {
    let Some(run) = streams.best() else {
        return String::new();
    };
    let rows: Vec<_> = run
        .measured
        .rows
        .iter()
        .map(|row| vec![row.name.clone(), fixed(row.rate() / 1e6, 1)])
        .collect();
    html_table(&[], &rows)
}
