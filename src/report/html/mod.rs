//! One page about a run, or about several side by side: all in one file, with nothing from a network.

mod plots;
mod tables;

use std::fmt::Write;

use super::chart::escaped;
use crate::number::{counted, percent, readable};
use crate::results::Results;
use crate::saved::run::Run;
use crate::stream::Streams;
use plots::{halo_text, ranks, ratings, residuals, roofline, time_bars};
use tables::{checks, facts, kernels, kernels_text, phases, stream_table};

/// The page. With `streams`, measured on the runs' device, it tells how far from the bound they are.
///
/// # Panics
/// If there are no runs.
pub fn page(runs: &[Run], streams: Option<&Streams>) -> String {
    let bandwidth = streams.and_then(Streams::bandwidth);
    let first = &runs[0];
    let title = match runs {
        [run] => format!(
            "cubie: {} GFLOP/s on {}",
            readable(run.results.rating().official),
            run.results.device.name
        ),
        _ => format!("cubie: {} side by side", counted(runs.len() as u64, "run")),
    };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{}</title>\n<style>\n{}</style></head>\n<body>\n",
        escaped(&title),
        include_str!("../style.css"),
    );
    page += &if runs.len() == 1 {
        heading(&first.results, bandwidth)
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
            kernels_text(&run.results, bandwidth),
            kernels(&run.results, bandwidth)
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
        .filter(|run| run.results.ranks > 1 && !run.results.ranks_detail.is_empty())
    {
        let heading = format!("Ranks of {}", escaped(&run.name));
        section(
            &heading,
            &halo_text(&run.results),
            true,
            ranks(&run.results),
        );
    }
    if let [run] = runs {
        section("Checks", "", false, checks(&run.results));
        section(
            "Phases",
            "Seconds of every phase in order.",
            false,
            phases(&run.results),
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

fn heading(run: &Results, bandwidth: Option<f64>) -> String {
    let class = if run.is_valid() { "good" } else { "bad" };
    let [x, y, z] = run.global;
    let mut text = format!(
        "<header><h1>HPCG on {}</h1><p class=\"rating\">{} <small>GFLOP/s</small></p>\
         <p><span class=\"{class}\">{}</span> · {} · {x} × {y} × {z} on {} of {} · {}</p>",
        escaped(&run.device.name),
        readable(run.rating().official),
        run.status(),
        run.precision,
        counted(run.ranks, "rank"),
        counted(run.threads, "thread"),
        run.started,
    );
    if let Some(bandwidth) = bandwidth {
        let share = run.gbytes_per_second() * 1e9 / bandwidth;
        let bound = run.rating().official / share;
        let _ = write!(
            text,
            "<p>That is {} of the {} GFLOP/s that it would be if every byte of these kernels came from memory at the {:.1} GB/s that <i>cubie stream</i> measured.{}</p>",
            percent(share),
            readable(bound),
            bandwidth / 1e9,
            if share > 1.0 {
                " Above 100 %: caches serve a part of them."
            } else {
                ""
            },
        );
    }
    let reasons = run
        .not_official_because()
        .into_iter()
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
