//! One box on several devices of a process, through the program.

use std::process::{Command, Output};

use serde_json::Value;

fn output(args: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_cubie"))
        .args(args.split_whitespace())
        .args(["--rt", "0", "--quiet", "--json", "-"])
        .current_dir(dir.path())
        .output()
        .unwrap()
}

fn run(args: &str) -> Value {
    let out = output(args);
    let text = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{args}: {text}");
    serde_json::from_slice(&out.stdout).unwrap()
}

#[test]
fn a_gpu_and_a_cpu_share_a_box_in_given_shares() {
    for (split, heights) in [("1:1", [16, 16]), ("1:3", [8, 24])] {
        let json = run(&format!(
            "--nx 16 --ny 16 --nz 32 --device llvmpipe+cpu --split {split}"
        ));
        let kinds = ["gpu", "cpu"];
        for rank in 0..2 {
            let detail = &json["ranks_detail"][rank];
            assert_eq!(detail["kind"], kinds[rank]);
            assert_eq!(detail["local"][2], heights[rank]);
        }
        assert_eq!(json["global"][2], 32);
        let reasons = json["not_official_because"].as_array().unwrap();
        let told = |word| {
            let mut reasons = reasons.iter().map(|reason| reason.as_str().unwrap());
            reasons.any(|reason| reason.contains(word))
        };
        assert!(told("share one box"), "{reasons:?}");
        assert!(told("partly on GPUs"), "{reasons:?}");
        assert!(!told("--device-memory"), "{reasons:?}");
        let balance = json["balance"].as_f64().unwrap();
        assert!(balance > 0.0 && balance <= 1.0);
    }
}

#[test]
fn a_trial_finds_shares_and_one_device_is_rated_alone_when_asked() {
    let json = run("--nx 16 --ny 16 --nz 32 --device cpu+llvmpipe --compare");
    let heights: Vec<u64> = (0..2)
        .map(|rank| json["ranks_detail"][rank]["local"][2].as_u64().unwrap())
        .collect();
    assert_eq!(heights.iter().sum::<u64>(), 32);
    assert!(
        heights.iter().all(|nz| nz % 8 == 0 && *nz > 0),
        "{heights:?}"
    );
    assert!(json["alone"]["gflops"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_grid_of_the_devices_is_not_that_of_the_first_alone() {
    let json = run(
        "--nx 16 --ny 16 --nz 32 --device cpu+cpu --npx 1 --npy 1 --npz 2 --split 1:1 --threads 1 --compare",
    );
    assert!(json["alone"]["gflops"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_the_first_cannot_do_alone_is_told_before_any_work() {
    let out =
        output("--nx 32 --nz 64 --device llvmpipe+cpu --split 1:7 --device-memory 0.015 --compare");
    let text = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert!(text.contains("leave --compare out"), "{text}");
    assert!(text.contains("memory on the device"), "{text}");
}

#[test]
fn pairs_of_singles_and_doubles_work_together() {
    let json = run("--nx 16 --ny 16 --nz 32 --device llvmpipe+cpu --precision f32x2 --split 1:1");
    assert_eq!(json["precision"], "f32x2");
    assert!(json["true_residual"].as_f64().unwrap() < 1e-12);
}

#[test]
fn ranks_beside_each_other_share_the_box_too() {
    let json = run("--nx 32 --ny 16 --nz 32 --device cpu+cpu --npx 2 --npy 1 --npz 1 --threads 1");
    assert_eq!(json["grid"], serde_json::json!([2, 1, 1]));
    assert_eq!(json["global"], serde_json::json!([32, 16, 32]));
    assert_eq!(
        json["ranks_detail"][1]["local"],
        serde_json::json!([16, 16, 32])
    );
}
