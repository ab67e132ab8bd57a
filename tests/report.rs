//! Reports of literal results: the official one has HPCG's keys and numbers, all look as recorded.

#[path = "report/literal.rs"]
mod literal;

use std::path::Path;

use cubie::results::*;
use cubie::saved::run::Run;
use cubie::{Precision, report};
use literal::{alone, cut_short, example, invalid, official, on_a_gpu};

/// What a run of HPCG 3.1 itself printed.
const EXAMPLE: &str = include_str!("data/HPCG-Benchmark_3.1_example.txt");

/// HPCG's lines of our report: those before our own sections.
fn hpcg_lines(results: &Results) -> Vec<(String, String)> {
    let text = report::text::text(results);
    let (hpcg, _) = text.split_once("########## cubie").expect("our sections");
    lines(hpcg)
}

fn lines(text: &str) -> Vec<(String, String)> {
    text.lines()
        .map(|line| {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            // The key of the symmetry test contains no '=', but values may.
            (key.to_owned(), value.to_owned())
        })
        .collect()
}

#[test]
fn the_official_report_is_that_of_hpcg() {
    let ours = hpcg_lines(&example());
    // No kernel of ours is the reference's.
    let theirs: Vec<_> = lines(EXAMPLE)
        .into_iter()
        .filter(|(key, _)| !key.contains("Reference version of"))
        .collect();
    let keys = |lines: &[(String, String)]| -> Vec<String> {
        lines.iter().map(|(key, _)| key.clone()).collect()
    };
    assert_eq!(keys(&ours), keys(&theirs));
    for ((key, ours), (_, theirs)) in ours.iter().zip(&theirs) {
        match (ours.parse::<f64>(), theirs.parse::<f64>()) {
            // The example's times are rounded to six digits, and so is what follows from them.
            (Ok(ours), Ok(theirs)) => {
                let error = (ours - theirs).abs();
                assert!(
                    error <= 1e-5 * theirs.abs(),
                    "{key}: {ours} is not {theirs}"
                );
            }
            _ => assert_eq!(ours, theirs, "{key}"),
        }
    }
}

#[test]
fn unequal_boxes_are_listed_layer_by_layer() {
    let mut results = example();
    results.layers = vec![
        Layer {
            lower_ipz: 0,
            upper_ipz: 1,
            nz: 16,
        },
        Layer {
            lower_ipz: 2,
            upper_ipz: 2,
            nz: 24,
        },
    ];
    let local: Vec<_> = hpcg_lines(&results)
        .into_iter()
        .filter_map(|(key, value)| {
            let key = key.strip_prefix("Local Domain Dimensions::")?;
            Some(format!("{key}={value}"))
        })
        .collect();
    let expected = "nx=32 ny=32 Lower ipz=0 Upper ipz=1 nz=16 Lower ipz=2 Upper ipz=2 nz=24";
    assert_eq!(local.join(" "), expected);
}

const HARVESTED: &str = "HPCG result is VALID with a GFLOP/s rating of=";

#[test]
fn only_a_valid_run_in_ieee_double_prints_the_line_that_scripts_harvest() {
    let text = |results: &Results| report::text::text(results);
    assert!(text(&alone()).contains(HARVESTED));
    assert!(text(&cut_short()).contains(HARVESTED));
    assert!(!text(&invalid()).contains("VALID with"));
    for precision in [Precision::F32x2, Precision::Mixed, Precision::F32] {
        let text = text(&on_a_gpu(precision));
        assert!(!text.contains("VALID with"), "{precision}");
        let own = format!("cubie result ({precision}) GFLOP/s=");
        assert!(text.contains(&own), "{precision}");
    }
}

#[test]
fn the_true_residual_decides_where_the_arithmetic_is_not_ieee_double() {
    let valid = |precision, true_residual| {
        let mut results = on_a_gpu(precision);
        results.reference.true_residual = 1e-10;
        results.true_residual = true_residual;
        results.is_valid()
    };
    assert!(valid(Precision::F64, 1e-3));
    assert!(valid(Precision::F32x2, 0.99e-9));
    assert!(!valid(Precision::F32x2, 1.01e-9));
    assert!(!valid(Precision::Mixed, f64::NAN));
    assert!(!valid(Precision::F32, 1e-13), "a diagnostic");
    let mut floor = on_a_gpu(Precision::Mixed);
    floor.reference.true_residual = 1e-15;
    floor.true_residual = 0.99e-12;
    assert!(floor.is_valid());
    floor.true_residual = 1.01e-12;
    assert!(!floor.is_valid());
}

#[test]
fn an_official_run_is_long_full_complete_valid_and_double() {
    assert_eq!(official().not_official_because(), [""; 0]);
    assert!(report::text::text(&official()).contains("Please upload results"));
    let spoiled = |spoil: fn(&mut Results), why: &str| {
        let mut results = official();
        spoil(&mut results);
        let reasons = results.not_official_because().join("; ");
        assert!(reasons.contains(why), "{reasons}");
        assert!(!report::text::text(&results).contains("Please upload results"));
    };
    spoiled(|r| r.times.total = 1799.9, "1800 s are needed");
    spoiled(|r| r.memory.capacity = Some(200_000_000), "23.4 %");
    spoiled(|r| r.memory.capacity = None, "--device-memory");
    spoiled(|r| r.cut_short = true, "interrupted");
    spoiled(|r| r.precision = Precision::F32x2, "not IEEE double");
    spoiled(|r| r.checks.spectral.passed = false, "spectral");
    spoiled(|r| r.checks.iterations.passed = false, "did not reach");
}

