//! One page about a run, or about several side by side: all in one file, with nothing from a network.

use std::fmt::Write;

use super::chart::{Axis, Plot, bars, escaped};
use crate::number::{bytes, counted, g, percent};
use crate::saved::run::{Ops, Run};
use crate::stream::Streams;

/// The page. With `streams`, measured on the runs' device, it tells how far from the bound they are.
///
/// # Panics
/// If there are no runs.
pub fn page(runs: &[Run], streams: Option<&Streams>) -> String {
    let bandwidth = streams.and_then(Streams::bandwidth);
    let first = &runs[0];
    let title = match runs {
        [run] => format!("cubie: {} GFLOP/s on {}", g(run.gflops), run.device.name),
        _ => format!("cubie: {} side by side", counted(runs.len() as u64, "run")),
    };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{}</title>\n<style>\n{}</style></head>\n<body>\n",
        escaped(&title),
        include_str!("style.css"),
    );
    page += &if runs.len() == 1 {
        heading(first, bandwidth)
    } else {
        format!(
            "<header><h1>{}</h1><p>{}</p></header>",
            escaped(&title),
            "HPCG 3.1 by cubie"
        )
    };
    page += "\n<main>\n";
    let mut section = |heading: &str, text: &str, wide: bool, content: String| {
        if content.is_empty() {
            return;
        }
        let class = if wide { " class=\"wide\"" } else { "" };
        let text = if text.is_empty() {
            String::new()
        } else {
            format!("<p>{text}</p>")
        };
        let _ = writeln!(
            page,
            "<section{class}><h2>{heading}</h2>{text}{content}</section>"
        );
    };
    if runs.len() > 1 {
        section("Ratings", "GFLOP/s; longer is better.", true, ratings(runs));
        section("Side by side", "", true, facts(runs));
    }
    section(
        "Residual",
        "‖r‖/‖r₀‖ of CG after each iteration.",
        false,
        residuals(runs),
    );
    let kernels = match runs {
        [run] => format!(
            "<p>{}</p>{}",
            kernels_text(run, bandwidth),
            kernels(run, bandwidth)
        ),
        _ => String::new(),
    };
    section(
        "Time by kernel",
        "Milliseconds of one iteration of the timed sets; shorter is better.",
        false,
        time_bars(runs) + &kernels,
    );
    let roofline_text = "Flops counted by HPCG over bytes that the kernels as written move. No point can be above the line unless caches serve it.";
    section(
        "Roofline",
        roofline_text,
        false,
        bandwidth.map_or(String::new(), |b| roofline(runs, b)),
    );
    section(
        "Memory bandwidth",
        "MB/s at best, by <i>cubie stream</i> on this device.",
        false,
        streams.map_or(String::new(), stream_table),
    );
    for run in runs
        .iter()
        .filter(|run| run.ranks > 1 && !run.ranks_detail.is_empty())
    {
        let heading = format!("Ranks of {}", escaped(&run.name));
        section(&heading, &halo_text(run), true, ranks(run));
    }
    if let [run] = runs {
        section("Checks", "", false, checks(run));
        section(
            "Phases",
            "Seconds of every phase in order.",
            false,
            phases(run),
        );
        section("Device and environment", "", true, facts(runs));
    }
    let commands: Vec<String> = runs
        .iter()
        .map(|run| format!("<code>{}</code>", escaped(&run.command())))
        .collect();
    section("To repeat it", "", true, commands.concat());
    page + "</main>\n</body></html>\n"
}

