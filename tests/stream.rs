//! `cubie stream`: figures on the CPU and on every GPU that is there, and what it refuses.

use std::path::Path;
use std::process::{Command, Output};

use cubie::gpu::{Arithmetic, adapters, stream};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use serde_json::Value;

fn cubie(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cubie"))
        .arg("stream")
        .args(args)
        .current_dir(dir)
        .output()
        .expect("the program starts")
}

/// What STREAM's users look for: the best rate of a function.
fn rate(table: &str, function: &str) -> f64 {
    let line = table
        .lines()
        .find(|line| line.split_whitespace().next() == Some(function))
        .unwrap_or_else(|| panic!("no {function} in:\n{table}"));
    let fields: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .map(|field| field.parse().unwrap())
        .collect();
    assert_eq!(fields.len(), 4, "{line}");
    assert!(fields[2] <= fields[1] && fields[1] <= fields[3], "{line}");
    fields[0]
}

#[test]
fn the_cpu_is_measured_and_its_figures_are_saved() {
    let dir = tempfile::tempdir().unwrap();
    for single in [&[][..], &["--single"], &["--pages", "small"]] {
        let args = [
            "--device",
            "cpu",
            "--elements",
            "100001",
            "--times",
            "3",
            "--json",
            "s.json",
        ];
        let output = cubie(dir.path(), &[&args, single].concat());
        let table = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{table}");
        for function in [
            "Copy:", "Scale:", "Add:", "Triad:", "Dot:", "Read:", "Gather:",
        ] {
            assert!(rate(&table, function) > 0.0);
        }
        assert!(
            table.contains("Solution Validates: avg error less than"),
            "{table}"
        );
        let json = std::fs::read_to_string(dir.path().join("s.json")).unwrap();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["schema"], "cubie stream 1");
        // Whole cache lines.
        assert_eq!(
            json["runs"][0]["elements"],
            if single == ["--single"] {
                100_016
            } else {
                100_008
            }
        );
        let pages = if single == ["--pages", "small"] {
            "small"
        } else {
            "large"
        };
        assert_eq!(json["runs"][0]["pages"], pages);
        assert!(table.contains(&format!("Pages are {pages}")), "{table}");
    }
}

#[test]
fn every_plan_is_run_or_said_to_be_impossible() {
    let dir = tempfile::tempdir().unwrap();
    let args = [
        "--device",
        "cpu",
        "--elements",
        "10000",
        "--times",
        "2",
        "--bind",
        "plans",
    ];
    let output = cubie(dir.path(), &args);
    let table = String::from_utf8(output.stdout).unwrap();
    for plan in ["8a", "8b", "8c", "12a", "12b", "16"] {
        let run = table.contains(&format!("Binding {plan} ("));
        let impossible = table.contains(&format!("plan {plan} ("));
        assert!(run != impossible, "{plan} in:\n{table}");
    }
    assert!(table.contains("best Triad: plan "), "{table}");
}

#[test]
fn gpus_are_measured() {
    let all = adapters();
    assert!(
        !all.is_empty(),
        "no GPU driver: install one, as tests/gpu.rs says"
    );
    let dir = tempfile::tempdir().unwrap();
    for adapter in all {
        let index = adapter.index.to_string();
        let args = ["--device", &index, "--elements", "70001", "--times", "2"];
        let output = cubie(dir.path(), &[&args[..], &["--single"]].concat());
        let table = String::from_utf8(output.stdout).unwrap();
        assert!(table.contains("Solution Validates"), "{table}");
        assert!(rate(&table, "Triad:") > 0.0);
        let output = cubie(dir.path(), &args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.success(), adapter.f64, "{error}");
        assert!(adapter.f64 || error.contains("--single"), "{error}");
        for flags in [
            ["--bind", "compact"],
            ["--threads", "1"],
            ["--pages", "small"],
        ] {
            let output = cubie(dir.path(), &[&args[..], &["--single"], &flags].concat());
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{error}");
            assert!(error.contains("--device cpu"), "{error}");
        }
    }
}

#[test]
fn the_shader_is_valid_in_every_arithmetic() {
    for arithmetic in Arithmetic::ALL {
        let source = stream::source(arithmetic);
        let module = naga::front::wgsl::parse_str(&source)
            .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
        let capabilities = match arithmetic {
            Arithmetic::F64 => Capabilities::FLOAT64,
            _ => Capabilities::empty(),
        };
        Validator::new(ValidationFlags::all(), capabilities)
            .validate(&module)
            .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
        assert_eq!(module.entry_points.len(), 6);
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], word: &str| {
        let output = cubie(dir.path(), &[&["--device", "cpu"], args].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(
            error.starts_with("error: ") && error.contains(word),
            "{args:?}: {error}"
        );
    };
    refused(&["--bind", "cores:100000"], "no CPU 100000");
    refused(&["--bind", "per-socket:100000"], "per-socket:");
    refused(&["--bind", "tight"], "compact, spread");
    refused(&["--bind", "cores:0,0"], "CPU 0 twice");
    refused(
        &["--bind", "plans", "--threads", "1"],
        "leave out --threads",
    );
    refused(&["--threads", "100000"], "100000 threads");
    refused(&["--times", "1"], "from 2 on");
    refused(&["--pages", "huge"], "large or small");
    refused(&["--elements", "4294967295000"], "whole number");
    refused(&["--elements", "4294967295"], "fewer --elements");
    refused(&["--json", "missing/s.json"], "another path");
}
