//! The command line: what it refuses before any work, and a whole short run.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn cubie(dir: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cubie"))
        .args(args.split_whitespace())
        .current_dir(dir)
        .output()
        .expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Runs in `dir`, which must be left as it is, and expects exit code 2 and an error with `words`.
#[track_caller]
fn refused_in(dir: &Path, args: &str, words: &[&str]) {
    let before = files(dir);
    let output = cubie(dir, args);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args}: {error}");
    assert!(error.starts_with("error: "), "{args}: {error}");
    for word in words {
        assert!(error.contains(word), "{args}: no '{word}' in: {error}");
    }
    assert!(output.stdout.is_empty(), "{args}");
    assert_eq!(files(dir), before, "{args}");
}

#[track_caller]
fn refused(args: &str, words: &[&str]) {
    refused_in(tempfile::tempdir().unwrap().path(), args, words);
}

#[test]
fn sizes_that_hpcg_cannot_do() {
    refused("--nx 20", &["nx is 20", "multiple of 8", "16 and 24"]);
    refused("hpcg --nx=32 --ny=100", &["ny is 100", "96 and 104"]);
    refused("32 32 36 1", &["nz is 36", "32 and 40"]);
    refused("--nx 8", &["nx is 8", "least is 16"]);
    refused("--nx 16 --nz 136", &["16 x 136 x 136", "128", "24"]);
}

#[test]
fn values_that_are_no_sizes() {
    for value in ["0", "-8", "1.5", "many", "", "99999999999999999999"] {
        let arg = format!("--nx={value}");
        refused(&arg, &["--nx", "whole number from 1 to"]);
    }
    refused("--nx -16", &["'-16'", "--nx"]);
    refused("16 16 sixteen", &["'sixteen'", "whole number"]);
    refused("16 16 -16", &["'-16'", "whole number"]);
    refused("--nx 16 --threads 100000", &["--threads", "4096"]);
    refused("--nx 16 --rt -1", &["--rt", "whole number"]);
    refused("--nx 16 --threads 0", &["--threads", "from 1"]);
    refused("--fill 0", &["--fill", "0.25"]);
    refused("--fill 1.5", &["--fill", "0.25"]);
    refused("--fill NaN", &["--fill", "0.25"]);
}

#[test]
fn values_that_contradict_each_other() {
    refused("16 --nx 16", &["--nx is given twice"]);
    refused("16 16 16 1 --rt 1", &["--rt is given twice"]);
    refused("--fill 0.1 --nx 16", &["--fill", "--nx"]);
}

#[test]
fn devices_that_nobody_would_use() {
    refused(
        "--nx 16 --device cpu,cpu",
        &["2 devices", "1 rank", "mpirun"],
    );
    refused("plan --device cpu,cpu", &["one --device"]);
    refused("validate --device cpu+cpu", &["one --device"]);
}

#[test]
fn boxes_that_cannot_be_shared() {
    let shared = |args: &str, words: &[&str]| {
        refused(&format!("--nx 32 --device cpu+cpu+cpu {args}"), words);
    };
    shared("--npx 3 --npy 1 --npz 1", &["nx is 32", "multiple of 24"]);
    shared("--npx 2 --npy 1 --npz 1", &["2 ranks", "there are 3"]);
    shared("--pz 1 --zl 16 --zu 16", &["leave out --pz"]);
    shared("--split 1:1", &["2 shares", "3 devices"]);
    shared("--nz 16", &["16 planes", "larger --nz"]);
}

#[test]
#[cfg(not(feature = "shmem"))]
fn openshmem_that_is_not_there() {
    for device in ["cpu", "cpu+cpu"] {
        let args = format!("--nx 16 --rt 0 --halo shmem-flag --device {device}");
        refused(&args, &["no OpenSHMEM", "--features shmem"]);
    }
}

#[test]
fn names_that_do_not_exist() {
    refused(
        "--nx 16 --order red",
        &["'red'", "natural", "color8", "plane2:K"],
    );
    refused("--nx 16 --order color8:01234566", &["digits 0 to 7"]);
    refused("--nx 16 --order plane2:0", &["plane2:K"]);
    refused("--nx 16 --precision f16", &["'f16'", "f32x2", "mixed"]);
    refused("--nx 16 --format csr", &["'csr'", "ell28"]);
    refused("--nx 16 --what 1", &["--what"]);
    refused("--nx 16 --device no-such-device", &["no-such-device"]);
    refused("--nx 16 --device cpu --precision f32x2", &["f32x2", "f64"]);
}

