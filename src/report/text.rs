//! The official report file of HPCG 3.1: the same keys in the same order, then our own sections.
//! HPCG: `ReportResults`, the file `HPCG-Benchmark_3.1_YYYY-MM-DD_HH-MM-SS.txt`.

use super::document::Document;
use crate::results::{OFFICIAL_SECONDS, Results};
use crate::{Op, Precision};

/// HPCG's title for the symmetry test. What is computed squares the norms; the title is kept
/// because scripts look for it.
const SYMMETRY: &str = "Departure from Symmetry |x'Ay-y'Ax|/(2*||x||*||A||*||y||)/epsilon";

/// The report's file name.
pub fn file_name(results: &Results) -> String {
    let name = results
        .started
        .strftime("HPCG-Benchmark_3.1_%Y-%m-%d_%H-%M-%S.txt");
    name.to_string()
}

/// The report.
pub fn text(results: &Results) -> String {
    let mut doc = Document::default();
    doc.line("HPCG-Benchmark");
    doc.line("version=3.1");
    doc.line("Release date=March 28, 2019");
    machine(&mut doc, results);
    doc.banner("Problem Summary "); // two spaces before the #, as HPCG has it
    problem(&mut doc, results);
    doc.banner("Memory Use Summary ");
    memory(&mut doc, results);
    doc.banner("V&V Testing Summary ");
    checks(&mut doc, results);
    doc.banner("Performance Summary (times in sec)");
    performance(&mut doc, results);
    final_summary(&mut doc, results);
    super::own::sections(&mut doc, results);
    doc.finish()
}

fn passed(passed: bool) -> &'static str {
    if passed { "PASSED" } else { "FAILED" }
}

fn machine(doc: &mut Document, results: &Results) {
    doc.group("Machine Summary")
        .add("Distributed Processes", &results.ranks)
        .add("Threads per processes", &results.threads);
    doc.group("Global Problem Dimensions")
        .add("Global nx", &results.global[0])
        .add("Global ny", &results.global[1])
        .add("Global nz", &results.global[2]);
    doc.group("Processor Dimensions")
        .add("npx", &results.grid[0])
        .add("npy", &results.grid[1])
        .add("npz", &results.grid[2]);
    let mut local = doc.group("Local Domain Dimensions");
    local
        .add("nx", &results.local[0])
        .add("ny", &results.local[1]);
    for layer in &results.layers {
        local
            .add("Lower ipz", &layer.lower_ipz)
            .add("Upper ipz", &layer.upper_ipz)
            .add("nz", &layer.nz);
    }
}

fn problem(doc: &mut Document, results: &Results) {
    doc.group("Setup Information")
        .add("Setup Time", &results.times.setup);
    doc.group("Linear System Information")
        .add("Number of Equations", &results.levels[0].rows)
        .add("Number of Nonzero Terms", &results.levels[0].nnz);
    let mut multigrid = doc.group("Multigrid Information");
    multigrid.add(
        "Number of coarse grid levels",
        &(results.levels.len() as u64 - 1),
    );
    let mut coarse = multigrid.group("Coarse Grids");
    for (level, size) in (1u64..).zip(&results.levels[1..]) {
        coarse
            .add("Grid Level", &level)
            .add("Number of Equations", &size.rows)
            .add("Number of Nonzero Terms", &size.nnz)
            .add("Number of Presmoother Steps", &1u64)
            .add("Number of Postsmoother Steps", &1u64);
    }
}

fn memory(doc: &mut Document, results: &Results) {
    let memory = &results.memory;
    let gbytes = |bytes: u64| bytes as f64 / 1e9;
    let total = memory.host + memory.device;
    let mut usage = doc.group("Memory Use Information");
    usage
        .add("Total memory used for data (Gbytes)", &gbytes(total))
        .add(
            "Memory used for OptimizeProblem data (Gbytes)",
            &gbytes(memory.optimise),
        )
        .add(
            "Bytes per equation (Total memory / Number of Equations)",
            &(total as f64 / results.levels[0].rows as f64),
        )
        .add(
            "Memory used for linear system and CG (Gbytes)",
            &gbytes(memory.levels[0]),
        );
    let mut coarse = usage.group("Coarse Grids");
    for (level, &bytes) in (1u64..).zip(&memory.levels[1..]) {
        coarse
            .add("Grid Level", &level)
            .add("Memory used", &gbytes(bytes));
    }
}

fn checks(doc: &mut Document, results: &Results) {
    let checks = &results.checks;
    let mut spectral = doc.group("Spectral Convergence Tests");
    spectral.add("Result", passed(checks.spectral.passed));
    spectral
        .group("Unpreconditioned")
        .add("Maximum iteration count", &checks.spectral.unpreconditioned)
        .add(
            "Expected iteration count",
            &checks.spectral.unpreconditioned_expected,
        );
    spectral
        .group("Preconditioned")
        .add("Maximum iteration count", &checks.spectral.preconditioned)
        .add(
            "Expected iteration count",
            &checks.spectral.preconditioned_expected,
        );
    doc.group(SYMMETRY)
        .add("Result", passed(checks.symmetry.passed))
        .add("Departure for SpMV", &checks.symmetry.spmv)
        .add("Departure for MG", &checks.symmetry.mg);

    doc.banner("Iterations Summary ");
    let (reference, optimised) = (
        results.reference.iterations,
        results.optimised.iterations_per_set,
    );
    doc.group("Iteration Count Information")
        .add("Result", passed(checks.iterations.passed))
        .add("Reference CG iterations per set", &reference)
        .add("Optimized CG iterations per set", &optimised)
        .add(
            "Total number of reference iterations",
            &(reference * results.sets.count),
        )
        .add(
            "Total number of optimized iterations",
            &(optimised * results.sets.count),
        );

    doc.banner("Reproducibility Summary ");
    doc.group("Reproducibility Information")
        .add("Result", passed(checks.norms.passed))
        .add("Scaled residual mean", &checks.norms.mean)
        .add("Scaled residual variance", &checks.norms.variance);
}

