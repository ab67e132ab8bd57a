//! Results that were written down, not measured.

use cubie::results::*;
use cubie::{PerOp, Precision};

/// The run of the example, in our words.
pub(crate) fn example() -> Results {
    Results {
        started: jiff::civil::date(2026, 11, 30).at(18, 5, 9, 0),
        device: Device {
            kind: DeviceKind::Cpu,
            name: "Some CPU".into(),
            driver: "AVX2".into(),
            backend: "threads".into(),
        },
        precision: Precision::F64,
        hybrid: false,
        order: "color8".into(),
        format: "ell28".into(),
        ranks: 2,
        processes: 2,
        threads: 1,
        grid: [2, 1, 1],
        local: [32, 32, 32],
        global: [64, 32, 32],
        layers: vec![Layer {
            lower_ipz: 0,
            upper_ipz: 0,
            nz: 32,
        }],
        levels: [
            (65536, 1_678_840),
            (8192, 198_904),
            (1024, 22264),
            (128, 2200),
        ]
        .map(|(rows, nnz)| LevelSize { rows, nnz })
        .to_vec(),
        memory: Memory {
            host: 46_887_300,
            device: 0,
            levels: vec![41_255_300, 4_935_170, 618_752, 78_144],
            optimise: 0,
            capacity: Some(16 << 30),
        },
        cut_short: false,
        reference: Reference {
            iterations: 50,
            normr0: 1234.5,
            scaled_residuals: vec![0.1, 1e-5, 1.265_95e-16],
            true_residual: 1.5e-15,
            spmv_mg_seconds: 2.3e-7 / 4.549_73e-5,
        },
        optimised: Optimised {
            iterations: 48,
            iterations_per_set: 50,
            scaled_residuals: vec![0.09, 9e-6, 1.2e-16],
        },
        sets: Sets {
            count: 30,
            planned: 30,
            scaled_residuals: vec![1.265_95e-16; 30],
        },
        checks: Checks {
            spectral: Spectral {
                passed: true,
                unpreconditioned: 11,
                unpreconditioned_expected: 12,
                preconditioned: 2,
                preconditioned_expected: 2,
            },
            symmetry: Symmetry {
                passed: true,
                spmv: 2.368_21e-6,
                mg: 6.3242e-7,
                exact_residual: 0.0,
            },
            norms: Norms {
                passed: true,
                mean: 1.265_95e-16,
                variance: 0.0,
            },
            iterations: Iterations { passed: true },
        },
        true_residual: 1.4e-15,
        solution_error: SolutionError {
            max: 8e-15,
            norm2: 3e-13,
        },
        times: Times {
            setup: 0.061_614_6,
            optimise: 2.3e-7,
            total: 18.7011,
            ops: PerOp::new([2.653_04, 0.095_022_2, 2.023_44, 13.9276]),
            seconds_asked: 60.0,
            phases: [("set-up", 0.061_614_6), ("timed sets", 18.7011)]
                .map(|(name, seconds)| Phase {
                    name: name.into(),
                    seconds,
                })
                .to_vec(),
            estimated: false,
            allreduce: Some(Allreduce {
                min: 2.123_78,
                max: 2.475_88,
                avg: 2.299_83,
            }),
        },
        moved: PerOp::new([4.75e9, 7.1e9, 31e9, 150e9]),
        alone: None,
        bandwidth: Some(40e9),
        halo: None,
        ranks_detail: Vec::new(),
        notices: vec!["sizes are taken from hpcg.dat".into()],
    }
}

/// One rank, without MPI.
pub(crate) fn alone() -> Results {
    let mut results = example();
    results.ranks = 1;
    results.processes = 1;
    results.grid = [1; 3];
    results.local = results.global;
    results.times.allreduce = None;
    results
}

pub(crate) fn on_a_gpu(precision: Precision) -> Results {
    let mut results = alone();
    results.precision = precision;
    results.device = Device {
        kind: DeviceKind::Gpu,
        name: "Some GPU".into(),
        driver: "Some driver 1.2".into(),
        backend: "Vulkan".into(),
    };
    results.memory.device = 30_000_000;
    results.memory.optimise = 30_000_000;
    results.memory.capacity = None;
    results
}

pub(crate) fn invalid() -> Results {
    let mut results = alone();
    results.checks.symmetry.passed = false;
    results.checks.symmetry.mg = 17.0;
    results.checks.norms.passed = false;
    results.checks.norms.variance = 1e-3;
    results
}

pub(crate) fn cut_short() -> Results {
    let mut results = alone();
    results.cut_short = true;
    results.sets.count = 3;
    results.sets.scaled_residuals.truncate(3);
    results.times.total = 1.870_11;
    results
}

pub(crate) fn official() -> Results {
    let mut results = alone();
    results.times.total = 1801.0;
    results.memory.capacity = Some(100_000_000);
    results
}
