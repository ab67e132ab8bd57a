//! What the report says beyond HPCG's: the device, the bytes that really moved, the true residual,
//! and what the result may call itself.

use super::document::Document;
use crate::{Op, Results};

/// Adds our sections.
pub(super) fn sections(doc: &mut Document, results: &Results) {
    doc.banner("cubie Summary ");
    run(doc, results);
    kernels(doc, results);
    ranks(doc, results);
    accuracy(doc, results);
    status(doc, results);
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

fn run(doc: &mut Document, results: &Results) {
    let device = &results.device;
    doc.group("Device Information")
        .add("Kind", &*device.kind.to_string())
        .add("Name", &*device.name)
        .add("Driver", &*device.driver)
        .add("Backend", &*device.backend)
        .add("Host memory allocated (bytes)", &results.memory.host)
        .add("Device memory allocated (bytes)", &results.memory.device);
    let mut run = doc.group("Run Information");
    run.add("cubie version", env!("CARGO_PKG_VERSION"))
        .add("Started", &*results.started.to_string())
        .add("Precision", results.precision.name())
        .add("Order", &*results.order)
        .add("Format", &*results.format)
        .add("Seconds asked for", &results.times.seconds_asked)
        .add("Sets", &results.sets.count)
        .add("Cut short", yes_or_no(results.cut_short));
    for notice in &results.notices {
        run.add("Notice", &**notice);
    }
}

fn kernels(doc: &mut Document, results: &Results) {
    let mut moved = doc.group("Bytes Really Moved");
    moved.add(
        "Counted as",
        "every stored matrix entry that a kernel touches with its index and padding, each vector once per sweep",
    );
    for op in Op::ALL {
        moved.add(
            &format!("{} (Gbytes)", op.name()),
            &(results.moved[op] / 1e9),
        );
    }
    moved.add("Total (Gbytes)", &results.gbytes_moved());
    let mut passes = doc.group("Passes over the Finest Matrix in an Iteration");
    for op in Op::ALL {
        passes.add(op.name(), &results.passes_of(op));
    }
    let mut speed = doc.group("Real GB/s");
    speed.add(
        "Times of the operations are",
        if results.times.estimated {
            "estimated: shared out by bytes, the device has no timestamps"
        } else {
            "measured"
        },
    );
    for op in Op::ALL {
        speed.add(op.name(), &results.gbytes_per_second_of(op));
    }
    speed.add("Total", &results.gbytes_per_second());
    if let Some(bandwidth) = results.bandwidth {
        speed.add("Memory bandwidth measured in this run", &(bandwidth / 1e9));
    }
}

fn ranks(doc: &mut Document, results: &Results) {
    let Some(halo) = &results.halo else { return };
    doc.group("Halo Exchange")
        .add("Transport", &*halo.transport)
        .add("Exchanges of each rank", &halo.exchanges)
        .add("Bytes sent by all ranks", &halo.bytes)
        .add("Time of the slowest rank (sec)", &halo.seconds);
    if let Some(alone) = &results.alone {
        doc.group("One Device Alone")
            .add("Device", &*alone.device)
            .add("GFLOP/s", &alone.gflops);
    }
    let mut ranks = doc.group("Ranks");
    ranks.add("Balance", &results.balance());
    for rank in &results.ranks_detail {
        let [nx, ny, nz] = rank.local;
        let detail = format!(
            "{} ({}), {nx} x {ny} x {nz}, share {:.4}, busy {:.4} s, halo {:.4} s, sums {:.4} s",
            rank.device, rank.kind, rank.share, rank.busy, rank.halo, rank.allreduce
        );
        ranks.add(&format!("Rank {}", rank.rank), &*detail);
    }
}

fn accuracy(doc: &mut Document, results: &Results) {
    doc.group("Accuracy")
        .add("True residual", &results.true_residual)
        .add(
            "True residual of the reference CG",
            &results.reference.true_residual,
        )
        .add("Largest error of the solution", &results.solution_error.max)
        .add(
            "2-norm of the error of the solution",
            &results.solution_error.norm2,
        )
        .add(
            "Largest residual of the exact solution",
            &results.checks.symmetry.exact_residual,
        );
}

fn status(doc: &mut Document, results: &Results) {
    let mut status = doc.group("Status");
    status.add("Valid", yes_or_no(results.is_valid()));
    for reason in results.not_valid_because() {
        status.add("Not valid because", &*reason);
    }
    status.add("Official", yes_or_no(results.is_official()));
    for reason in results.not_official_because() {
        status.add("Not official because", &*reason);
    }
}