#[test]
fn rank_grids_that_do_not_fit_the_ranks() {
    let words = [
        "2 x 1 x 1",
        "needs 2 ranks",
        "there is 1",
        "leave out --npx",
    ];
    refused("--nx 16 --npx 2 --npy 1 --npz 1", &words);
    refused("--nx 16 --npx 1", &["all of --npx, --npy and --npz"]);
    refused("--nx 16 --npx 0 --npy 1 --npz 1", &["--npx", "from 1"]);
    refused("--nx 16 --pz 1", &["--pz, --zl and --zu belong together"]);
    refused(
        "--nx 16 --pz 1 --zl 16 --zu 24",
        &["1 layer", "leave out --pz"],
    );
}

#[test]
fn boxes_that_do_not_fit() {
    refused("--nx 2048", &["2048 x 2048 x 2048", "rows"]);
    refused("--nx 4294967288", &["4294967288", "rows"]);
    let words = ["memory on the host", "GiB are free", "smaller box"];
    refused("--nx 1600 --device cpu", &words);
}

#[test]
fn a_malformed_hpcg_dat() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hpcg.dat");
    let write = |text: &str| fs::write(&path, format!("one\ntwo\n{text}")).unwrap();
    write("16 16\n0\n");
    refused_in(dir.path(), "", &["hpcg.dat, line 3", "nz is missing"]);
    write("16 16 16 60\n0\n");
    refused_in(
        dir.path(),
        "",
        &["hpcg.dat, line 3", "'60' is one number more"],
    );
    write("16 16 16\nsoon\n");
    refused_in(dir.path(), "hpcg", &["hpcg.dat, line 4", "'soon'"]);
    write("16 16 16\n0\n1 1\n");
    refused_in(dir.path(), "", &["hpcg.dat, line 5", "npz is missing"]);
    write("20 16 16\n0\n");
    refused_in(dir.path(), "", &["nx is 20"]);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused_in(dir.path(), "", &["cannot read hpcg.dat"]);
}

#[test]
fn paths_that_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "kept").unwrap();
    for output in ["missing", "file", "file/below"] {
        let args = format!("--nx 16 --rt 0 --output {output}");
        refused_in(dir.path(), &args, &[output, "--output"]);
    }
    for json in ["missing/r.json", ".", "file/r.json"] {
        let args = format!("--nx 16 --rt 0 --json {json}");
        refused_in(dir.path(), &args, &[json, "another path"]);
    }
    for (json, html) in [("r", "r"), ("r", "./r"), ("-", "-")] {
        let args = format!("--nx 16 --rt 0 --json {json} --html {html}");
        refused_in(dir.path(), &args, &["--json and --html", "another path"]);
    }
    fs::write(dir.path().join("hpcg.dat"), "kept").unwrap();
    refused_in(dir.path(), "--nx 16 --json hpcg.dat", &["would overwrite"]);
    assert_eq!(fs::read(dir.path().join("hpcg.dat")).unwrap(), b"kept");
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"kept");
}