fn performance(doc: &mut Document, results: &Results) {
    let times = &results.times;
    let counts = results.counts();
    let rating = results.rating();
    let credited = results.credited();

    doc.group("Benchmark Time Summary")
        .add("Optimization phase", &times.optimise)
        .add("DDOT", &times.ops[Op::Dot])
        .add("WAXPBY", &times.ops[Op::Waxpby])
        .add("SpMV", &times.ops[Op::Spmv])
        .add("MG", &times.ops[Op::Mg])
        .add("Total", &times.total);

    let flops = counts.flops;
    doc.group("Floating Point Operations Summary")
        .add("Raw DDOT", &flops[Op::Dot])
        .add("Raw WAXPBY", &flops[Op::Waxpby])
        .add("Raw SpMV", &flops[Op::Spmv])
        .add("Raw MG", &flops[Op::Mg])
        .add("Total", &flops.sum())
        .add("Total with convergence overhead", &(credited * flops.sum()));

    let gbytes_per_second = |bytes: f64, seconds: f64| bytes / seconds / 1e9;
    let (reads, writes) = (counts.reads.sum(), counts.writes.sum());
    doc.group("GB/s Summary")
        .add("Raw Read B/W", &gbytes_per_second(reads, times.total))
        .add("Raw Write B/W", &gbytes_per_second(writes, times.total))
        .add(
            "Raw Total B/W",
            &gbytes_per_second(reads + writes, times.total),
        )
        .add(
            "Total with convergence and optimization phase overhead",
            &gbytes_per_second(credited * (reads + writes), results.charged_seconds()),
        );

    doc.group("GFLOP/s Summary")
        .add("Raw DDOT", &results.gflops_of(Op::Dot))
        .add("Raw WAXPBY", &results.gflops_of(Op::Waxpby))
        .add("Raw SpMV", &results.gflops_of(Op::Spmv))
        .add("Raw MG", &results.gflops_of(Op::Mg))
        .add("Raw Total", &rating.raw)
        .add("Total with convergence overhead", &rating.convergence)
        .add(
            "Total with convergence and optimization phase overhead",
            &rating.official,
        );

    doc.group("User Optimization Overheads")
        .add("Optimization phase time (sec)", &times.optimise)
        .add(
            "Optimization phase time vs reference SpMV+MG time",
            &(times.optimise / results.reference.spmv_mg_seconds),
        );
    if let Some(allreduce) = &times.allreduce {
        doc.group("DDOT Timing Variations")
            .add("Min DDOT MPI_Allreduce time", &allreduce.min)
            .add("Max DDOT MPI_Allreduce time", &allreduce.max)
            .add("Avg DDOT MPI_Allreduce time", &allreduce.avg);
    }
}

/// Scripts harvest the line `HPCG result is VALID ...`; only IEEE double may print it.
fn final_summary(doc: &mut Document, results: &Results) {
    let rating = results.rating();
    let mut summary = doc.group("Final Summary");
    let own_result = format!("cubie result ({}) GFLOP/s", results.precision);
    match (results.is_valid(), results.precision) {
        (true, Precision::F64) => {
            summary
                .add(
                    "HPCG result is VALID with a GFLOP/s rating of",
                    &rating.official,
                )
                .add(
                    "HPCG 2.4 rating for historical reasons is",
                    &rating.historical,
                );
            if results.is_official() {
                summary.add(
                    "Please upload results from the YAML file contents to",
                    "http://hpcg-benchmark.org",
                );
            } else if results.times.total < OFFICIAL_SECONDS {
                summary.add(
                    "Results are valid but execution time (sec) is",
                    &results.times.total,
                );
                if results.is_quick() {
                    summary
                        .add("You have selected the QuickPath option", "Results are official for legacy installed systems with confirmation from the HPCG Benchmark leaders.")
                        .add(
                            "After confirmation please upload results from the YAML file contents to",
                            "http://hpcg-benchmark.org",
                        );
                } else {
                    summary.add(
                        "Official results execution time (sec) must be at least",
                        &OFFICIAL_SECONDS,
                    );
                }
            }
        }
        (true, _) => {
            summary.add(&own_result, &rating.official);
        }
        (false, precision) => {
            summary.add("HPCG result is", "INVALID.").add(
                "Please review the YAML file contents",
                "You may NOT submit these results for consideration.",
            );
            if precision == Precision::F32 {
                summary.add(&own_result, &rating.official);
            }
        }
    }
}
