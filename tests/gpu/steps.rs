//! The steps of CG and of the V-cycle, fused as the backend does them, against the textbook.

use cubie::Backend;
use cubie::cg::CgParams;
use cubie::gpu::{Arithmetic, Gpu};
use cubie::mg::Multigrid;
use cubie::params::Format;
use cubie::solver::{Orderings, Solver};
use cubie::textbook;
use cubie_host::{Geometry, Grid, Order, Problem, Ranks};

use super::*;

/// The steps of CG and of a V-cycle on one level, as the backend does them or as the textbook
/// does: what they leave behind. Each starts from what the backend's own steps left, and from
/// externals that are not zero.
fn steps(
    gpu: &mut Gpu,
    problem: &Problem,
    level: usize,
    by_the_book: bool,
) -> Vec<(&'static str, Vec<f64>)> {
    let orderings = Orderings::new(&Order::COLOR8, problem);
    let ordered = orderings.view(&problem.levels)[level];
    let A = &gpu.matrix(&ordered).unwrap();
    let halo = &mut Ranks::serial()
        .exchange(&ordered.level.halo, gpu.element())
        .unwrap();
    let (nrow, ncol) = (ordered.level.A.nrow, ordered.level.A.ncol);
    let coarse = ordered.f2c().len();
    let [r0, c0] = vectors(problem, level);
    let externals: Vec<f64> = (nrow..ncol).map(|i| 1.0 + (i % 7) as f64).collect();
    let with_externals = |local: &[f64]| [&local[..nrow], &externals[..]].concat();
    let mut results = Vec::new();

    let r = upload(gpu, &r0);
    // Whatever stands in x is overwritten.
    let mut x = upload(gpu, &vec![-3.0; ncol]);
    let mut work = gpu.vector(nrow).unwrap();
    if by_the_book {
        textbook::smooth_from_zero(gpu, A, &r, &mut x);
        results.push(("smooth_from_zero", gpu.read(&x).unwrap()));
    }
    let kept = (coarse > 0).then_some(&mut work);
    gpu.smooth_from_zero(A, &r, &mut x, kept);
    if !by_the_book {
        results.push(("smooth_from_zero", gpu.read(&x).unwrap()));
    }
    let smoothed = with_externals(&gpu.read(&x).unwrap());
    gpu.write(&mut x, &smoothed);
    if coarse > 0 {
        let mut rc = gpu.vector(coarse).unwrap();
        let mut Axf = gpu.vector(nrow).unwrap();
        let xc = upload(gpu, &c0[..coarse]);
        if by_the_book {
            textbook::restrict_residual(gpu, A, halo, &r, &mut x, &mut Axf, &mut rc).unwrap();
            textbook::correct_and_smooth(gpu, A, halo, &xc, &r, &mut x).unwrap();
            let rtx = gpu.dot(&r, &x);
            results.push(("r·x", gpu.read_scalars(&[rtx]).unwrap()));
        } else {
            gpu.restrict_residual(A, halo, &r, &mut x, &mut work, &mut rc)
                .unwrap();
            let (mut copied, mut work_copied) = (upload(gpu, &smoothed), gpu.vector(nrow).unwrap());
            gpu.copy(&work, &mut work_copied);
            let rtx = gpu
                .correct_and_smooth_dot(A, halo, &xc, &r, &mut copied, &mut work_copied)
                .unwrap();
            results.push(("r·x", gpu.read_scalars(&[rtx]).unwrap()));
            gpu.correct_and_smooth(A, halo, &xc, &r, &mut x, &mut work)
                .unwrap();
            assert_eq!(gpu.read(&copied).unwrap(), gpu.read(&x).unwrap());
        }
        results.push(("restrict_residual", gpu.read(&rc).unwrap()));
        results.push(("correct_and_smooth", gpu.read(&x).unwrap()));
    }

    let mut p = upload(gpu, &with_externals(&r0));
    let (mut Ap, mut x, mut r) = (upload(gpu, &c0), upload(gpu, &c0), upload(gpu, &r0));
    let alpha = -gpu.scalar(-0.25);
    let scalars = if by_the_book {
        [
            textbook::spmv_dot(gpu, A, halo, &mut p, &mut Ap).unwrap(),
            textbook::update_and_norm(gpu, alpha, &p, &Ap, &mut x, &mut r),
        ]
    } else {
        [
            gpu.spmv_dot(A, halo, &mut p, &mut Ap).unwrap(),
            gpu.update_and_norm(alpha, &p, &Ap, &mut x, &mut r),
        ]
    };
    for (name, vector) in [("spmv_dot", &Ap), ("x updated", &x), ("r updated", &r)] {
        results.push((name, gpu.read(vector).unwrap()));
    }
    for (name, scalar) in ["x·Ax", "r·r"].into_iter().zip(scalars) {
        results.push((name, gpu.read_scalars(&[scalar]).unwrap()));
    }
    results
}

