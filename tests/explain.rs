//! `cubie explain`: a saved run beside what given or saved rates predict, and more ranks.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use approx::assert_relative_eq;
use serde_json::{Value, json};

fn explain(dir: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cubie"))
        .arg("explain")
        .args(args.split_whitespace())
        .current_dir(dir)
        .output()
        .expect("the program starts")
}

/// A directory with the recorded run and with stream figures.
fn saved() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = include_str!("snapshots/report__json.snap");
    let start = snapshot.find("\n{").expect("an object after the head");
    fs::write(dir.path().join("run.json"), &snapshot[start..]).unwrap();
    let rows = [("Dot", 20_000_000_000_u64), ("Triad", 30_000_000_000)].map(
        |(name, bytes)| json!({ "name": name, "bytes": bytes, "avg": 1.0, "min": 1.0, "max": 1.0 }),
    );
    let stream = json!({ "schema": "cubie stream 1", "skipped": [], "runs": [{
        "device": "Some GPU", "bind": "", "cpus": [], "precision": "f64", "elements": 1_000_000_000,
        "element_bytes": 8, "times": 2, "clock": "a clock", "rows": rows,
        "check": { "bound": 1e-13, "failures": [] } }] });
    fs::write(dir.path().join("stream.json"), stream.to_string()).unwrap();
    dir
}