#[test]
fn a_short_run_is_valid_and_leaves_report_log_and_json() {
    let dir = tempfile::tempdir().unwrap();
    let output = cubie(dir.path(), "--nx=16 --rt=0 --device cpu --json r.json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("valid, not official"), "{table}");

    let names = files(dir.path());
    let [report, log, json] = &names[..] else {
        panic!("{names:?}");
    };
    let report = fs::read_to_string(dir.path().join(report)).unwrap();
    let harvested = "Final Summary::HPCG result is VALID with a GFLOP/s rating of=";
    assert!(report.contains(harvested), "{report}");
    assert_eq!(report.matches("PASSED").count(), 4, "{report}");
    let log = fs::read_to_string(dir.path().join(log)).unwrap();
    assert!(log.contains("Iteration = 50   Scaled Residual = "), "{log}");
    assert_eq!(json, "r.json");
    let json = fs::read_to_string(dir.path().join(json)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["valid"], true);
    assert_eq!(json["official"], false);
    assert_eq!(json["local"], serde_json::json!([16, 16, 16]));
    assert_eq!(json["sets"]["count"], 1);
    assert!(json["gflops"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_references_spellings_mean_the_same() {
    let global = |dat: Option<&str>, args: &str| {
        let dir = tempfile::tempdir().unwrap();
        if let Some(dat) = dat {
            fs::write(dir.path().join("hpcg.dat"), dat).unwrap();
        }
        let args = format!("{args} --device cpu --quiet --json -");
        let output = cubie(dir.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (json["global"].clone(), json["quick"].clone())
    };
    let expected = (serde_json::json!([16, 24, 16]), serde_json::json!(true));
    assert_eq!(global(None, "hpcg 16 24 16 0"), expected);
    assert_eq!(global(None, "--nx=16 --ny=24 --nz=16 --rt=0"), expected);
    assert_eq!(global(Some("one\ntwo\n16 24 16\n0\n"), ""), expected);
    assert_eq!(global(Some("one\ntwo\n16 24 16\n60\n"), "--rt 0"), expected);
    // Flags win over the file, and a missing side takes the largest given.
    let cube = (serde_json::json!([16, 16, 16]), serde_json::json!(true));
    assert_eq!(global(Some("one\ntwo\nnonsense"), "--nx 16 --rt 0"), cube);
}

#[test]
fn a_run_that_fails_its_checks_exits_with_1() {
    let dir = tempfile::tempdir().unwrap();
    let args = "--nx 16 --rt 0 --device cpu --precision f32";
    let output = cubie(dir.path(), args);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("NOT VALID"), "{table}");
    let report = fs::read_to_string(dir.path().join(&files(dir.path())[0])).unwrap();
    assert!(report.contains("HPCG result is=INVALID."), "{report}");
}

#[test]
fn devices_are_listed_even_where_no_driver_is() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cubie"))
        .arg("devices")
        .current_dir(dir.path())
        .env("VK_ICD_FILENAMES", "/dev/null")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let list = String::from_utf8(output.stdout).unwrap();
    assert!(list.starts_with("cpu  "), "{list}");
    assert!(list.contains("precisions f64, mixed, f32"), "{list}");
}

#[test]
fn validate_compares_every_kernel_in_every_precision() {
    let dir = tempfile::tempdir().unwrap();
    let output = cubie(dir.path(), "validate --device cpu");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    for word in ["f64", "mixed", "f32", "SpMV", "SYMGS", "DDOT", "MG"] {
        assert!(table.contains(word), "no {word} in {table}");
    }
    assert!(!table.contains("FAILED"), "{table}");
    assert!(files(dir.path()).is_empty());
}

#[test]
fn a_plan_starts_nothing_and_its_command_would_fit() {
    let dir = tempfile::tempdir().unwrap();
    let args = "plan --device cpu --fill 0.01 --device-memory 4 --bandwidth 100";
    let output = cubie(dir.path(), args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let plan = String::from_utf8(output.stdout).unwrap();
    let command = "command     cubie hpcg --device 'cpu' --device-memory 4 --nx 32 --ny 32 --nz 40";
    assert!(plan.contains(command), "{plan}");
    assert!(plan.contains("100.0 GB/s, as given"), "{plan}");
    assert!(files(dir.path()).is_empty());
    let output = cubie(dir.path(), &format!("{args} --ranks 4 --threads 1"));
    let plan = String::from_utf8(output.stdout).unwrap();
    let command = "mpirun -n 4 cubie hpcg --device 'cpu' --threads 1 --device-memory 4 --nx";
    assert!(plan.contains(command), "{plan}");
    refused(
        "plan --device cpu --fill 0.001 --device-memory 1",
        &["16 x 16 x 16", "larger --fill"],
    );
    refused("plan --ranks 11", &["11 x 1 x 1", "10 or 12 ranks"]);
}

#[test]
fn a_page_on_the_standard_output_and_a_word_about_flags_of_many_ranks() {
    let dir = tempfile::tempdir().unwrap();
    let args = "--nx 16 --rt 0 --device cpu --quiet --html - --json r.json --halo put-flag";
    let output = cubie(dir.path(), args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(output.stdout.starts_with(b"<!doctype html>"));
    assert!(stderr(&output).contains("GFLOP/s"));
    assert!(!dir.path().join("-").exists());
    let json = fs::read_to_string(dir.path().join("r.json")).unwrap();
    assert!(json.contains("one rank talks to nobody"), "{json}");
}
