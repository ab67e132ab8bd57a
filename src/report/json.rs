//! The results as JSON, for programs: names and nesting are a contract, keys are only ever added.
//!
//! Times are in seconds, memory and bytes in bytes; what is not a finite number becomes `null`.

use serde_json::{Value, json};

use crate::meter::{Op, PerOp};
use crate::results::{HaloCost, Layer, Results};
use crate::saved::{self, Kind};

/// The results as a JSON object.
pub fn json(results: &Results) -> Value {
    let counts = results.counts();
    let rating = results.rating();
    let checks = &results.checks;
    let mut value = json!({
        "started": results.start(),
        "valid": results.is_valid(),
        "not_valid_because": results.not_valid_because(),
        "official": results.is_official(),
        "not_official_because": results.not_official_because(),
        "cut_short": results.cut_short,
        "quick": results.is_quick(),
        "notices": results.notices,
        "gflops": rating.official,
        "gflops_raw": rating.raw,
        "gflops_convergence": rating.convergence,
        "gflops_historical": rating.historical,
        "true_residual": results.true_residual,
        "precision": results.precision.name(),
        "order": results.order,
        "format": results.format,
        "device": {
            "kind": results.device.kind.to_string(),
            "name": results.device.name,
            "driver": results.device.driver,
            "backend": results.device.backend,
        },
        "hybrid": results.hybrid,
        "ranks": results.ranks,
        "threads": results.threads,
        "grid": results.grid,
        "local": results.local,
        "global": results.global,
        "layers": results.layers.iter().map(layer).collect::<Vec<_>>(),
        "levels": results.levels.iter()
            .map(|level| json!({ "rows": level.rows, "nnz": level.nnz }))
            .collect::<Vec<_>>(),
        "memory": {
            "host": results.memory.host,
            "device": results.memory.device,
            "levels": results.memory.levels,
            "optimise": results.memory.optimise,
            "capacity": results.memory.capacity,
            "fill": results.fill(),
        },
        "reference": {
            "iterations": results.reference.iterations,
            "normr0": results.reference.normr0,
            "scaled_residuals": results.reference.scaled_residuals,
            "true_residual": results.reference.true_residual,
            "spmv_mg_seconds": results.reference.spmv_mg_seconds,
        },
        "optimised": {
            "iterations": results.optimised.iterations,
            "iterations_per_set": results.optimised.iterations_per_set,
            "scaled_residuals": results.optimised.scaled_residuals,
        },
        "sets": {
            "count": results.sets.count,
            "planned": results.sets.planned,
            "scaled_residuals": results.sets.scaled_residuals,
        },
        "checks": {
            "spectral": {
                "passed": checks.spectral.passed,
                "unpreconditioned": checks.spectral.unpreconditioned,
                "preconditioned": checks.spectral.preconditioned,
            },
            "symmetry": {
                "passed": checks.symmetry.passed,
                "spmv": checks.symmetry.spmv,
                "mg": checks.symmetry.mg,
                "exact_residual": checks.symmetry.exact_residual,
            },
            "norms": {
                "passed": checks.norms.passed,
                "mean": checks.norms.mean,
                "variance": checks.norms.variance,
            },
            "iterations": { "passed": checks.iterations_passed },
        },
        "times": with_ops(results.times.ops, json!({
            "setup": results.times.setup,
            "optimise": results.times.optimise,
            "total": results.times.total,
            "estimated": results.times.estimated,
            "seconds_asked": results.seconds_asked,
            "phases": results.phases.iter()
                .map(|phase| json!({ "name": phase.name, "seconds": phase.seconds }))
                .collect::<Vec<_>>(),
        })),
        "flops": with_ops(counts.flops, json!({ "total": counts.flops.sum() })),
        "gbytes_moved": results.gbytes_moved(),
        "moved": with_ops(results.moved, json!({ "total": results.moved.sum() })),
        "solution_error": {
            "max": results.solution_error.max,
            "norm2": results.solution_error.norm2,
        },
    });
    value["bandwidth"] = json!(results.bandwidth);
    value["passes"] = passes(results);
    value["halo"] = json!(results.halo.as_ref().map(halo));
    value["ranks_detail"] = json!(results.ranks_detail);
    value["alone"] = json!(
        results
            .alone
            .as_ref()
            .map(|alone| json!({ "device": alone.device, "gflops": alone.gflops }))
    );
    value["balance"] = json!(results.balance());
    saved::document(Kind::Hpcg, value)
}

/// The results as a JSON file.
pub fn text(results: &Results) -> String {
    format!("{:#}\n", json(results))
}

fn passes(results: &Results) -> Value {
    let passes = Op::ALL.map(|op| results.passes_of(op));
    let total: f64 = passes.iter().sum();
    with_ops(PerOp::new(passes), json!({ "total": total }))
}

fn halo(halo: &HaloCost) -> Value {
    json!({
        "transport": halo.transport,
        "exchanges": halo.exchanges,
        "bytes": halo.bytes,
        "seconds": halo.seconds,
    })
}

fn layer(layer: &Layer) -> Value {
    json!({ "lower_ipz": layer.lower_ipz, "upper_ipz": layer.upper_ipz, "nz": layer.nz })
}

/// `object` with one more key for each operation.
fn with_ops(values: PerOp, mut object: Value) -> Value {
    for (op, key) in [
        (Op::Dot, "dot"),
        (Op::Waxpby, "waxpby"),
        (Op::Spmv, "spmv"),
        (Op::Mg, "mg"),
    ] {
        object[key] = json!(values[op]);
    }
    object
}
