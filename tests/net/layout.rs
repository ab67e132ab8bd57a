//! Tables as scripts for the Intel MPI Benchmarks read them: by the lines that begin a table, and by
//! rows of nothing but numbers.

use regex::Regex;

/// One table.
pub(crate) struct Table {
    pub(crate) operation: String,
    pub(crate) processes: usize,
    pub(crate) titles: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// One row; the bytes are 0 where there is no such column.
pub(crate) struct Row {
    pub(crate) bytes: usize,
    pub(crate) repetitions: usize,
    /// What follows, by title.
    pub(crate) numbers: Vec<f64>,
}

/// All tables of an output.
pub(crate) fn tables(text: &str) -> Vec<Table> {
    let begin = Regex::new(r"^# Benchmarking (\S+)\s*$").unwrap();
    let processes = Regex::new(r"^# #processes = (\d+)\s*$").unwrap();
    let titles = Regex::new(r"^\s+(#bytes\s+)?#repetitions(\s+\S+)+$").unwrap();
    let row = Regex::new(r"^\s+\d+(\s+\d+)?(\s+\d+\.\d+)+\s*$").unwrap();
    let mut tables: Vec<Table> = Vec::new();
    for line in text.lines() {
        if let Some(found) = begin.captures(line) {
            tables.push(Table {
                operation: found[1].to_owned(),
                processes: 0,
                titles: Vec::new(),
                rows: Vec::new(),
            });
        } else if let Some(found) = processes.captures(line) {
            tables.last_mut().unwrap().processes = found[1].parse().unwrap();
        } else if titles.is_match(line) {
            let all = line.split_whitespace().map(str::to_owned);
            tables.last_mut().unwrap().titles = all.collect();
        } else if row.is_match(line) {
            let table = tables.last_mut().unwrap();
            let mut fields = line.split_whitespace();
            assert_eq!(fields.clone().count(), table.titles.len(), "{line}");
            let mut whole = || fields.next().unwrap().parse().unwrap();
            let bytes = match table.titles[0].as_str() {
                "#bytes" => whole(),
                _ => 0,
            };
            table.rows.push(Row {
                bytes,
                repetitions: whole(),
                numbers: fields.map(|number| number.parse().unwrap()).collect(),
            });
        } else {
            assert!(line.is_empty() || line.starts_with('#'), "not read: {line}");
        }
    }
    tables
}

impl Table {
    /// The columns of the Intel MPI Benchmarks, and times that are possible.
    pub(crate) fn check(&self) {
        let range = ["t_min[usec]", "t_max[usec]", "t_avg[usec]"];
        let mut titles = vec!["#bytes", "#repetitions"];
        match self.operation.as_str() {
            "PingPong" => titles.extend(["t[usec]", "Mbytes/sec"]),
            "Bcast" | "Allreduce" => titles.extend(range),
            "Barrier" => titles = [&["#repetitions"][..], &range].concat(),
            _ => titles.extend(range.into_iter().chain(["Mbytes/sec"])),
        }
        assert_eq!(self.titles, titles, "{}", self.operation);
        for row in &self.rows {
            assert!((1..=1000).contains(&row.repetitions));
            match self.operation.as_str() {
                "PingPong" => assert!(row.numbers[0] > 0.0),
                _ => {
                    let (least, most, mean) = (row.numbers[0], row.numbers[1], row.numbers[2]);
                    assert!(least <= mean && mean <= most, "{least} {mean} {most}");
                }
            }
        }
    }
}