fn heading(run: &Run, bandwidth: Option<f64>) -> String {
    let class = if run.valid { "good" } else { "bad" };
    let [x, y, z] = run.global;
    let mut text = format!(
        "<header><h1>HPCG on {}</h1><p class=\"rating\">{} <small>GFLOP/s</small></p>\
         <p><span class=\"{class}\">{}</span> · {} · {x} × {y} × {z} on {} of {} · {}</p>",
        escaped(&run.device.name),
        g(run.gflops),
        run.status(),
        escaped(&run.precision),
        counted(run.ranks, "rank"),
        counted(run.threads, "thread"),
        escaped(&run.started),
    );
    if let Some(bandwidth) = bandwidth {
        let share = run.gbytes_per_second() * 1e9 / bandwidth;
        let _ = write!(
            text,
            "<p>That is {} of the {} GFLOP/s that it would be if every byte of these kernels came from memory at the {:.1} GB/s that <i>cubie stream</i> measured.{}</p>",
            percent(share),
            g(run.bound(bandwidth)),
            bandwidth / 1e9,
            if share > 1.0 {
                " Above 100 %: caches serve a part of them."
            } else {
                ""
            },
        );
    }
    let reasons = run
        .not_official_because
        .iter()
        .map(|why| format!("Not official: {why}."));
    let notes: Vec<String> = reasons
        .chain(
            run.notices
                .iter()
                .map(|notice| format!("Notice: {notice}.")),
        )
        .map(|line| format!("<li>{}</li>", escaped(&line)))
        .collect();
    if !notes.is_empty() {
        let _ = write!(text, "<ul>{}</ul>", notes.concat());
    }
    text + "</header>"
}

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
fn facts(runs: &[Run]) -> String {
    let columns: Vec<_> = runs.iter().map(Run::facts).collect();
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

fn ratings(runs: &[Run]) -> String {
    let rows: Vec<_> = runs
        .iter()
        .map(|run| {
            let mark = if run.valid { "" } else { ", NOT VALID" };
            (
                run.name.clone(),
                vec![run.gflops],
                format!("{}{mark}", g(run.gflops)),
            )
        })
        .collect();
    bars("Ratings of the runs", &[], &rows)
}

fn residuals(runs: &[Run]) -> String {
    let mut lines: Vec<(String, &[f64])> = Vec::new();
    for run in runs {
        let name = if runs.len() == 1 {
            "optimised".to_owned()
        } else {
            run.name.clone()
        };
        lines.push((name, &run.optimised.scaled_residuals));
    }
    if let [run] = runs {
        lines.push((
            "reference, natural order".into(),
            &run.reference.scaled_residuals,
        ));
    }
    let all = || {
        lines
            .iter()
            .flat_map(|(_, residuals)| residuals.iter().copied())
    };
    let longest = lines.iter().map(|(_, residuals)| residuals.len() as f64);
    let mut plot = Plot::new(
        Axis::linear("iteration", longest),
        Axis::log("‖r‖/‖r₀‖", all()),
    );
    for (colour, (name, residuals)) in lines.iter().enumerate() {
        let points: Vec<(f64, f64)> = (1..)
            .zip(*residuals)
            .map(|(iteration, &residual)| (f64::from(iteration), residual))
            .collect();
        plot.line(name, colour, &points, name.starts_with("reference"));
    }
    plot.finish("Residual after each iteration")
}

fn time_bars(runs: &[Run]) -> String {
    let rows: Vec<_> = runs
        .iter()
        .map(|run| {
            let iterations = (run.sets.count * run.optimised.iterations_per_set) as f64;
            let each = run
                .times
                .ops
                .all()
                .map(|seconds| 1e3 * seconds / iterations);
            let total = 1e3 * run.times.total / iterations;
            (run.name.clone(), each.to_vec(), format!("{total:.3} ms"))
        })
        .collect();
    bars("Time by kernel", &Ops::NAMES, &rows)
}

fn kernels_text(run: &Run, bandwidth: Option<f64>) -> String {
    let mut text =
        "Of the timed sets; sums that are fused into other kernels move no bytes of their own"
            .to_owned();
    if bandwidth.is_some() {
        text += "; the last column is the share of the measured bandwidth";
    }
    if run.times.estimated {
        text += "; times are shared out by bytes, since this device has no timestamps";
    }
    text + "."
}

fn kernels(run: &Run, bandwidth: Option<f64>) -> String {
    let row = |name: &str, seconds: f64, flops: f64, moved: f64| {
        let mut row = vec![
            name.to_owned(),
            format!("{seconds:.3}"),
            format!("{:.1} %", 100.0 * seconds / run.times.total),
            format!("{:.3}", flops / seconds / 1e9),
            format!("{:.2}", moved / seconds / 1e9),
        ];
        let of_memory = |bandwidth| format!("{:.0} %", 100.0 * moved / seconds / bandwidth);
        row.extend(bandwidth.map(of_memory));
        row
    };
    let ops = Ops::NAMES.into_iter().zip(run.times.ops.all());
    let counts = run.flops.all().into_iter().zip(run.moved.all());
    let mut rows: Vec<_> = ops
        .zip(counts)
        .map(|((name, seconds), (flops, moved))| row(name, seconds, flops, moved))
        .collect();
    rows.push(row(
        "all",
        run.times.total,
        run.flops.sum(),
        run.moved.sum(),
    ));
    let mut head = strings(["", "seconds", "share", "GFLOP/s", "GB/s"]);
    head.extend(bandwidth.map(|_| "of memory".to_owned()));
    html_table(&head, &rows)
}

/// The kernels of one run, or several runs as a whole. Dot products are a part of the vectors'
/// point, since fused ones move no bytes of their own.
fn roofline(runs: &[Run], bandwidth: f64) -> String {
    let point = |name: &str, flops: f64, moved: f64, seconds: f64| {
        (name.to_owned(), (flops / moved, flops / seconds / 1e9))
    };
    let whole =
        |name: &str, run: &Run| point(name, run.flops.sum(), run.moved.sum(), run.times.total);
    let points: Vec<_> = match runs {
        [run] => {
            let (f, m, s) = (&run.flops, &run.moved, &run.times.ops);
            vec![
                whole("all", run),
                point("SpMV", f.spmv, m.spmv, s.spmv),
                point("MG", f.mg, m.mg, s.mg),
                point(
                    "vectors",
                    f.dot + f.waxpby,
                    m.dot + m.waxpby,
                    s.dot + s.waxpby,
                ),
            ]
        }
        _ => runs.iter().map(|run| whole(&run.name, run)).collect(),
    };
    let x = Axis::log("flop per byte", points.iter().map(|(_, (x, _))| *x));
    let roof = |x: f64| x * bandwidth / 1e9;
    let ends = x.ends().map(|x| (x, roof(x)));
    let rates = points.iter().map(|(_, (_, y))| *y);
    let y = Axis::log("GFLOP/s", rates.chain(ends.map(|(_, y)| y)));
    let mut plot = Plot::new(x, y);
    let name = format!("memory at {:.1} GB/s", bandwidth / 1e9);
    plot.line(&name, 0, &ends, true);
    for (colour, (name, point)) in (1..).zip(&points) {
        plot.point(name, colour, *point);
    }
    plot.finish("Roofline")
}

fn halo_text(run: &Run) -> String {
    let Some(halo) = &run.halo else {
        return "Seconds of each rank in the timed sets.".into();
    };
    format!(
        "Seconds of each rank in the timed sets. Halos by {}: {} a rank, {} sent by all ranks, {:.3} s on the slowest rank, {} of the time.",
        escaped(&halo.transport),
        counted(halo.exchanges, "exchange"),
        bytes(halo.bytes),
        halo.seconds,
        percent(halo.seconds / run.times.total),
    )
}

/// Ranks that are shown one by one.
const LISTED: usize = 64;

fn ranks(run: &Run) -> String {
    let rows: Vec<_> = run
        .ranks_detail
        .iter()
        .take(LISTED)
        .map(|rank| {
            let talking = rank.halo + rank.allreduce;
            let text = format!(
                "{:.3} s, {} of rows",
                rank.busy + talking,
                percent(rank.share)
            );
            let name = format!("{} ({})", rank.rank, rank.kind);
            (name, vec![rank.busy, rank.halo, rank.allreduce], text)
        })
        .collect();
    let more = run.ranks_detail.len().saturating_sub(LISTED);
    let more = if more > 0 {
        format!("<p>and {} more</p>", counted(more as u64, "rank"))
    } else {
        String::new()
    };
    bars(
        "Seconds of each rank",
        &["own work", "halo", "sums over the ranks"],
        &rows,
    ) + &more
}

fn checks(run: &Run) -> String {
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

fn phases(run: &Run) -> String {
    let rows = run.times.phases.iter();
    let rows: Vec<_> = rows
        .map(|phase| vec![phase.name.clone(), format!("{:.3}", phase.seconds)])
        .collect();
    html_table(&[], &rows)
}

fn stream_table(streams: &Streams) -> String {
    let Some(run) = streams.best() else {
        return String::new();
    };
    let rows: Vec<_> = run
        .measured
        .rows
        .iter()
        .map(|row| vec![row.name.clone(), format!("{:.1}", row.rate() / 1e6)])
        .collect();
    html_table(&[], &rows)
}