#[test]
fn fused_steps_equal_the_textbook() {
    let alone = Geometry::single([32, 16, 24]).unwrap();
    let among_others = Grid::uniform([3, 2, 2], [16; 3]).geometry(4).unwrap();
    for geometry in [alone, among_others] {
        let problem = Problem::new(&geometry);
        on_each(|device, arithmetic| {
            for (level, format) in
                (0..problem.levels.len()).flat_map(|level| FORMATS.map(|format| (level, format)))
            {
                let mut gpu = Gpu::new(device, arithmetic, format).unwrap();
                let ours = steps(&mut gpu, &problem, level, false);
                let theirs = steps(&mut gpu, &problem, level, true);
                for ((step, ours), (_, theirs)) in ours.iter().zip(&theirs) {
                    let what = format!("{step} in {format} on level {level}");
                    assert_close(&what, arithmetic, 64.0, ours, theirs);
                }
            }
        });
    }
}

#[test]
fn an_iteration_reads_the_matrix_few_times() {
    let problem = problem([64; 3]);
    let orderings = Orderings::new(&Order::COLOR8, &problem);
    let levels = orderings.view(&problem.levels);
    let params = |max_iter| CgParams {
        max_iter,
        tolerance: 0.0,
        preconditioned: true,
    };
    let device = devices()[0].open(None).unwrap();
    let bytes_a_row = [device.double(), Arithmetic::F32].map(|arithmetic| {
        let mut gpu = Gpu::new(&device, arithmetic, Format::Split).unwrap();
        let system = Multigrid::new(&mut gpu, &levels, &Ranks::serial()).unwrap();
        let ranks = &Ranks::serial();
        let mut solver = Solver::new(gpu, ranks, system, &levels[0], &problem.b, true).unwrap();
        let mut bytes = [1, 2].map(|iterations| {
            solver.solve(&params(iterations)).unwrap();
            solver.finish().unwrap().bytes.sum()
        });
        bytes[1] -= bytes[0];
        bytes[1] / problem.b.len() as f64
    });
    let pass = 27.0 * 12.0;
    let passes = bytes_a_row[0] / pass;
    // Numbers take 8 bytes and 4, columns the same in both.
    let columns = (2.0 * bytes_a_row[1] - bytes_a_row[0]) / (27.0 * 4.0);
    eprintln!("{passes} passes, of the columns {columns}");
    assert!((1.4..1.9).contains(&columns), "{columns} passes");
    assert!((3.0..3.7).contains(&passes), "{passes} passes");
}

#[test]
fn small_bindings_give_the_same_bits() {
    let problem = problem([48, 48, 40]);
    for adapter in devices() {
        for arithmetic in adapter.open(None).unwrap().arithmetics() {
            for format in FORMATS {
                let [whole, panels] = [None, Some(1 << 20)].map(|limit| {
                    let device = adapter.open(limit).unwrap();
                    let mut gpu = Gpu::new(&device, arithmetic, format).unwrap();
                    let mut results = kernels(&mut gpu, &problem, 0);
                    let sums = |(name, _): &(&str, Vec<f64>)| name.contains('·');
                    let steps = steps(&mut gpu, &problem, 0, false);
                    // How sums are cut depends on the panels.
                    results.extend(steps.into_iter().filter(|step| !sums(step)));
                    results
                });
                assert_eq!(whole, panels, "{format} in {}", arithmetic.name());
            }
        }
    }
}

#[test]
fn sums_have_the_same_bits_with_and_without_subgroups() {
    let problem = problem([32, 16, 24]);
    for adapter in devices() {
        if adapter.subgroup == 1 {
            eprintln!("{} has no subgroups", adapter.name);
        }
        let mut without = adapter.clone();
        without.subgroup = 1;
        let device = adapter.open(None).unwrap();
        for arithmetic in device.arithmetics() {
            let [with, without] = [&adapter, &without].map(|adapter| {
                let device = adapter.open(None).unwrap();
                let mut gpu = Gpu::new(&device, arithmetic, Format::Split).unwrap();
                let mut results = kernels(&mut gpu, &problem, 0);
                results.extend(steps(&mut gpu, &problem, 0, false));
                results
            });
            assert_eq!(with, without, "in {}", arithmetic.name());
        }
    }
}
