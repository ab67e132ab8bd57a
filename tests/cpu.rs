//! The CPU backend's kernels against their twins and the recorded values.
#![expect(non_snake_case, reason = "A is the name that the algorithm has")]

use cubie::cpu::Cpu;
use cubie::device::Device;
use cubie::mg::Multigrid;
use cubie::params::Format;
use cubie::solver::{Orderings, Solver};
use cubie::validate::kernels::{check_kernels, hash_vector};
use cubie::{Backend, Precision};
use cubie_host::{Geometry, Order, Problem, Ranks};

#[test]
fn every_kernel_agrees_with_its_twin() {
    let formats = [Format::Ell28, Format::Split];
    let precisions = [Precision::F64, Precision::Mixed, Precision::F32];
    for (format, precision) in formats.iter().flat_map(|&f| precisions.map(|p| (f, p))) {
        let device = Device::Cpu { threads: 2, format };
        for order in [
            Order::COLOR8,
            Order::Natural,
            Order::Plane2(1),
            Order::Plane2(3),
        ] {
            // 24 and 40 leave coarse sides of 3 and 5: slices that are not full.
            for n in [[16; 3], [24, 16, 40]] {
                for check in check_kernels(&device, precision, &order, n).unwrap() {
                    assert!(
                        check.passed(),
                        "{format} {precision} {order} {n:?}: {check:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn natural_order_gives_the_recorded_kernel_values() {
    let recorded: serde_json::Value =
        serde_json::from_str(include_str!("data/recorded.json")).unwrap();
    let anchors = &recorded["serial_32x32x32"]["kernel_anchors"];
    let problem = Problem::new(&Geometry::single([32; 3]).unwrap());
    let orderings = Orderings::new(&Order::Natural, &problem);
    let levels = orderings.view(&problem.levels);
    let check = |name: &str, vector: &[f64]| {
        let norm2 = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        let expected = anchors[name]["norm2"].as_f64().unwrap();
        assert!(
            (norm2 / expected - 1.0).abs() < 1e-13,
            "{name}: {norm2}, recorded {expected}"
        );
        for i in 0..4 {
            let expected = anchors[name][format!("v{i}")].as_f64().unwrap();
            assert!((vector[i] / expected - 1.0).abs() < 1e-13, "{name}[{i}]");
        }
    };
    let v = hash_vector(&problem.levels[0].geometry);
    let mut cpu = Cpu::<f64>::new(2, Format::Split);
    let A = cpu.matrix(&levels[0]).unwrap();
    let (mut x, mut y) = (cpu.vector(v.len()).unwrap(), cpu.vector(v.len()).unwrap());
    cpu.write(&mut x, &v);
    cpu.spmv(&A, &x, &mut y);
    check("Av", &y);
    let vtAv = cpu.dot(&x, &y);
    assert!((vtAv / anchors["vtAv"].as_f64().unwrap() - 1.0).abs() < 1e-14);
    cpu.smooth_from_zero(&A, &x, &mut y, None);
    check("SYMGS1(v)", &y);
    cpu.symgs(&A, &x, &mut y);
    check("SYMGS2(v)", &y);
    let system = Multigrid::new(&mut cpu, &levels, &Ranks::serial()).unwrap();
    let mut solver =
        Solver::new(cpu, &Ranks::serial(), system, &levels[0], &problem.b, false).unwrap();
    check("MG(v)", &solver.mg_of(&v).unwrap());
}
