//! Many ranks, as threads of one process: the recorded histories, and equal bits by every transport.

use std::sync::atomic::AtomicBool;

use cubie::device::Device;
use cubie::params::{DeviceChoice, Params};
use cubie::progress::Silent;
use cubie::{Error, Precision, Results, benchmark};
use cubie_host::comm::{Reduce, Transport, threads};
use cubie_host::{Grid, Order, Ranks};
use serde_json::Value;

fn params(grid: Grid, precision: Precision) -> Params {
    Params {
        grid,
        seconds: 0,
        device: DeviceChoice::Cpu,
        hybrid: None,
        precision: Some(precision),
        order: Order::COLOR8,
        format: None,
        threads: 1,
        binding_limit: None,
        device_memory: None,
        notices: Vec::new(),
    }
}

fn run(params: &Params, transport: Transport, reduce: Reduce) -> Results {
    let results = threads::run(params.grid.size(), |comm| {
        let ranks = Ranks::new(Box::new(comm), transport, reduce);
        let device = Device::open(params, ranks.rank())?;
        benchmark::run(
            params,
            &device,
            &ranks,
            &mut Silent,
            &AtomicBool::new(false),
        )
    });
    let results: Vec<Results> = results.unwrap_or_else(|error: Error| panic!("{error}"));
    for rank in &results {
        assert_eq!(
            rank.optimised, results[0].optimised,
            "all ranks get the same results"
        );
    }
    results.into_iter().next().unwrap()
}

#[test]
fn the_reference_gives_the_recorded_rank_histories() {
    let recorded: Value = serde_json::from_str(include_str!("data/recorded.json")).unwrap();
    for (name, np, n) in [
        ("ranks2_32x32x32", [2, 1, 1], 32),
        ("ranks8_16x16x16", [2, 2, 2], 16),
    ] {
        let params = params(Grid::uniform(np, [n; 3]), Precision::F64);
        let results = run(&params, Transport::Isend, Reduce::Fast);
        assert_eq!(results.not_valid_because(), Vec::<String>::new(), "{name}");
        let history = &recorded[name]["history"]["REF"];
        let normr0 = history["normr0"].as_f64().unwrap();
        assert!((results.reference.normr0 / normr0 - 1.0).abs() < 1e-14);
        let expected = history["scaled_residual_iter_1_to_n"].as_array().unwrap();
        for (k, ours) in results
            .reference
            .scaled_residuals
            .iter()
            .enumerate()
            .take(20)
        {
            let theirs = expected[k].as_f64().unwrap();
            assert!(
                (ours / theirs - 1.0).abs() < 1e-11,
                "{name} after {}: {ours:e}, {theirs:e}",
                k + 1
            );
        }
    }
}

#[test]
fn transports_and_reductions_agree() {
    for precision in [Precision::F64, Precision::Mixed] {
        let params = params(Grid::uniform([2, 2, 1], [16; 3]), precision);
        let isend = run(&params, Transport::Isend, Reduce::Ordered);
        for transport in [Transport::PutBarrier, Transport::PutFlag] {
            let puts = run(&params, transport, Reduce::Ordered);
            assert_eq!(puts.optimised, isend.optimised, "{transport}");
            assert_eq!(puts.solution_error, isend.solution_error, "{transport}");
            let halo = puts.halo.unwrap();
            assert_eq!(
                (halo.transport, halo.bytes > 0),
                (transport.to_string(), true)
            );
        }
        let fast = run(&params, Transport::Isend, Reduce::Fast);
        let both = fast
            .optimised
            .scaled_residuals
            .iter()
            .zip(&isend.optimised.scaled_residuals);
        for (fast, ordered) in both.take(18) {
            assert!(
                (fast / ordered - 1.0).abs() < 1e-12,
                "{precision}: {fast:e}, {ordered:e}"
            );
        }
    }
}

#[test]
fn unequal_boxes_and_every_order_and_format_are_valid() {
    use cubie::params::Format::{Ell28, Split};
    for (order, format) in [
        (Order::COLOR8, Split),
        (Order::COLOR8, Ell28),
        (Order::Natural, Split),
        (Order::Plane2(2), Ell28),
    ] {
        let grid = Grid::split_in_z([1, 2, 2], [16, 16], 1, 24, 16);
        let params = Params {
            order,
            format: Some(format),
            ..params(grid, Precision::F64)
        };
        let results = run(&params, Transport::PutFlag, Reduce::Fast);
        assert_eq!(
            results.not_valid_because(),
            Vec::<String>::new(),
            "{} {format}",
            params.order
        );
        assert_eq!(results.layers.len(), 2);
        assert_eq!(results.ranks_detail.len(), 4);
        let shares: f64 = results.ranks_detail.iter().map(|rank| rank.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
    }
}

#[test]
fn working_while_a_halo_travels_changes_rounding_only() {
    let params = params(Grid::uniform([2, 2, 1], [16; 3]), Precision::F64);
    let [without, with] = [false, true].map(|overlap| {
        let results = threads::run(4, |comm| {
            let comm = Box::new(comm);
            let ranks = Ranks::overlapping(comm, Transport::PutFlag, Reduce::Ordered, overlap);
            let device = Device::open(&params, ranks.rank())?;
            benchmark::run(
                &params,
                &device,
                &ranks,
                &mut Silent,
                &AtomicBool::new(false),
            )
        });
        results
            .unwrap_or_else(|error: Error| panic!("{error}"))
            .remove(0)
    });
    assert!(with.is_valid() && without.is_valid());
    let both = with
        .optimised
        .scaled_residuals
        .iter()
        .zip(&without.optimised.scaled_residuals);
    for (with, without) in both.take(18) {
        assert!(
            (with / without - 1.0).abs() < 1e-11,
            "{with:e}, {without:e}"
        );
    }
}
