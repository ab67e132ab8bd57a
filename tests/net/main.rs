//! `cubie net` with ranks as threads: what scripts for the Intel MPI Benchmarks read, what it refuses,
//! and whether it notices messages that arrive changed.

mod faults;
mod layout;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use layout::tables;

fn net(dir: &Path, args: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cubie"))
        .arg("net")
        .args(args.split_whitespace())
        .current_dir(dir)
        .output()
        .expect("the program starts")
}

fn out(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn every_operation_has_its_table_on_every_number_of_ranks() {
    let dir = tempfile::tempdir().unwrap();
    for (ranks, counts) in [(2, &[2][..]), (4, &[2, 4]), (3, &[2, 3])] {
        let args = format!("--ranks {ranks} --max-bytes 20 --nx 16 --time 0.02 --json n.json");
        let text = out(&net(dir.path(), &args));
        let tables = tables(&text);
        let mut expected = vec![("PingPong".to_owned(), 2)];
        for operation in ["Exchange", "Bcast", "Allreduce", "Barrier"] {
            expected.extend(counts.iter().map(|&count| (operation.to_owned(), count)));
        }
        for &count in counts {
            let halos = ["Halo-isend", "Halo-put-barrier", "Halo-put-flag"];
            expected.extend(halos.map(|halo| (halo.to_owned(), count)));
        }
        let found: Vec<_> = tables
            .iter()
            .map(|table| (table.operation.clone(), table.processes))
            .collect();
        assert_eq!(found, expected, "{text}");
        for table in &tables {
            table.check();
            let sizes: Vec<usize> = table.rows.iter().map(|row| row.bytes).collect();
            match table.operation.as_str() {
                "Barrier" => assert_eq!(sizes, [0]),
                "Allreduce" => assert_eq!(sizes, [0, 4, 8, 16]),
                // Faces of 16 x 16, 8 x 8, 4 x 4 and 2 x 2 points, and an edge where 4 ranks meet.
                name if name.starts_with("Halo") => {
                    let face = |n: usize| 8 * n * n;
                    let bytes = |n| match table.processes {
                        2 => face(n),
                        3 => 2 * face(n),
                        _ => 2 * face(n) + 8 * n,
                    };
                    assert_eq!(sizes, [16, 8, 4, 2].map(bytes), "{text}");
                }
                _ => assert_eq!(sizes, [0, 1, 2, 4, 8, 16]),
            }
        }
        let saved = std::fs::read_to_string(dir.path().join("n.json")).unwrap();
        let saved: Value = serde_json::from_str(&saved).unwrap();
        assert_eq!(saved["schema"], "cubie net 1");
        assert_eq!(saved["tables"].as_array().unwrap().len(), tables.len());
        assert_eq!(saved["ranks"], ranks);
    }
}

#[test]
fn json_and_csv_tell_what_the_tables_tell() {
    let dir = tempfile::tempdir().unwrap();
    let args = "exchange allreduce --ranks 2 --max-bytes 4096 --time 0.05 --csv --json n.json";
    let csv = out(&net(dir.path(), args));
    let saved = std::fs::read_to_string(dir.path().join("n.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    let mut lines = csv.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("operation,processes,bytes,repetitions,")
    );
    for table in saved["tables"].as_array().unwrap() {
        let fit = &table["fit"];
        assert_eq!(fit["range"][1], 4096);
        let seconds = |row: &Value| {
            let bytes = row["bytes"].as_f64().unwrap();
            fit["alpha"].as_f64().unwrap() + bytes * fit["seconds_a_byte"].as_f64().unwrap()
        };
        let mut squares = 0.0;
        for row in table["rows"].as_array().unwrap() {
            let fields: Vec<&str> = lines.next().unwrap().split(',').collect();
            assert_eq!(fields.len(), 11);
            assert_eq!(fields[0], table["operation"]);
            assert_eq!(fields[2], row["bytes"].to_string());
            let slowest = row["max"].as_f64().unwrap();
            assert!((fields[5].parse::<f64>().unwrap() - 1e6 * slowest).abs() < 1e-3);
            if row["bytes"] != 0 {
                squares += (seconds(row) / slowest - 1.0).powi(2);
            }
        }
        let points = fit["points"].as_f64().unwrap();
        let error = fit["error"].as_f64().unwrap();
        assert!((error - (squares / points).sqrt()).abs() < 1e-9, "{error}");
    }
    assert_eq!(lines.next(), None);
    // The standard output is for JSON alone.
    let json = out(&net(dir.path(), "barrier --ranks 2 --json -"));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["tables"][0]["operation"], "Barrier");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |args: &str, words: &[&str]| {
        let output = net(dir.path(), args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}: {error}");
        assert!(error.starts_with("error: "), "{args}: {error}");
        assert_eq!(error.matches("error: ").count(), 1, "{args}: {error}");
        for word in words {
            assert!(error.contains(word), "{args}: no '{word}' in: {error}");
        }
        assert!(output.stdout.is_empty(), "{args}");
    };
    refused("", &["mpirun -n 2", "--ranks 2"]);
    refused("pingpong --ranks 1", &["mpirun -n 2", "--ranks 2"]);
    refused("--ranks 0", &["2 to 1024"]);
    refused("sendrecv --ranks 2", &["pingpong, exchange, bcast"]);
    refused("--ranks 2 --max-bytes 0", &["1073741824"]);
    refused("--ranks 2 --max-bytes 1073741825", &["1073741824"]);
    refused("--ranks 1024 --max-bytes 1073741824", &["--max-bytes"]);
    refused("--ranks 2 --time 0", &["above 0"]);
    refused("--ranks 2 --nx 20", &["multiple of 8"]);
    refused("--ranks 2 --json missing/n.json", &["another path"]);
}
