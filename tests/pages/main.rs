//! Saved runs side by side: the table, CSV, the page, and files that are of no use.

mod browser;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// A saved run, as the recorded snapshot has it.
fn saved() -> Value {
    let snapshot = include_str!("../snapshots/report__json.snap");
    let start = snapshot.find("\n{").expect("an object after the head");
    serde_json::from_str(&snapshot[start..]).expect("whole JSON")
}

fn report(dir: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cubie"))
        .arg("report")
        .args(args.split_whitespace())
        .current_dir(dir)
        .output()
        .expect("the program starts")
}

/// The page of some runs, with flags if there are any.
fn page(dir: &Path, args: &str) -> String {
    let output = report(dir, &format!("{args} --html page.html"));
    assert!(output.status.success(), "{output:?}");
    fs::read_to_string(dir.join("page.html")).unwrap()
}

/// A directory with three runs: one as recorded, one on two ranks, one with numbers that are none;
/// and with what `cubie stream` measured on their device.
fn runs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write =
        |name: &str, run: &Value| fs::write(dir.path().join(name), run.to_string()).unwrap();
    write("one.json", &saved());
    let mut ranks = saved();
    ranks["ranks"] = json!(2);
    ranks["processes"] = json!(2);
    ranks["grid"] = json!([2, 1, 1]);
    ranks["halo"] =
        json!({ "transport": "isend", "exchanges": 350, "bytes": 1_000_000, "seconds": 0.5 });
    let rank = |rank: u64| {
        json!({ "rank": rank, "device": "Some <GPU>", "kind": "gpu", "local": [32, 32, 32], "share": 0.5,
            "dot": 1.0, "waxpby": 0.5, "spmv": 2.0, "mg": 10.0, "busy": 8.0, "halo": 0.5, "allreduce": 0.1 })
    };
    ranks["ranks_detail"] = json!([rank(0), rank(1)]);
    write("two.json", &ranks);
    let mut broken = saved();
    broken["times"]["total"] = json!(0.0);
    broken["times"]["setup"] = json!(0.0);
    broken["times"]["optimise"] = json!(0.0);
    for op in ["dot", "waxpby", "spmv", "mg"] {
        broken["times"][op] = json!(0.0);
    }
    broken["checks"]["symmetry"]["passed"] = json!(false);
    broken["optimised"]["scaled_residuals"] = json!([0.1, null, 0.0]);
    write("broken.json", &broken);
    let rows = [("Read", 8_000_000_000_u64), ("Triad", 24_000_000_000)].map(
        |(name, bytes)| json!({ "name": name, "bytes": bytes, "avg": 1.0, "min": 1.0, "max": 1.0 }),
    );
    let stream = json!({ "schema": "cubie stream 1", "skipped": [], "runs": [{
        "device": "Some GPU", "bind": "", "cpus": [], "precision": "f64", "elements": 1_000_000_000, "element_bytes": 8,
        "times": 2, "clock": "a clock", "rows": rows, "check": { "bound": 1e-13, "failures": [] } }] });
    write("stream.json", &stream);
    dir
}

#[test]
fn runs_stand_side_by_side() {
    let dir = runs();
    let table =
        String::from_utf8(report(dir.path(), "one.json two.json broken.json").stdout).unwrap();
    let line = |head: &str| {
        let line = table.lines().find(|line| line.starts_with(head));
        line.unwrap_or_else(|| panic!("no {head} in:\n{table}"))
            .split_whitespace()
            .collect::<Vec<_>>()
    };
    assert_eq!(line("GFLOP/s"), ["GFLOP/s", "1.84466", "1.84466", "–"]);
    assert_eq!(line("ranks"), ["ranks", "1", "2", "1"]);
    let csv = String::from_utf8(report(dir.path(), "one.json two.json --csv").stdout).unwrap();
    let columns: Vec<usize> = csv
        .lines()
        .map(|line| line.replace("valid, not", "valid not").split(',').count())
        .collect();
    assert_eq!(columns.len(), 3);
    assert!(columns.iter().all(|count| *count == columns[0]), "{csv}");
}

