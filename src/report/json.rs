//! The results as JSON, for programs: names and nesting are a contract, keys are only ever added.
//!
//! The results themselves, and what follows from them. Times are in seconds, memory and bytes in
//! bytes; what is not a finite number becomes `null`.

use serde_json::{Value, json};

use crate::meter::{Op, PerOp};
use crate::results::Results;
use crate::saved::{self, Kind};

/// The results as a JSON object.
pub fn json(results: &Results) -> Value {
    let rating = results.rating();
    let mut value = json!({
        "valid": results.is_valid(),
        "not_valid_because": results.not_valid_because(),
        "official": results.is_official(),
        "not_official_because": results.not_official_because(),
        "quick": results.is_quick(),
        "gflops": rating.official,
        "gflops_raw": rating.raw,
        "gflops_convergence": rating.convergence,
        "gflops_historical": rating.historical,
        "gbytes_moved": results.gbytes_moved(),
        "balance": results.balance(),
        "flops": with_total(&results.counts().flops),
        "passes": with_total(&PerOp::new(Op::ALL.map(|op| results.passes_of(op)))),
    });
    let Value::Object(own) = json!(results) else {
        unreachable!("a structure is an object");
    };
    value.as_object_mut().expect("an object").extend(own);
    value["moved"] = with_total(&results.moved);
    value["memory"]["fill"] = json!(results.fill());
    saved::document(Kind::Hpcg, value)
}

/// The results as a JSON file.
pub fn text(results: &Results) -> String {
    format!("{:#}\n", json(results))
}

fn with_total(values: &PerOp) -> Value {
    let mut object = json!(values);
    object["total"] = json!(values.sum());
    object
}
