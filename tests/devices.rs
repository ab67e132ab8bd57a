//! Whole runs of the program on every GPU there is, software ones included: what a user would see.
//!
//! No adapter at all is a failure, not a skip; `tests/run.sh` installs two software ones.

use std::process::{Command, Output};

use cubie::gpu::{Adapter, adapters};
use serde_json::Value;

/// The adapters that `wanted` holds for, at least one.
fn devices(wanted: &str, is_wanted: impl Fn(&Adapter) -> bool) -> Vec<Adapter> {
    let found: Vec<_> = adapters().into_iter().filter(is_wanted).collect();
    assert!(
        !found.is_empty(),
        "no GPU {wanted}, so nothing was tested; tests/run.sh installs software ones"
    );
    found
}

fn all_devices() -> Vec<Adapter> {
    devices("at all", |_| true)
}

fn cubie(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cubie"));
    command.args(args.split_whitespace());
    command
}

fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program starts");
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
    (status.code(), stdout, stderr)
}

/// The results of a valid run in the quick path.
#[track_caller]
fn run(args: &str) -> Value {
    let reports = tempfile::tempdir().unwrap();
    let args = format!("hpcg --rt 0 --quiet --json - {args}");
    let (code, stdout, stderr) = output(cubie(&args).arg("--output").arg(reports.path()));
    assert_eq!(code, Some(0), "{args}: {stderr}");
    let json: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["valid"], true, "{args}: {json:#}");
    json
}

/// ‖r‖/‖r0‖ after each iteration of the optimised CG.
fn history(json: &Value) -> Vec<f64> {
    let list = json["optimised"]["scaled_residuals"].as_array().unwrap();
    list.iter().map(|value| value.as_f64().unwrap()).collect()
}

/// All numbers of a run that its speed has no part in.
fn numbers(json: &Value) -> Vec<&Value> {
    ["optimised", "sets", "true_residual", "solution_error"]
        .map(|key| &json[key])
        .to_vec()
}

#[test]
fn double_precision_has_the_cpus_history() {
    let cpu = history(&run("--nx 32 --device cpu --precision f64"));
    for adapter in devices("with double precision", |adapter| adapter.f64) {
        let device = adapter.index;
        let json = run(&format!("--nx 32 --device {device} --precision f64"));
        assert_eq!(json["device"]["kind"], "gpu");
        assert_eq!(json["device"]["name"], adapter.name);
        let gpu = history(&json);
        assert!(gpu.len() > 18 && cpu.len() > 18);
        for (k, (ours, theirs)) in gpu.iter().zip(&cpu).enumerate().take(18) {
            assert!(
                (ours / theirs - 1.0).abs() < 1e-10,
                "{} after {} iterations: {ours:e}, the CPU {theirs:e}",
                adapter.name,
                k + 1
            );
        }
    }
}

#[test]
fn pairs_of_singles_are_valid_in_55_iterations() {
    valid_within("f32x2", 55);
}

#[test]
fn mixed_precision_is_valid_in_60_iterations() {
    valid_within("mixed", 60);
}

fn valid_within(precision: &str, most: u64) {
    for adapter in all_devices() {
        let args = format!("--nx 48 --device {} --precision {precision}", adapter.index);
        let json = run(&args);
        let used = json["optimised"]["iterations"].as_u64().unwrap();
        assert!(used <= most, "{}: {used} iterations", adapter.name);
        assert_eq!(json["precision"], precision);
        assert_eq!(json["official"], false);
    }
}

#[test]
fn the_same_run_gives_the_same_bits_and_so_do_small_bindings() {
    for adapter in all_devices() {
        for precision in ["auto", "mixed"] {
            let args = format!(
                "--nx 32 --ny 24 --nz 16 --device {} --precision {precision}",
                adapter.index
            );
            let first = run(&args);
            let again = run(&args);
            let panels = run(&format!("{args} --binding-limit 1"));
            assert!(history(&first).len() >= 40);
            assert_eq!(numbers(&first), numbers(&again), "{}", adapter.name);
            assert_eq!(numbers(&first), numbers(&panels), "{}", adapter.name);
        }
    }
}

#[test]
fn every_kernel_is_near_its_twin() {
    for adapter in all_devices() {
        let (code, stdout, stderr) =
            output(&mut cubie(&format!("validate --device {}", adapter.index)));
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        assert!(stdout.contains(&adapter.name), "{stdout}");
        assert!(stdout.contains("SYMGS"), "{stdout}");
        assert_eq!(stdout.contains("\nf64 "), adapter.f64, "{stdout}");
    }
}

#[test]
fn double_precision_is_refused_where_there_is_none() {
    for adapter in devices("without double precision", |adapter| !adapter.f64) {
        let args = format!("--nx 16 --device {} --precision f64", adapter.index);
        let (code, stdout, stderr) = output(&mut cubie(&args));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        for word in [&adapter.name, "f64", "f32x2, mixed, f32"] {
            assert!(stderr.contains(word), "no '{word}' in: {stderr}");
        }
    }
}

#[test]
fn devices_are_listed() {
    let (code, stdout, stderr) = output(&mut cubie("devices"));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.starts_with("cpu "), "{stdout}");
    for adapter in all_devices() {
        let line = format!("\n{:<5}{}\n", adapter.index, adapter.name);
        assert!(stdout.contains(&line), "{stdout}");
    }
}

/// A program that finds no Vulkan driver, and looks for nothing else.
#[cfg(target_os = "linux")]
fn without_drivers(args: &str) -> Command {
    let mut command = cubie(args);
    command
        .env("VK_ICD_FILENAMES", "/dev/null")
        .env_remove("VK_DRIVER_FILES")
        .env_remove("VK_ADD_DRIVER_FILES");
    command
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_driver_a_named_gpu_is_refused() {
    for device in ["gpu", "0", "llvmpipe"] {
        let args = format!("--nx 16 --rt 0 --device {device}");
        let (code, stdout, stderr) = output(&mut without_drivers(&args));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        let expected = format!("error: there is no GPU '{device}'");
        assert!(stderr.starts_with(&expected), "{stderr}");
        assert!(stderr.contains("install your GPU's driver"), "{stderr}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_driver_the_cpu_is_rated() {
    let reports = tempfile::tempdir().unwrap();
    let mut command = without_drivers("--nx 16 --rt 0 --quiet --json -");
    let (code, stdout, stderr) = output(command.arg("--output").arg(reports.path()));
    assert_eq!(code, Some(0), "{stderr}");
    let json: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["device"]["kind"], "cpu");
    assert_eq!(json["valid"], true);
}
