//! Many processes under `mpirun` (another launcher in `MPIRUN`): builds with `--features mpi`.
#![cfg(feature = "mpi")]

#[path = "net/layout.rs"]
mod layout;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cubie::device::Device;
use cubie::params::{DeviceChoice, Params};
use cubie::progress::Silent;
use cubie::{Error, Precision, Results, benchmark};
use cubie_host::comm::{Reduce, Transport, threads};
use cubie_host::geometry::process_grid;
use cubie_host::{Grid, Order, Ranks};
use serde_json::Value;

fn launcher() -> String {
    std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".into())
}

/// Whether so many ranks are tried: MPICH's never sleep, so that they take turns of whole time
/// slices where there are more of them than cores.
fn is_tried(ranks: usize) -> bool {
    ranks <= 2 || !launcher().contains("mpich")
}

fn mpirun(ranks: usize, args: &str, dir: &Path) -> Command {
    let mut command = Command::new(launcher());
    // Root, more ranks than cores, and OpenSHMEM's end: see the README.
    command
        .args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_cubie")])
        .args(args.split_whitespace())
        .current_dir(dir)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("OMPI_MCA_memory", "^patcher")
        .stdin(Stdio::null());
    command
}

fn output(ranks: usize, args: &str, dir: &Path) -> Output {
    mpirun(ranks, args, dir).output().expect("mpirun starts")
}

