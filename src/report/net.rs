//! The outcome of `cubie net`: tables as the Intel MPI Benchmarks print them, so that scripts made for
//! them work, with what cubie adds in lines that begin with `#`; CSV and JSON.

use std::fmt::Write;

use crate::net::{AlphaBeta, HaloShape, Net, Operation, Row, Table};
use crate::number::counted;
use crate::saved::{self, Kind};

/// Characters of a column.
const WIDTH: usize = 13;

/// The columns of a table after the bytes and the repetitions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// Two ranks have one time.
    Time,
    /// The range of the ranks' times.
    Range,
    /// The same, and nothing is sent.
    Sync,
    /// The same, with a rate.
    RangeAndRate,
}

impl Columns {
    fn of(table: &Table) -> Self {
        match table.kind() {
            Some(Operation::PingPong) => Self::Time,
            Some(Operation::Barrier) => Self::Sync,
            Some(Operation::Exchange | Operation::Halo) => Self::RangeAndRate,
            _ => Self::Range,
        }
    }

    fn titles(self) -> Vec<&'static str> {
        let range = ["t_min[usec]", "t_max[usec]", "t_avg[usec]"];
        let mut titles = vec!["#bytes", "#repetitions"];
        match self {
            Self::Time => titles.extend(["t[usec]", "Mbytes/sec"]),
            Self::Range => titles.extend(range),
            Self::RangeAndRate => titles.extend(range.into_iter().chain(["Mbytes/sec"])),
            Self::Sync => {
                titles.remove(0);
                titles.extend(range);
            }
        }
        titles
    }
}

/// How often the bytes of a row count in its rate: all that a rank sends and receives.
fn copies(table: &Table) -> f64 {
    match table.kind() {
        // To and from two neighbours.
        Some(Operation::Exchange) => 4.0,
        Some(Operation::Halo) => 2.0,
        _ => 1.0,
    }
}

/// All tables.
pub fn text(net: &Net) -> String {
    let mut text = format!(
        "# cubie net: {}, {} of them on the first one's machine; {}\n",
        counted(net.ranks as u64, "rank"),
        net.ranks_a_machine,
        net.library
    );
    for table in &net.tables {
        text += &one(table);
    }
    text
}

fn one(table: &Table) -> String {
    let columns = Columns::of(table);
    let titles = columns.titles();
    let rule = "-".repeat(WIDTH * titles.len() - 1);
    let mut text = format!(
        "\n#{rule}\n# Benchmarking {} \n# #processes = {} \n",
        table.operation, table.processes
    );
    if table.waiting > 0 {
        let waiting = counted(table.waiting as u64, "other rank");
        let _ = writeln!(text, "# ( {waiting} waiting in a barrier )");
    }
    for shape in table.rows.iter().filter_map(|row| row.halo.as_ref()) {
        text += &halo(shape);
    }
    let _ = writeln!(text, "#{rule}");
    for title in titles {
        let _ = write!(text, "{title:>WIDTH$}");
    }
    text.push('\n');
    for row in &table.rows {
        text += &line(columns, row, copies(table));
    }
    if let Some(fit) = &table.fit {
        text += &fitted(fit, table.kind() == Some(Operation::Halo));
    }
    text
}

fn line(columns: Columns, row: &Row, copies: f64) -> String {
    let mut numbers = vec![1e6 * row.min, 1e6 * row.max, 1e6 * row.avg];
    match columns {
        Columns::Time => numbers = vec![1e6 * row.max, row.rate(copies) / 1e6],
        Columns::RangeAndRate => numbers.push(row.rate(copies) / 1e6),
        Columns::Range | Columns::Sync => {}
    }
    let mut text = String::new();
    if columns != Columns::Sync {
        let _ = write!(text, "{:>WIDTH$}", row.bytes);
    }
    let _ = write!(text, "{:>WIDTH$}", row.repetitions);
    for number in numbers {
        let _ = write!(text, "{number:>WIDTH$.2}");
    }
    text + "\n"
}

/// What the busiest rank sends on a level.
fn halo(shape: &HaloShape) -> String {
    let sides = |n: [usize; 3]| format!("{} x {} x {}", n[0], n[1], n[2]);
    let messages = shape.to.iter().zip(&shape.bytes);
    let messages: Vec<_> = messages
        .map(|(to, bytes)| format!("{bytes} to {to}"))
        .collect();
    format!(
        "# level {}, {} points a rank on {} ranks: rank {} sends {}\n",
        shape.level,
        sides(shape.local),
        sides(shape.grid),
        shape.rank,
        messages.join(", ")
    )
}

/// The fit, in a line that scripts skip.
fn fitted(fit: &AlphaBeta, is_halo: bool) -> String {
    let messages = if is_halo { "messages " } else { "" };
    let beta = match fit.seconds_a_byte {
        0.0 => "beta unlimited".into(),
        seconds => format!("beta {:.1} Mbytes/sec", 1e-6 / seconds),
    };
    format!(
        "# fit of {} to {} bytes: t = {messages}alpha + bytes / beta, alpha {:.3} usec, {beta}; relative error {:.1} % (root mean square)\n",
        fit.range[0],
        fit.range[1],
        1e6 * fit.alpha,
        100.0 * fit.error
    )
}

/// All rows as lines of comma-separated values, with the fit of their table.
pub fn csv(net: &Net) -> String {
    let mut text = "operation,processes,bytes,repetitions,t_min_usec,t_max_usec,t_avg_usec,mbytes_per_sec,alpha_usec,usec_per_byte,fit_error\n".to_owned();
    for table in &net.tables {
        let fit = match &table.fit {
            Some(fit) => format!(
                "{:.4},{:e},{:.4}",
                1e6 * fit.alpha,
                1e6 * fit.seconds_a_byte,
                fit.error
            ),
            None => ",,".into(),
        };
        for row in &table.rows {
            let _ = writeln!(
                text,
                "{},{},{},{},{:.4},{:.4},{:.4},{:.2},{fit}",
                table.operation,
                table.processes,
                row.bytes,
                row.repetitions,
                1e6 * row.min,
                1e6 * row.max,
                1e6 * row.avg,
                row.rate(copies(table)) / 1e6,
            );
        }
    }
    text
}

/// Everything as JSON; times in seconds.
pub fn json(net: &Net) -> String {
    let value = serde_json::to_value(net).expect("plain numbers and text");
    saved::text(Kind::Net, value)
}
