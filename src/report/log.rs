//! The log beside the report: the phases with their times and the history of the residuals.
//! HPCG: `HPCG_fout`, the file `hpcgYYYYMMDDTHHMMSS.txt`.

use std::fmt::{Display, Write};

use crate::Results;
use crate::number::{counted, g};

/// The log's file name.
pub fn file_name(results: &Results) -> String {
    results
        .started
        .strftime("hpcg%Y%m%dT%H%M%S.txt")
        .to_string()
}

/// The log.
pub fn log(results: &Results) -> String {
    let mut log = Log::default();
    log.line(format_args!(
        "cubie {} on {} ({}), {} with {} each, {}, {}, {}",
        env!("CARGO_PKG_VERSION"),
        results.device.name,
        results.device.backend,
        counted(results.ranks, "rank"),
        counted(results.threads, "thread"),
        results.precision,
        results.order,
        results.format
    ));
    results
        .notices
        .iter()
        .for_each(|notice| log.line(format_args!("Notice: {notice}")));
    for phase in &results.times.phases {
        log.line(format_args!("{} (sec) = {}", phase.name, g(phase.seconds)));
    }
    log.line("Reference CG");
    log.history(
        results.reference.normr0,
        &results.reference.scaled_residuals,
    );
    log.line("Optimised CG");
    log.history(
        results.reference.normr0,
        &results.optimised.scaled_residuals,
    );
    log.line(format_args!("Number of CG sets: {}", results.sets.planned));
    for (set, residual) in results.sets.scaled_residuals.iter().enumerate() {
        log.line(format_args!(
            "Call [{set}] Scaled Residual [{}]",
            g(*residual)
        ));
    }
    if results.cut_short {
        log.line(format_args!(
            "Interrupted after {} of {} sets",
            results.sets.count, results.sets.planned
        ));
    }
    log.line(format_args!(
        "Difference between computed and exact = {}",
        g(results.solution_error.max)
    ));
    log.line(format_args!("True residual = {}", g(results.true_residual)));
    log.0
}

#[derive(Default)]
struct Log(String);

impl Log {
    fn line(&mut self, line: impl Display) {
        writeln!(self.0, "{line}").expect("a String takes everything");
    }

    fn history(&mut self, normr0: f64, scaled_residuals: &[f64]) {
        self.line(format_args!("Initial Residual = {}", g(normr0)));
        for (k, residual) in (1..).zip(scaled_residuals) {
            let residual = g(*residual);
            self.line(format_args!(
                "Iteration = {k}   Scaled Residual = {residual}"
            ));
        }
    }
}