/// Runs on so many ranks and returns the JSON; the run must be valid.
fn run(ranks: usize, args: &str) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let out = output(
        ranks,
        &format!("{args} --rt 0 --quiet --json r.json"),
        dir.path(),
    );
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{ranks} ranks {args}: {text}");
    serde_json::from_slice(&std::fs::read(dir.path().join("r.json")).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

/// The transports of this build and this MPI: OpenSHMEM comes with Open MPI only.
fn transports() -> Vec<Transport> {
    let shmem = |t: &Transport| matches!(t, Transport::ShmemBarrier | Transport::ShmemFlag);
    Transport::ALL
        .into_iter()
        .filter(|t| cfg!(feature = "shmem") || !shmem(t))
        .collect()
}

/// The same run with ranks as threads.
fn as_threads(ranks: usize, n: usize) -> Results {
    let params = Params {
        grid: Grid::uniform(process_grid(ranks), [n; 3]),
        seconds: 0,
        device: DeviceChoice::Cpu,
        hybrid: None,
        precision: Some(Precision::F64),
        order: Order::COLOR8,
        format: None,
        threads: 1,
        binding_limit: None,
        device_memory: None,
        notices: Vec::new(),
    };
    let all = threads::run(ranks, |comm| {
        let ranks = Ranks::new(Box::new(comm), Transport::Isend, Reduce::Ordered);
        let device = Device::open(&params, ranks.rank())?;
        benchmark::run(
            &params,
            &device,
            &ranks,
            &mut Silent,
            &AtomicBool::new(false),
        )
    });
    all.unwrap_or_else(|error: Error| panic!("{error}"))
        .into_iter()
        .next()
        .unwrap()
}

#[test]
fn all_transports_give_the_bits_of_ranks_as_threads() {
    for ranks in [1, 2, 4, 8].into_iter().filter(|&ranks| is_tried(ranks)) {
        let expected = as_threads(ranks, 16).optimised.scaled_residuals;
        for transport in transports() {
            let args =
                format!("--nx 16 --device cpu --threads 1 --reduce ordered --halo {transport}");
            let json = run(ranks, &args);
            assert_eq!(
                numbers(&json["optimised"]["scaled_residuals"]),
                expected,
                "{ranks} {transport}"
            );
            assert_eq!(json["ranks"], ranks);
            assert_eq!(json["ranks_detail"].as_array().unwrap().len(), ranks);
            if ranks > 1 {
                assert_eq!(json["halo"]["transport"], transport.name());
                assert!(json["halo"]["bytes"].as_f64().unwrap() > 0.0);
            }
        }
    }
}

#[test]
fn the_reference_gives_the_recorded_rank_histories() {
    let recorded: Value = serde_json::from_str(include_str!("data/recorded.json")).unwrap();
    let runs = [("ranks2_32x32x32", 2, 32), ("ranks8_16x16x16", 8, 16)];
    for (name, ranks, n) in runs.into_iter().filter(|run| is_tried(run.1)) {
        let json = run(ranks, &format!("--nx {n} --device cpu --threads 1"));
        let ours = numbers(&json["reference"]["scaled_residuals"]);
        let theirs = numbers(&recorded[name]["history"]["REF"]["scaled_residual_iter_1_to_n"]);
        for (k, (ours, theirs)) in ours.iter().zip(&theirs).enumerate().take(20) {
            assert!(
                (ours / theirs - 1.0).abs() < 1e-11,
                "{name} after {}: {ours:e}, {theirs:e}",
                k + 1
            );
        }
    }
}

#[test]
fn ranks_on_lavapipe_agree_with_ranks_on_the_cpu() {
    for ranks in [1, 2] {
        let args = |device| {
            format!("--nx 16 --threads 1 --precision f64 --reduce ordered --device {device}")
        };
        let gpu = run(ranks, &args("llvmpipe"));
        let cpu = run(ranks, &args("cpu"));
        let [gpu, cpu] = [gpu, cpu].map(|json| numbers(&json["optimised"]["scaled_residuals"]));
        for (k, (gpu, cpu)) in gpu.iter().zip(&cpu).enumerate().take(15) {
            assert!(
                (gpu / cpu - 1.0).abs() < 1e-10,
                "{ranks} ranks after {}: {gpu:e}, {cpu:e}",
                k + 1
            );
        }
    }
}

#[test]
fn some_ranks_on_gpus_and_some_on_cpus_with_unequal_boxes() {
    let args =
        "--nx 16 --npx 1 --npy 1 --npz 2 --pz 1 --zl 16 --zu 24 --device llvmpipe,cpu --threads 1";
    let json = run(2, args);
    assert_eq!(json["ranks_detail"][0]["kind"], "gpu");
    assert_eq!(json["ranks_detail"][1]["kind"], "cpu");
    assert_eq!(json["ranks_detail"][1]["local"][2], 24);
}

#[test]
fn the_network_is_measured_on_some_ranks_and_on_all() {
    let shmem = |t: &Transport| matches!(t, Transport::ShmemBarrier | Transport::ShmemFlag);
    for ranks in [2, 4].into_iter().filter(|&ranks| is_tried(ranks)) {
        let dir = tempfile::tempdir().unwrap();
        let args = "net --max-bytes 16 --nx 16 --time 0.02 --json n.json";
        let out = output(ranks, args, dir.path());
        let text = String::from_utf8_lossy(&out.stdout);
        let error = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{ranks} ranks: {error}");
        let mut expected = vec![("PingPong".to_owned(), 2)];
        let counts = if ranks == 2 { &[2][..] } else { &[2, 4] };
        for operation in ["Exchange", "Bcast", "Allreduce", "Barrier"] {
            expected.extend(counts.iter().map(|&count| (operation.to_owned(), count)));
        }
        for &count in counts {
            // OpenSHMEM works on all ranks only.
            let all = transports().into_iter();
            let there = all.filter(|transport| count == ranks || !shmem(transport));
            expected.extend(there.map(|transport| (format!("Halo-{transport}"), count)));
        }
        let tables = layout::tables(&text);
        let found = tables.iter().map(|t| (t.operation.clone(), t.processes));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        for table in &tables {
            table.check();
            let sizes: Vec<usize> = table.rows.iter().map(|row| row.bytes).collect();
            match table.operation.as_str() {
                "Barrier" => assert_eq!(sizes, [0]),
                "Allreduce" => assert_eq!(sizes, [0, 4, 8, 16]),
                name if name.starts_with("Halo") => assert_eq!(sizes.len(), 4),
                _ => assert_eq!(sizes, [0, 1, 2, 4, 8, 16]),
            }
        }
        let json: Value =
            serde_json::from_slice(&std::fs::read(dir.path().join("n.json")).unwrap()).unwrap();
        assert_eq!(json["ranks"], ranks);
        assert_eq!(json["ranks_a_machine"], ranks);
        let library = json["library"].as_str().unwrap();
        assert!(library.contains("MPI"), "{library}");
    }
}

#[test]
fn what_all_ranks_know_is_said_once() {
    let dir = tempfile::tempdir().unwrap();
    for (ranks, args, words) in [
        (2, "--nx 20 --rt 0", "multiple of 8"),
        (2, "--nx zero", "--nx"),
        (11, "--nx 16 --rt 0", "use 10 or 12 ranks"),
        (4, "--nx 16 --rt 0 --npx 3 --npy 1 --npz 1", "3 ranks"),
        (2, "net --ranks 3", "leave --ranks out"),
        (2, "net --nx 20", "multiple of 8"),
        (2, "net --json missing/n.json", "another path"),
        (2, "--nx 16 --rt 0 --device cpu+cpu+cpu", "3 devices"),
        (2, "--nx 16 --rt 0 --device cpu+cpu --compare", "--compare"),
        (
            2,
            "--nx 16 --rt 0 --device cpu --precision f32x2",
            "a CPU cannot",
        ),
        (2, "stream --device cpu", "without mpirun"),
        (2, "plan --device cpu,cpu", "one --device"),
        (2, "explain missing.json", "cannot read"),
    ] {
        let out = output(ranks, args, dir.path());
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args}: {text}");
        assert_eq!(text.matches("error: ").count(), 1, "{args}: {text}");
        assert!(text.contains(words), "{args}: {text}");
    }
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        0,
        "nothing is written"
    );
}