#[test]
fn file_names_are_those_of_hpcg() {
    let dir = tempfile::tempdir().unwrap();
    let path = report::write(&example(), dir.path()).unwrap();
    let report = "HPCG-Benchmark_3.1_2026-11-30_18-05-09.txt";
    assert_eq!(path, dir.path().join(report));
    let mut names: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [report, "hpcg20261130T180509.txt"]);
}

#[test]
fn the_json_keeps_its_contract() {
    let json = report::json::json(&on_a_gpu(Precision::Mixed));
    let contract = "valid official not_official_because cut_short gflops gflops_raw true_residual \
        precision order format device.kind device.name device.driver device.backend ranks threads \
        grid.2 local.2 global.2 levels.3.rows levels.3.nnz \
        reference.iterations reference.normr0 reference.scaled_residuals.0 \
        optimised.iterations optimised.iterations_per_set optimised.scaled_residuals.0 \
        sets.count sets.scaled_residuals.0 \
        checks.spectral.passed checks.spectral.unpreconditioned checks.spectral.preconditioned \
        checks.symmetry.passed checks.symmetry.spmv checks.symmetry.mg \
        checks.norms.passed checks.norms.mean checks.norms.variance checks.iterations.passed \
        times.setup times.optimise times.total times.dot times.waxpby times.spmv times.mg \
        flops.dot flops.waxpby flops.spmv flops.mg flops.total gbytes_moved \
        solution_error.max solution_error.norm2";
    for key in contract.split_whitespace() {
        let pointer = format!("/{}", key.replace('.', "/"));
        let value = json.pointer(&pointer);
        assert!(value.is_some_and(|value| !value.is_null()), "{key}");
    }
    assert_eq!(json["device"]["kind"], "gpu");
    assert_eq!(json["precision"], "mixed");
    let total: f64 = ["dot", "waxpby", "spmv", "mg"]
        .iter()
        .map(|op| json["flops"][op].as_f64().unwrap())
        .sum();
    assert_eq!(json["flops"]["total"], total);
}

/// What is written as JSON is read back as it was, but for what is no number.
#[test]
fn a_saved_run_is_read_back_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a run.json");
    let read_back = |results: &Results| {
        std::fs::write(&path, report::json::text(results)).unwrap();
        Run::read(&path).unwrap().results
    };
    let mut hybrid = on_a_gpu(Precision::F32x2);
    hybrid.alone = Some(Alone {
        device: "Some GPU".into(),
        gflops: 1.25,
    });
    hybrid.halo = Some(HaloCost {
        transport: "isend".into(),
        exchanges: 350,
        bytes: 1 << 40,
        seconds: 0.1,
    });
    hybrid.ranks_detail = vec![RankDetail {
        rank: 1,
        device: "Some, \"other\" CPU".into(),
        kind: DeviceKind::Cpu,
        local: [16, 16, 24],
        share: 1.0 / 3.0,
        dot: 0.1,
        waxpby: 0.2,
        spmv: 0.3,
        mg: 0.7,
        busy: 1.2,
        halo: 0.05,
        allreduce: 1e-300,
    }];
    hybrid.bandwidth = None;
    for results in [example(), invalid(), cut_short(), hybrid] {
        assert_eq!(read_back(&results), results);
    }
    let mut diverged = alone();
    diverged.true_residual = f64::NAN;
    diverged.checks.norms.mean = f64::INFINITY;
    diverged.optimised.scaled_residuals[1] = f64::NAN;
    let read = read_back(&diverged);
    assert!(read.true_residual.is_nan() && read.checks.norms.mean.is_nan());
    let residuals = &read.optimised.scaled_residuals;
    assert!(residuals[1].is_nan() && residuals[2] == diverged.optimised.scaled_residuals[2]);
}

/// Compares with tests/snapshots/report__NAME.snap. INSTA_UPDATE=always records anew.
#[track_caller]
fn assert_looks(name: &str, text: &str) {
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!(name, text);
}

#[test]
fn reports_look_as_recorded() {
    assert_looks("valid", &report::text::text(&alone()));
    assert_looks("official", &tail(&official()));
    assert_looks("invalid", &tail(&invalid()));
    assert_looks("f32x2", &tail(&on_a_gpu(Precision::F32x2)));
    assert_looks("f32", &tail(&on_a_gpu(Precision::F32)));
    assert_looks("cut_short", &tail(&cut_short()));
    let mut quick = alone();
    quick.times.seconds_asked = 0.0;
    assert_looks("quick", &tail(&quick));
}

/// The report from HPCG's last section on.
fn tail(results: &Results) -> String {
    let text = report::text::text(results);
    let start = text.find("Final Summary=").expect("a final summary");
    text[start..].to_owned()
}

#[test]
fn log_json_and_table_look_as_recorded() {
    assert_looks("log", &report::log::log(&cut_short()));
    assert_looks("json", &report::json::text(&on_a_gpu(Precision::F32x2)));
    let path = Path::new("here/report.txt");
    assert_looks("table", &report::table::table(&alone(), Some(path)));
    let mut estimated = on_a_gpu(Precision::Mixed);
    estimated.times.estimated = true;
    estimated.checks.spectral.passed = false;
    assert_looks("table_gpu", &report::table::table(&estimated, None));
    assert_looks("line", &report::table::line(&alone()));
}