#[test]
fn pages_are_whole_and_need_no_network() {
    let dir = runs();
    let page = |runs: &str| {
        let page = page(dir.path(), runs);
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        for word in [
            "http:",
            "https:",
            "<script",
            "<link",
            "url(",
            "points=\"NaN",
            "NaN",
            "nan",
            ">inf",
            "\"inf",
        ] {
            assert!(!page.contains(word), "{word} in {runs}");
        }
        for tag in ["section", "svg", "table", "p", "main"] {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(
                opened,
                page.matches(&format!("</{tag}>")).count(),
                "{tag} in {runs}"
            );
        }
        page
    };
    let one = page("one.json");
    for words in [
        "1.84466",
        "valid, not official",
        "Residual",
        "Time by kernel",
        "reference, natural order",
        "cubie hpcg --nx 64 --ny 32",
    ] {
        assert!(one.contains(words), "no {words}");
    }
    assert!(page("broken.json").contains("–"));
    let all = page("one.json two.json broken.json");
    assert!(all.contains("3 runs side by side") && all.contains("NOT VALID"));
    assert!(all.contains("mpirun -n 2 cubie hpcg --nx 64"));
    assert!(all.contains("Halos by isend: 350 exchanges a rank"));
}

#[test]
fn with_stream_figures_the_page_tells_the_bound() {
    let dir = runs();
    let page = page(dir.path(), "one.json --stream stream.json");
    // 192.85 GB in 18.7011 s of 24 GB/s.
    assert!(
        page.contains("43.0 %") && page.contains("24.0 GB/s") && page.contains("Roofline"),
        "{page}"
    );
}

#[test]
fn files_of_no_use_are_refused() {
    let dir = runs();
    let whole = saved().to_string();
    let mut old = saved();
    old["schema"] = json!("cubie hpcg 0");
    let mut lacking = saved();
    lacking.as_object_mut().unwrap().remove("times");
    let mut of_another_type = saved();
    of_another_type["ranks"] = json!("two");
    let mut without_levels = saved();
    without_levels["levels"] = json!([]);
    for (text, word) in [
        (of_another_type.to_string(), "is not made like one"),
        (without_levels.to_string(), "no levels"),
        (whole[..whole.len() / 2].to_owned(), "not whole JSON"),
        ("{\"a\": 1}".into(), "not cubie's"),
        (old.to_string(), "cubie hpcg 0"),
        (lacking.to_string(), "times"),
    ] {
        fs::write(dir.path().join("bad.json"), text).unwrap();
        let output = report(dir.path(), "one.json bad.json --html page.html");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.starts_with("error: ") && error.contains("bad.json") && error.contains(word),
            "{error}"
        );
        assert!(output.stdout.is_empty() && !dir.path().join("page.html").exists());
    }
    let missing = report(dir.path(), "no.json");
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        String::from_utf8(missing.stderr)
            .unwrap()
            .contains("cannot read 'no.json'")
    );
}

#[test]
fn a_page_goes_to_the_standard_output_but_not_over_what_is_read() {
    let dir = runs();
    let before = fs::read(dir.path().join("one.json")).unwrap();
    let output = report(dir.path(), "one.json --html -");
    assert!(output.status.success());
    assert!(output.stdout.starts_with(b"<!doctype html>"));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("GFLOP/s")
    );
    assert!(!dir.path().join("-").exists());
    for path in ["one.json", "./one.json"] {
        let output = report(dir.path(), &format!("two.json one.json --html {path}"));
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("would overwrite"), "{error}");
    }
    assert_eq!(fs::read(dir.path().join("one.json")).unwrap(), before);
}

#[test]
fn the_command_repeats_the_run() {
    let dir = runs();
    let mut run: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("two.json")).unwrap()).unwrap();
    let mut command = |change: &dyn Fn(&mut Value)| {
        change(&mut run);
        fs::write(dir.path().join("r.json"), run.to_string()).unwrap();
        let page = page(dir.path(), "r.json");
        let (_, rest) = page.split_once("<code>").unwrap();
        rest.split_once("</code>").unwrap().0.to_owned()
    };
    let unequal = command(&|run| {
        run["layers"] = json!([{ "lower_ipz": 0, "upper_ipz": 1, "nz": 16 }, { "lower_ipz": 2, "upper_ipz": 2, "nz": 24 }]);
    });
    assert!(unequal.contains("--pz 2 --zl 16 --zu 24"), "{unequal}");
    let several = command(&|run| run["ranks_detail"][1]["kind"] = json!("cpu"));
    assert!(
        several.contains("mpirun -n 2") && several.contains("--device 'Some &lt;GPU&gt;,cpu'"),
        "{several}"
    );
    let together = command(&|run| {
        run["processes"] = json!(1);
        run["grid"] = json!([1, 1, 2]);
        run["hybrid"] = json!(true);
        run["ranks_detail"][0]["device"] = json!("Some GPU (driver 1, 2)");
        run["ranks_detail"][1]["kind"] = json!("cpu");
    });
    assert!(
        together.starts_with("cubie hpcg --nx 64 --ny 32 --nz 32 --rt 60"),
        "{together}"
    );
    assert!(
        together.contains("--device 'Some GPU (driver 1+cpu' --split 32:32"),
        "{together}"
    );
}