fn json_of(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn predictions_are_bytes_over_rates() {
    let dir = saved();
    let json = json_of(&explain(
        dir.path(),
        "run.json --stream stream.json --json -",
    ));
    assert_eq!(json["schema"], "cubie explain 1");
    let expected = [4.75 / 20.0, 7.1 / 30.0, 31.0 / 20.0, 150.0 / 20.0];
    for (kernel, seconds) in json["kernels"].as_array().unwrap().iter().zip(expected) {
        let predicted = kernel["predicted_seconds"].as_f64().unwrap();
        assert_relative_eq!(predicted, seconds, max_relative = 1e-12);
        let gflops = |when: &str| {
            let seconds = kernel[format!("{when}_seconds")].as_f64().unwrap();
            kernel[format!("{when}_gflops")].as_f64().unwrap() * seconds
        };
        assert_relative_eq!(
            gflops("predicted"),
            gflops("measured"),
            max_relative = 1e-12
        );
    }
    let levels = json["levels"].as_array().unwrap().iter();
    let levels: f64 = levels
        .map(|level| level["predicted_seconds"].as_f64().unwrap())
        .sum();
    assert_relative_eq!(levels, 7.5, max_relative = 1e-12);
    let measured = json["measured_gflops"].as_f64().unwrap();
    let charged = 30.0 * (0.061_614_6 + 2.3e-7) / 10.0;
    let predicted = measured * (18.7011 + charged) / (expected.iter().sum::<f64>() + charged);
    assert_relative_eq!(
        json["predicted_gflops"].as_f64().unwrap(),
        predicted,
        max_relative = 1e-12
    );
    // 13.9276 s against 7.5 s.
    assert_eq!(json["gaps"][0]["where"], "MG");
    let text =
        String::from_utf8(explain(dir.path(), "run.json --stream stream.json").stdout).unwrap();
    assert!(
        text.contains("MG took 13.928 s where its bytes need 7.500 s"),
        "{text}"
    );
}

#[test]
fn more_ranks_rate_more_and_a_slow_network_costs() {
    let dir = saved();
    let scaled = |network: &str| {
        let args =
            format!("run.json --bandwidth 20 --ranks 1,8,36x8,100000 --nx 64 {network} --json -");
        json_of(&explain(dir.path(), &args))["scaled"]
            .as_array()
            .unwrap()
            .clone()
    };
    let number = |one: &Value, key: &str| one[key].as_f64().unwrap();
    let fast = scaled("--alpha 0.001 --beta 1000");
    let slow = scaled("--alpha 50 --beta 0.1");
    assert_eq!(
        number(&fast[0], "halo") + number(&fast[0], "allreduce"),
        0.0
    );
    // Eight ranks on eight nodes do eight times the work; the corners of the grid add a little.
    let speed = number(&fast[1], "gflops") / number(&fast[0], "gflops");
    assert!((7.9..8.5).contains(&speed), "{speed}");
    assert_eq!(fast[2]["ranks"], 288);
    assert_eq!(fast[3]["grid"], json!([40, 50, 50]));
    for (fast, slow) in fast.iter().zip(&slow).skip(1) {
        assert!(number(slow, "gflops") < number(fast, "gflops"));
        assert!(number(slow, "halo") > number(fast, "halo"));
        assert!(number(slow, "halo") + number(slow, "allreduce") < 1.0);
    }
}

/// Writes figures of `cubie net` with these fits of (operation, ranks, alpha, seconds a byte).
fn write_net(path: &Path, fits: &[(&str, usize, f64, f64)]) {
    let table = |&(operation, processes, alpha, slope)| {
        json!({ "operation": operation, "processes": processes, "waiting": 0, "rows": [], "fit": {
            "alpha": alpha, "seconds_a_byte": slope, "error": 0.1, "range": [1, 64], "points": 7 } })
    };
    let tables: Vec<Value> = fits.iter().map(table).collect();
    let net = json!({ "schema": "cubie net 1", "library": "Some MPI", "ranks": 8,
        "ranks_a_machine": 8, "tables": tables });
    fs::write(path, net.to_string()).unwrap();
}

#[test]
fn the_network_comes_from_the_figures_of_net() {
    let dir = saved();
    let path = dir.path().join("net.json");
    let scaled = |network: &str| {
        let args = format!("run.json --bandwidth 20 --ranks 1,8,36x8 --nx 64 {network} --json -");
        json_of(&explain(dir.path(), &args))
    };
    let given = scaled("--alpha 3 --beta 2");
    // Eight ranks need three steps for a sum; the figures of fewer ranks do not count.
    let fits = [
        ("PingPong", 2, 9e-6, 9e-9),
        ("Allreduce", 2, 9e-6, 9e-9),
        ("Allreduce", 8, 9e-6, 1.5e-9),
        ("Halo-isend", 8, 3e-6, 0.5e-9),
        ("Halo-isend", 4, 9e-6, 9e-9),
        ("Halo-put-flag", 8, 9e-6, 9e-9),
    ];
    write_net(&path, &fits);
    let measured = scaled("--net net.json");
    for (given, measured) in given["scaled"]
        .as_array()
        .unwrap()
        .iter()
        .zip(measured["scaled"].as_array().unwrap())
    {
        for key in ["gflops", "halo", "allreduce"] {
            let [given, measured] = [given, measured].map(|one| one[key].as_f64().unwrap());
            assert_relative_eq!(given, measured, max_relative = 1e-12);
        }
    }
    assert_relative_eq!(
        measured["network"]["allreduce"]["alpha"].as_f64().unwrap(),
        3e-6,
        max_relative = 1e-12
    );
    let args = "run.json --bandwidth 20 --ranks 8 --nx 64 --net net.json";
    let text = String::from_utf8(explain(dir.path(), args).stdout).unwrap();
    let words = "network (Halo-isend on 8 ranks and Allreduce on 8, Some MPI): a message of a halo 3 us and 2 GB/s";
    assert!(text.contains(words), "{text}");
}

#[test]
fn figures_of_net_that_are_of_no_use_are_refused() {
    let dir = saved();
    let path = dir.path().join("net.json");
    let refused = |words: &str| {
        let output = explain(
            dir.path(),
            "run.json --bandwidth 9 --ranks 8 --net net.json",
        );
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert_eq!(error.matches("error: ").count(), 1, "{error}");
        assert!(
            error.contains(words) && error.contains("cubie net"),
            "{error}"
        );
    };
    refused("cannot read");
    write_net(&path, &[("Allreduce", 2, 1e-6, 0.0)]);
    refused("no Halo");
    write_net(&path, &[("Halo-isend", 2, 1e-6, 0.0)]);
    refused("no Allreduce");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    refused("not whole JSON");
    fs::write(&path, whole.replace("net 1", "net 0")).unwrap();
    refused("'cubie net 0'");
    fs::copy(dir.path().join("stream.json"), &path).unwrap();
    refused("'cubie stream 1'");
    let both = "run.json --bandwidth 9 --ranks 8 --net net.json --alpha 1 --beta 1";
    let output = explain(dir.path(), both);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_run_is_measured_where_none_is_given() {
    let dir = tempfile::tempdir().unwrap();
    let json = json_of(&explain(dir.path(), "--nx 16 --rt 0 --device cpu --json -"));
    assert_eq!(json["levels"][0]["rows"], 4096);
    assert!(json["predicted_gflops"].as_f64().unwrap() > 0.0);
    assert!(json["measured_gflops"].as_f64().unwrap() > 0.0);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let dir = saved();
    let refused = |args: &str, word: &str| {
        let output = explain(dir.path(), args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}: {error}");
        assert!(
            error.starts_with("error: ") && error.contains(word),
            "{args}: {error}"
        );
    };
    refused("run.json --ranks 8", "--alpha");
    refused("run.json --ranks 3x3x3 --alpha 1 --beta 1", "36x8");
    refused("run.json --bandwidth 0", "above 0");
    refused(
        "run.json --bandwidth 9 --ranks 8 --nx 20 --alpha 1 --beta 1",
        "multiple of 8",
    );
    refused(
        "run.json --bandwidth 9 --ranks 11 --nx 16 --alpha 1 --beta 1",
        "11",
    );
    refused("stream.json", "cubie stream 1");
    refused("run.json --stream run.json", "cubie hpcg 1");
    let run = fs::read_to_string(dir.path().join("run.json")).unwrap();
    let together = run.replace("\"hybrid\": false", "\"hybrid\": true");
    fs::write(dir.path().join("together.json"), together).unwrap();
    refused("together.json", "several devices");
    refused("run.json --json missing/e.json", "another path");
    refused("run.json --json run.json", "would overwrite");
    refused(
        "run.json --stream stream.json --json stream.json",
        "would overwrite",
    );
    refused("run.json --rt 1", "cannot be used with");
    refused("run.json --device cpu", "cannot be used with");
    refused("run.json --format ell28", "cannot be used with");
    refused("run.json --bandwidth 9 --nx 16", "add --ranks");
    refused("--nx 16 --rt 0 --device cpu+cpu", "several devices");
    let stream = fs::read_to_string(dir.path().join("stream.json")).unwrap();
    fs::write(
        dir.path().join("no-dot.json"),
        stream.replace("Dot", "Other"),
    )
    .unwrap();
    refused("run.json --stream no-dot.json", "no kernel Dot");
    let on_cpu = run.replace("\"kind\": \"gpu\"", "\"kind\": \"cpu\"");
    assert_ne!(on_cpu, run);
    fs::write(dir.path().join("cpu.json"), on_cpu).unwrap();
    refused("cpu.json --stream stream.json", "no kernel Gather");
}