/// Devices that share a box, as processes: as thick as told, or as tried out.
#[test]
fn devices_share_a_box_under_mpirun_as_they_do_in_one_process() {
    let shares = |args: &str| {
        let json = run(2, &format!("--nx 16 --ny 16 --nz 32 --threads 1 {args}"));
        assert_eq!(json["hybrid"], true);
        assert_eq!(json["processes"], 2);
        assert_eq!(json["global"][2], 32);
        [0, 1].map(|rank| {
            let detail = &json["ranks_detail"][rank];
            let kind = detail["kind"].as_str().unwrap().to_owned();
            (kind, detail["local"][2].as_u64().unwrap())
        })
    };
    let given = shares("--device llvmpipe+cpu --split 1:3");
    assert_eq!(given, [("gpu".into(), 8), ("cpu".into(), 24)]);
    // Nobody plays a GPU as fast as a CPU is.
    let tried = shares("--device cpu+llvmpipe");
    assert_eq!(tried, [("cpu".into(), 24), ("gpu".into(), 8)]);
}

#[test]
fn commands_of_one_process_speak_once() {
    let dir = tempfile::tempdir().unwrap();
    for (args, words) in [
        ("plan --device cpu --bandwidth 20", "command "),
        ("validate --device cpu --precision f64", "V-cycle steps"),
        (
            "explain --nx 16 --rt 0 --device cpu --threads 1",
            "The run reached",
        ),
    ] {
        let out = output(2, args, dir.path());
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success(), "{args}: {text}");
        assert_eq!(text.matches(words).count(), 1, "{args}: {text}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// Starts a long run on two ranks; returns it and the process numbers of the ranks.
fn long_run(n: usize, dir: &Path) -> (Child, Vec<String>) {
    let args = format!("--nx {n} --rt 300 --device cpu --threads 1 --quiet");
    let mut command = mpirun(2, &args, dir);
    let child = command
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The ranks are the processes that run this binary in this directory.
    let ranks = || {
        let is_rank = |pid: &String| {
            let link = |name| std::fs::read_link(format!("/proc/{pid}/{name}"));
            link("cwd").is_ok_and(|cwd| cwd == dir)
                && link("exe").is_ok_and(|exe| exe == Path::new(env!("CARGO_BIN_EXE_cubie")))
        };
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(is_rank).collect::<Vec<_>>()
    };
    let start = Instant::now();
    while ranks().len() < 2 {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the ranks do not start"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    (child, ranks())
}

fn kill(signal: &str, process: &str) {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -{signal} {process}")])
        .status();
    assert!(status.unwrap().success());
}

/// Whoever ends a rank in order gets the report of all: what came so far, and not official.
#[test]
fn an_interrupted_run_reports_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let (child, ranks) = long_run(16, dir.path());
    std::thread::sleep(Duration::from_secs(5));
    kill("TERM", &ranks[1]);
    let out = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("valid, not official"), "{text}");
    let report = std::fs::read_dir(dir.path())
        .unwrap()
        .flatten()
        .find(|file| {
            let name = file.file_name();
            name.to_string_lossy().starts_with("HPCG-Benchmark")
        });
    let report = std::fs::read_to_string(report.expect("a report").path()).unwrap();
    assert!(report.contains("Cut short=yes"), "{report}");
}

/// Ctrl-C at `mpirun`: it may end the ranks before they report, but nothing is half-written.
#[test]
fn an_interrupted_mpirun_leaves_a_word_and_whole_files() {
    let dir = tempfile::tempdir().unwrap();
    let (child, _) = long_run(32, dir.path());
    std::thread::sleep(Duration::from_secs(3));
    kill("INT", &child.id().to_string());
    let out = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&out.stderr);
    assert_eq!(text.matches("told to stop").count(), 1, "{text}");
    let files = std::fs::read_dir(dir.path()).unwrap().flatten();
    assert!(
        files
            .filter(|file| file.path().extension() == Some("part".as_ref()))
            .count()
            == 0
    );
}

#[test]
fn a_killed_rank_takes_the_run_down() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, ranks) = long_run(32, dir.path());
    std::thread::sleep(Duration::from_secs(2));
    let killed = Instant::now();
    kill("9", &ranks[1]);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(
            killed.elapsed() < Duration::from_secs(30),
            "the run goes on without a rank"
        );
        std::thread::sleep(Duration::from_millis(100));
    };
    assert!(!status.success());
    let out = child.wait_with_output().unwrap();
    assert!(
        out.stdout.len() + out.stderr.len() > 0,
        "somebody says what happened"
    );
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        0,
        "nothing looks like a result"
    );
}
