//! The plots of a page.

use crate::meter::Op;
use crate::number::{bytes, counted, fixed, percent, readable};
use crate::report::chart::{Axis, Plot, bars, escaped};
use crate::results::Results;
use crate::saved::run::Run;

pub(super) fn ratings(runs: &[Run]) -> String {
    let rows: Vec<_> = runs
        .iter()
        .map(|run| {
            let mark = if run.results.is_valid() {
                ""
            } else {
                ", NOT VALID"
            };
            (
                run.name.clone(),
                vec![run.results.rating().official],
                format!("{}{mark}", readable(run.results.rating().official)),
            )
        })
        .collect();
    bars("Ratings of the runs", &[], &rows)
}

pub(super) fn residuals(runs: &[Run]) -> String {
    let mut lines: Vec<(String, &[f64])> = Vec::new();
    for run in runs {
        let name = if runs.len() == 1 {
            "optimised".to_owned()
        } else {
            run.name.clone()
        };
        lines.push((name, &run.results.optimised.scaled_residuals));
    }
    if let [run] = runs {
        lines.push((
            "reference, natural order".into(),
            &run.results.reference.scaled_residuals,
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

pub(super) fn time_bars(runs: &[Run]) -> String {
    let rows: Vec<_> = runs
        .iter()
        .map(|run| {
            let times = &run.results.times;
            let iterations = run.results.iterations() as f64;
            let each = times.ops.all().map(|seconds| 1e3 * seconds / iterations);
            let total = 1e3 * times.total / iterations;
            (
                run.name.clone(),
                each.to_vec(),
                format!("{} ms", fixed(total, 3)),
            )
        })
        .collect();
    bars("Time by kernel", &Op::ALL.map(Op::name), &rows)
}

/// The kernels of one run, or several runs as a whole. Dot products are a part of the vectors'
/// point, since fused ones move no bytes of their own.
pub(super) fn roofline(runs: &[Run], bandwidth: f64) -> String {
    let point = |name: &str, flops: f64, moved: f64, seconds: f64| {
        (name.to_owned(), (flops / moved, flops / seconds / 1e9))
    };
    let whole = |name: &str, run: &Results| {
        let flops = run.counts().flops.sum();
        point(name, flops, run.moved.sum(), run.times.total)
    };
    let points: Vec<_> = match runs {
        [Run { results, .. }] => {
            let (f, m, s) = (results.counts().flops, results.moved, results.times.ops);
            let of = |name: &str, ops: &[Op]| {
                let [f, m, s] = [f, m, s].map(|per_op| ops.iter().map(|&op| per_op[op]).sum());
                point(name, f, m, s)
            };
            vec![
                whole("all", results),
                of("SpMV", &[Op::Spmv]),
                of("MG", &[Op::Mg]),
                of("vectors", &[Op::Dot, Op::Waxpby]),
            ]
        }
        _ => runs
            .iter()
            .map(|run| whole(&run.name, &run.results))
            .collect(),
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

pub(super) fn halo_text(run: &Results) -> String {
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

pub(super) fn ranks(run: &Results) -> String {
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
