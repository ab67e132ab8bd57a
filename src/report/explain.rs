//! The outcome of `cubie explain`: a table, the gaps in words, and JSON.

use std::fmt::Write;

use serde_json::json;

use crate::explain::{Explanation, Link, Network, Scaled};
use crate::number::{fixed, g, percent};
use crate::saved::{self, Kind};

/// A gap below this share of the run is not worth words.
const WORTH_WORDS: f64 = 0.01;

/// The prediction beside the measurement, and the largest gap first.
pub fn text(explanation: &Explanation) -> String {
    let mut text = format!(
        "{} on {}\n\n{:<10}{:>10}{:>9}{:>13}{:>12}{:>13}{:>12}\n",
        explanation.run,
        explanation.device,
        "",
        "GB moved",
        "at GB/s",
        "predicted s",
        "measured s",
        "predicted",
        "measured"
    );
    for kernel in &explanation.kernels {
        let predicted = kernel
            .predicted_gflops
            .map_or("fused".into(), |gflops| fixed(gflops, 3));
        let _ = writeln!(
            text,
            "{:<10}{:>10.2}{:>9.2}{:>13.4}{:>12.4}{predicted:>13}{:>12}",
            kernel.name,
            kernel.bytes / 1e9,
            kernel.rate / 1e9,
            kernel.predicted_seconds,
            kernel.measured_seconds,
            fixed(kernel.measured_gflops, 3)
        );
        if kernel.name == "MG" {
            for (l, level) in explanation.levels.iter().enumerate() {
                let _ = writeln!(
                    text,
                    "{:<29}{:>13.4}",
                    format!("  level {l}, {} rows", level.rows),
                    level.predicted_seconds
                );
            }
        }
    }
    let _ = writeln!(
        text,
        "{:<29}{:>13.4}{:>12.4}{:>13}{:>12}  GFLOP/s, the rating\n",
        "all",
        explanation.predicted_seconds(),
        explanation.total,
        fixed(explanation.predicted_gflops, 3),
        fixed(explanation.measured_gflops, 3)
    );
    let share = explanation.measured_gflops / explanation.predicted_gflops;
    let _ = writeln!(
        text,
        "The run reached {} of what its bytes and this memory predict.",
        percent(share)
    );
    for (place, seconds) in explanation.gaps() {
        text += &sentence(explanation, place, seconds);
    }
    text
}

fn sentence(explanation: &Explanation, place: &str, seconds: f64) -> String {
    let share = seconds / explanation.total;
    let Some(kernel) = explanation
        .kernels
        .iter()
        .find(|kernel| kernel.name == place)
    else {
        return if share > WORTH_WORDS {
            format!(
                "{seconds:.3} s, {} of the run, pass {place}: waiting, starting kernels, and talking.\n",
                percent(share)
            )
        } else {
            String::new()
        };
    };
    let (took, should) = (kernel.measured_seconds, kernel.predicted_seconds);
    if share > WORTH_WORDS {
        format!(
            "{place} took {took:.3} s where its bytes need {should:.3} s at {:.1} GB/s: {seconds:.3} s, {} of the run, are lost there.\n",
            kernel.rate / 1e9,
            percent(share)
        )
    } else if share < -WORTH_WORDS {
        format!(
            "{place} took {took:.3} s, less than the {should:.3} s that its bytes need from memory: caches serve a part of them.\n"
        )
    } else {
        String::new()
    }
}

/// The ratings of more ranks.
pub fn scaled_text(scaled: &[Scaled], network: &Network) -> String {
    let cost = |link: &Link| match link.seconds_a_byte {
        0.0 => format!("{} us", g(1e6 * link.alpha)),
        seconds => format!("{} us and {} GB/s", g(1e6 * link.alpha), g(1e-9 / seconds)),
    };
    let mut text = format!(
        "\nnetwork ({}): a message of a halo {}, a step of a sum {}\n",
        network.source,
        cost(&network.halo),
        cost(&network.allreduce)
    );
    let _ = writeln!(
        text,
        "\n{:>10}{:>8}{:>16}{:>16}{:>16}{:>14}{:>9}{:>11}\n",
        "ranks", "a node", "grid", "box", "GFLOP/s", "iteration ms", "halo", "allreduce"
    );
    let sides = |n: [usize; 3]| format!("{}x{}x{}", n[0], n[1], n[2]);
    for one in scaled {
        let _ = writeln!(
            text,
            "{:>10}{:>8}{:>16}{:>16}{:>16}{:>14.3}{:>8.1}%{:>10.1}%",
            one.ranks,
            one.ranks_a_node,
            sides(one.grid),
            sides(one.local),
            g(one.gflops),
            1e3 * one.iteration,
            100.0 * one.halo,
            100.0 * one.allreduce
        );
    }
    text + "(as many iterations as in this run; the preparation is left out; nothing overlaps)\n"
}

/// Everything as JSON; `predicted_gflops` and `measured_gflops` are a contract.
pub fn json(explanation: &Explanation, scaled: &[Scaled], network: Option<&Network>) -> String {
    let mut value = serde_json::to_value(explanation).expect("plain numbers and text");
    let gaps = explanation.gaps().into_iter();
    value["gaps"] = gaps
        .map(|(place, seconds)| json!({ "where": place, "seconds": seconds }))
        .collect();
    value["scaled"] = json!(scaled);
    value["network"] = json!(network);
    saved::text(Kind::Explain, value)
}
