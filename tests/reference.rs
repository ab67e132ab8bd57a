//! The reference twin against the histories and kernel values recorded on HPCG 3.1.
#![expect(non_snake_case, reason = "A is the name that the algorithm has")]

use cubie::cg::CgParams;
use cubie::mg::Multigrid;
use cubie::reference::{Reference, dot, spmv, symgs};
use cubie::solver::{Orderings, Solver};
use cubie::validate::kernels::hash_vector;
use cubie_host::{Geometry, Order, Problem, Ranks};
use serde_json::Value;

fn recorded(run: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("data/recorded.json")).unwrap();
    all[run].clone()
}

fn history(recorded: &Value, name: &str) -> Vec<f64> {
    let list = recorded["history"][name]["scaled_residual_iter_1_to_n"]
        .as_array()
        .unwrap();
    list.iter().map(|v| v.as_f64().unwrap()).collect()
}

fn solver(problem: &Problem, order: &Order) -> Solver<Reference, Multigrid<Reference>> {
    let orderings = Orderings::new(order, problem);
    let levels = orderings.view(&problem.levels);
    let mut backend = Reference::new();
    let system = Multigrid::new(&mut backend, &levels, &Ranks::serial()).unwrap();
    Solver::new(
        backend,
        &Ranks::serial(),
        system,
        &levels[0],
        &problem.b,
        false,
    )
    .unwrap()
}

const FIFTY: CgParams = CgParams {
    max_iter: 50,
    tolerance: 0.0,
    preconditioned: true,
};

#[test]
fn natural_order_gives_the_recorded_histories() {
    for n in [16, 32, 64] {
        let recorded = recorded(&format!("serial_{n}x{n}x{n}"));
        let problem = Problem::new(&Geometry::single([n; 3]).unwrap());
        let mut solver = solver(&problem, &Order::Natural);
        let convergence = solver.solve(&FIFTY).unwrap();
        let normr0 = recorded["history"]["REF"]["normr0"].as_f64().unwrap();
        assert_eq!(convergence.normr0, normr0);
        // On small grids the tail is rounding noise.
        let compared = if n == 64 { 50 } else { 20 };
        let expected = history(&recorded, "REF");
        let both = convergence
            .scaled_residuals
            .iter()
            .zip(&expected)
            .take(compared);
        for (k, (ours, theirs)) in both.enumerate() {
            let error = (ours / theirs - 1.0).abs();
            assert!(
                error < 1e-13,
                "{n}³ after {} iterations: {ours:e}, recorded {theirs:e}",
                k + 1
            );
        }
    }
}

#[test]
fn color8_reaches_the_reference_residual_in_48_iterations() {
    let problem = Problem::new(&Geometry::single([64; 3]).unwrap());
    let tolerance = history(&recorded("serial_64x64x64"), "REF")[49];
    let params = CgParams {
        max_iter: 500,
        tolerance,
        preconditioned: true,
    };
    assert_eq!(
        solver(&problem, &Order::COLOR8)
            .solve(&params)
            .unwrap()
            .iterations(),
        48
    );
}

#[test]
fn kernels_give_the_recorded_values() {
    let n = 32;
    let recorded = recorded("serial_32x32x32");
    let anchors = &recorded["kernel_anchors"];
    let problem = Problem::new(&Geometry::single([n; 3]).unwrap());
    let A = &problem.levels[0].A;
    let v = hash_vector(&problem.levels[0].geometry);
    let check = |name: &str, vector: &[f64]| {
        let anchor = &anchors[name];
        let close = |key: &str, value: f64| {
            let expected = anchor[key].as_f64().unwrap();
            assert!(
                (value / expected - 1.0).abs() < 1e-13,
                "{name} {key}: {value}, recorded {expected}"
            );
        };
        close("sum", vector.iter().sum());
        close("norm2", dot(vector, vector).sqrt());
        for (i, &value) in vector[..4].iter().enumerate() {
            close(&format!("v{i}"), value);
        }
        close("vlast_rank0", vector[vector.len() - 1]);
    };
    check("v", &v);
    let mut Av = vec![0.0; A.nrow];
    spmv(A, &v, &mut Av);
    check("Av", &Av);
    let mut x = vec![0.0; A.ncol];
    symgs(A, &v, &mut x);
    check("SYMGS1(v)", &x);
    symgs(A, &v, &mut x);
    check("SYMGS2(v)", &x);
    let mut solver = solver(&problem, &Order::Natural);
    check("MG(v)", &solver.mg_of(&v).unwrap());
}
