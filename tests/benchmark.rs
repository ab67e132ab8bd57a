//! Whole runs of the benchmark in the library: its phases, checks and histories.

use std::sync::atomic::AtomicBool;

use cubie::device::Device;
use cubie::params::{DeviceChoice, Format, Params};
use cubie::progress::{Progress, Silent};
use cubie::{Precision, Results, benchmark};
use cubie_host::{Grid, Order, Ranks};

fn params(n: [usize; 3], precision: Precision, order: Order) -> Params {
    Params {
        grid: Grid::uniform([1; 3], n),
        seconds: 0,
        device: DeviceChoice::Cpu,
        hybrid: None,
        precision: Some(precision),
        order,
        format: Some(Format::Split),
        threads: 2,
        binding_limit: None,
        device_memory: None,
        notices: Vec::new(),
    }
}

fn run(params: &Params) -> Results {
    benchmark::run(
        params,
        &Device::open(params, 0).unwrap(),
        &Ranks::serial(),
        &mut Silent,
        &AtomicBool::new(false),
    )
    .unwrap()
}

#[test]
fn a_quick_run_in_double_precision_is_valid() {
    let results = run(&params([32; 3], Precision::F64, Order::COLOR8));
    assert_eq!(results.not_valid_because(), Vec::<String>::new());
    assert_eq!(results.reference.iterations, 50);
    assert_eq!(results.optimised.iterations_per_set, 50);
    assert_eq!(results.sets.count, 1);
    assert_eq!(results.checks.symmetry.exact_residual, 0.0);
    assert!(results.true_residual < 1e-14 && results.solution_error.max < 1e-13);
    assert!(results.moved.sum() > 0.0 && results.times.total > 0.0);
}

#[test]
fn natural_order_and_plane_pairs_are_valid_on_an_oblong_box() {
    for order in [Order::Natural, Order::Plane2(1), Order::Plane2(2)] {
        for format in [Format::Ell28, Format::Split] {
            let results = run(&Params {
                format: Some(format),
                ..params([16, 24, 40], Precision::F64, order.clone())
            });
            let wrong = results.not_valid_because();
            assert_eq!(wrong, Vec::<String>::new(), "{order} {format}");
        }
    }
}

#[test]
fn natural_order_repeats_the_reference() {
    let results = run(&Params {
        format: Some(Format::Ell28),
        ..params([32; 3], Precision::F64, Order::Natural)
    });
    let both = results
        .reference
        .scaled_residuals
        .iter()
        .zip(&results.optimised.scaled_residuals);
    for (k, (theirs, ours)) in both.enumerate().take(20) {
        assert!(
            (ours / theirs - 1.0).abs() < 1e-10,
            "after {} iterations: {ours:e}, {theirs:e}",
            k + 1
        );
    }
}

#[test]
fn the_reference_phase_gives_the_recorded_history() {
    let all: serde_json::Value = serde_json::from_str(include_str!("data/recorded.json")).unwrap();
    let recorded = &all["serial_64x64x64"]["history"]["REF"];
    let expected = recorded["scaled_residual_iter_1_to_n"].as_array().unwrap();
    let results = run(&params([64; 3], Precision::F64, Order::COLOR8));
    assert_eq!(results.reference.scaled_residuals.len(), 50);
    let both = results.reference.scaled_residuals.iter().zip(expected);
    for (k, (ours, theirs)) in both.enumerate() {
        let theirs = theirs.as_f64().unwrap();
        assert!(
            (ours / theirs - 1.0).abs() < 1e-12,
            "after {} iterations: {ours:e}, recorded {theirs:e}",
            k + 1
        );
    }
}

#[test]
fn mixed_precision_is_valid_within_55_iterations() {
    let results = run(&params([48; 3], Precision::Mixed, Order::COLOR8));
    assert_eq!(results.not_valid_because(), Vec::<String>::new());
    assert!(
        results.optimised.iterations <= 55,
        "{} iterations",
        results.optimised.iterations
    );
}

#[test]
fn single_precision_is_never_valid() {
    let results = run(&params([16; 3], Precision::F32, Order::COLOR8));
    assert!(!results.is_valid());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for (order, format) in [
        (Order::COLOR8, Format::Ell28),
        (Order::COLOR8, Format::Split),
        (Order::Natural, Format::Split),
        (Order::Plane2(2), Format::Split),
    ] {
        let with = |threads| {
            run(&Params {
                threads,
                format: Some(format),
                ..params([24, 16, 32], Precision::F64, order.clone())
            })
        };
        let one = with(1);
        for threads in [2, 3] {
            let results = with(threads);
            let name = format!("{order} {format} on {threads} threads");
            assert_eq!(
                results.reference.scaled_residuals, one.reference.scaled_residuals,
                "{name}"
            );
            assert_eq!(results.optimised, one.optimised, "{name}");
            assert_eq!(results.sets.scaled_residuals, one.sets.scaled_residuals);
            assert_eq!(results.solution_error, one.solution_error, "{name}");
        }
    }
}

#[test]
fn an_interrupt_ends_the_timed_sets_after_the_current_one() {
    struct StopInTheFirstSet<'a>(&'a AtomicBool);
    impl Progress for StopInTheFirstSet<'_> {
        fn begin(&mut self, phase: &str, _: u64) {
            self.0
                .store(phase == "timed sets", std::sync::atomic::Ordering::Relaxed);
        }
        fn step(&mut self) {}
        fn end(&mut self) {}
        fn note(&mut self, _: &str) {}
    }
    let stop = AtomicBool::new(false);
    let params = Params {
        seconds: 1000,
        ..params([16; 3], Precision::F64, Order::COLOR8)
    };
    let results = benchmark::run(
        &params,
        &Device::open(&params, 0).unwrap(),
        &Ranks::serial(),
        &mut StopInTheFirstSet(&stop),
        &stop,
    )
    .unwrap();
    assert!(results.cut_short && results.sets.count == 1 && results.sets.planned > 1);
    assert!(results.is_valid() && !results.is_official());
}
