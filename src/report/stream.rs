//! The outcome of `cubie stream`: STREAM's own table, so that scripts made for it work, CSV with
//! BabelStream's columns, and JSON.

use std::fmt::Write;

use serde_json::Value;

use crate::cpu::PageSize;
use crate::number::{bytes, counted};
use crate::saved::{self, Kind};
use crate::stream::{PLANS, Run, Streams};

/// The line that STREAM draws.
const RULE: &str = "-------------------------------------------------------------\n";

/// All runs as tables.
pub fn table(streams: &Streams) -> String {
    let mut text = String::new();
    for run in &streams.runs {
        text += &one(run);
    }
    for (name, why) in &streams.skipped {
        let _ = writeln!(
            text,
            "plan {name} ({}) is not possible here: {why}",
            means(name)
        );
    }
    if streams.runs.len() + streams.skipped.len() > 1
        && let Some(best) = streams.best()
    {
        let rate = best.rate("Triad").unwrap_or(0.0) / 1e6;
        let _ = writeln!(text, "best Triad: plan {} with {rate:.1} MB/s", best.bind);
    }
    text
}

/// What a plan of the study is, in words.
fn means(name: &str) -> &'static str {
    let plan = PLANS.iter().find(|plan| plan.name == name);
    plan.map_or("", |plan| plan.means)
}

fn one(run: &Run) -> String {
    let mut text = RULE.to_owned();
    let array = (run.elements * run.element_bytes) as u64;
    let mut line = |line: String| text += &(line + "\n");
    line(format!("cubie stream on {}", run.device));
    line(format!(
        "This system uses {} bytes per array element.",
        run.element_bytes
    ));
    line(format!(
        "Array size = {} (elements), {} each, {} in all",
        run.elements,
        bytes(array),
        bytes(3 * array)
    ));
    line(format!("Each kernel will be executed {} times.", run.times));
    line(format!("Times are from {}.", run.clock));
    if !run.cpus.is_empty() {
        let cpus: Vec<_> = run.cpus.iter().map(usize::to_string).collect();
        line(format!("Number of Threads counted = {}", run.cpus.len()));
        let meaning = means(&run.bind);
        let meaning = if meaning.is_empty() {
            String::new()
        } else {
            format!(" ({meaning})")
        };
        line(format!(
            "Binding {}{meaning}: {} on CPU {}",
            run.bind,
            counted(run.cpus.len() as u64, "thread"),
            cpus.join(",")
        ));
        if run.pages == PageSize::Large.to_string() {
            line("Pages are large where the system has them.".into());
        } else {
            line("Pages are small.".into());
        }
    }
    text += RULE;
    text += "Function    Best Rate MB/s  Avg time     Min time     Max time\n";
    for row in &run.measured.rows {
        let _ = writeln!(
            text,
            "{:<11}{:>12.1}  {:>11.6}  {:>11.6}  {:>11.6}",
            format!("{}:", row.name),
            row.rate() / 1e6,
            row.avg,
            row.min,
            row.max
        );
    }
    text += RULE;
    let check = &run.measured.check;
    for failure in &check.failures {
        let _ = writeln!(text, "{failure}");
    }
    if check.failures.is_empty() {
        let _ = writeln!(
            text,
            "Solution Validates: avg error less than {} on all three arrays",
            scientific(check.bound)
        );
    }
    text + RULE
}

/// As `printf("%e")` prints it.
fn scientific(value: f64) -> String {
    let text = format!("{value:.6e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// All runs as lines of comma-separated values, with BabelStream's columns and ours after them.
pub fn csv(streams: &Streams) -> String {
    let mut text = "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime,binding,threads\n".to_owned();
    for run in &streams.runs {
        for row in &run.measured.rows {
            let _ = writeln!(
                text,
                "{},{},{},{},{:.1},{:.6},{:.6},{:.6},{},{}",
                row.name,
                run.times,
                run.elements,
                run.element_bytes,
                row.rate() / 1e6,
                row.min,
                row.max,
                row.avg,
                super::quoted(&run.bind),
                run.cpus.len(),
            );
        }
    }
    text
}

/// All runs as JSON; each row also says its rate in MB/s.
pub fn json(streams: &Streams) -> String {
    let mut value = serde_json::to_value(streams).expect("plain numbers and text");
    for (run, json) in streams
        .runs
        .iter()
        .zip(value["runs"].as_array_mut().into_iter().flatten())
    {
        for (row, json) in run
            .measured
            .rows
            .iter()
            .zip(json["rows"].as_array_mut().into_iter().flatten())
        {
            json["mbytes_per_second"] = Value::from(row.rate() / 1e6);
        }
    }
    saved::text(Kind::Stream, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Check, Measured, Row};

    fn streams() -> Streams {
        let row = |name: &str, bytes| Row {
            name: name.into(),
            bytes,
            avg: 0.25,
            min: 0.125,
            max: 0.5,
        };
        let run = Run {
            device: "Some CPU".into(),
            bind: "cores:0,2".into(),
            cpus: vec![0, 2],
            pages: "large".into(),
            precision: "f64".into(),
            elements: 1_000_000,
            element_bytes: 8,
            times: 10,
            clock: "wall clock".into(),
            measured: Measured {
                rows: vec![row("Triad", 24_000_000), row("Triad-nt", 24_000_000)],
                check: Check {
                    bound: 1e-13,
                    failures: Vec::new(),
                },
            },
        };
        Streams {
            runs: vec![run],
            skipped: Vec::new(),
        }
    }

    #[test]
    fn the_table_is_streams() {
        let text = table(&streams());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.contains(&"Function    Best Rate MB/s  Avg time     Min time     Max time"));
        assert!(lines.contains(&"Triad:            192.0     0.250000     0.125000     0.500000"));
        assert!(
            lines.contains(
                &"Solution Validates: avg error less than 1.000000e-13 on all three arrays"
            )
        );
    }

    #[test]
    fn a_failure_is_shown_instead_of_the_verdict() {
        let mut streams = streams();
        let failures = &mut streams.runs[0].measured.check.failures;
        failures.push("Failed Validation on array a[]".into());
        let text = table(&streams);
        assert!(text.contains("Failed Validation") && !text.contains("Solution Validates"));
    }

    #[test]
    fn csv_and_json_have_all_figures() {
        let csv = csv(&streams());
        let line = csv.lines().nth(1).unwrap();
        assert_eq!(
            line,
            "Triad,10,1000000,8,192.0,0.125000,0.500000,0.250000,\"cores:0,2\",2"
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stream.json");
        std::fs::write(&path, json(&streams())).unwrap();
        let back: Streams = saved::read(&path, Kind::Stream).unwrap();
        assert_eq!(back, streams());
    }
}
