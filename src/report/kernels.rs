//! The outcome of `cubie validate` in the terminal.

use std::cmp::Ordering;

use crate::Precision;
use crate::validate::kernels::KernelCheck;

/// For each kernel the level on which it is worst, in one precision.
pub fn table(precision: Precision, checks: &[KernelCheck]) -> String {
    let mut lines = vec![format!(
        "{:<24}{:>6}{:>12}{:>12}",
        precision.name(),
        "level",
        "error",
        "bound"
    )];
    for worst in worst_of_each(checks) {
        let verdict = if worst.passed() { "" } else { "  FAILED" };
        lines.push(format!(
            "{:<24}{:>6}{:>12.2e}{:>12.2e}{verdict}",
            worst.kernel, worst.level, worst.error, worst.bound
        ));
    }
    lines.join("\n") + "\n"
}

/// The kernels in their order, each where it comes closest to its bound.
fn worst_of_each(checks: &[KernelCheck]) -> Vec<&KernelCheck> {
    let mut worst: Vec<&KernelCheck> = Vec::new();
    for check in checks {
        match worst.iter_mut().find(|known| known.kernel == check.kernel) {
            Some(known) if badness(check, known) == Ordering::Greater => *known = check,
            Some(_) => {}
            None => worst.push(check),
        }
    }
    worst
}

/// Compares by error over bound; what is no number is worst.
fn badness(one: &KernelCheck, other: &KernelCheck) -> Ordering {
    let ratio = |check: &KernelCheck| (check.error / check.bound).abs();
    ratio(one).total_cmp(&ratio(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kernel: &'static str, level: usize, error: f64) -> KernelCheck {
        KernelCheck {
            kernel,
            level,
            error,
            bound: 1e-15,
        }
    }

    #[test]
    fn the_worst_level_of_each_kernel_is_shown() {
        let checks = [
            check("spmv", 0, 1e-16),
            check("dot", 0, 0.0),
            check("spmv", 1, 3e-16),
            check("dot", 1, f64::NAN),
            check("spmv", 2, 2e-16),
            check("dot", 2, 1.0),
        ];
        let table = table(Precision::F64, &checks);
        let lines: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0], ["f64", "level", "error", "bound"]);
        assert_eq!(lines[1], ["spmv", "1", "3.00e-16", "1.00e-15"]);
        assert_eq!(lines[2], ["dot", "1", "NaN", "1.00e-15", "FAILED"]);
        assert_eq!(lines.len(), 3);
    }
}
