//! The phases of HPCG 3.1 in order, from parameters to results (HPCG: `main`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cubie_host::{Order, Ordered, Problem};

use crate::backend::Backend;
use crate::cg::{CgParams, Convergence};
use crate::device::{Device, Job};
use crate::error::Error;
use crate::meter::Work;
use crate::mg::{Multigrid, System};
use crate::model::level_sizes;
use crate::params::Params;
use crate::progress::Progress;
use crate::real::Precision;
use crate::reference;
use crate::results::{Checks, Layer, Memory, Optimised, Phase, Reference, Results, Sets, Times};
use crate::solver::{Orderings, Solver};
use crate::validate::norms::norms;
use crate::validate::problem::check_problem;
use crate::validate::residual::{solution_error, true_residual};
use crate::validate::spectral::spectral;
use crate::validate::symmetry::{random_vector, symmetry};

/// Iterations of the reference CG, and the least of a timed set.
const REFERENCE_ITERATIONS: usize = 50;
/// Iterations in which the optimised CG must reach the reference's residual.
const MAX_ITERATIONS: usize = 500;

/// Runs the benchmark. Raising `stop` ends it after the current set; it still reports.
///
/// # Errors
/// If the device cannot do it or fails, or the host has not enough memory.
pub fn run(
    params: &Params,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<Results, Error> {
    let started = jiff::ZonedDateTime::now().datetime();
    let device = Device::open(params)?;
    let precision = device.precision(params.precision)?;
    for notice in params
        .notices
        .iter()
        .chain(device.notices(precision).iter())
    {
        progress.note(notice);
    }
    let geometry = params.grid.geometry(0)?;
    let mut phases = Phases {
        progress,
        done: Vec::new(),
    };

    let problem = phases.run("set-up", 0, |_| Problem::new(&geometry));
    let setup = phases.last();
    phases
        .run("problem check", 0, |_| check_problem(&problem))
        .map_err(Error::Problem)?;
    let reference = reference_phases(params, &problem, &mut phases)?;

    let optimise = Instant::now();
    let orderings = phases.run("ordering", 0, |_| Orderings::new(&params.order, &problem));
    let levels = orderings.view(&problem.levels);
    let job = OptimisedPhases {
        params,
        precision,
        problem: &problem,
        levels: &levels,
        reference: &reference,
        optimise,
        phases: &mut phases,
        stop,
    };
    let outcome = device.run(precision, &levels, job)?;

    Ok(Results {
        started,
        device: device.describe(),
        precision,
        order: params.order.to_string(),
        format: device.format().to_string(),
        ranks: params.grid.size() as u64,
        threads: params.threads as u64,
        grid: params.grid.np.map(|n| n as u64),
        local: geometry.n.map(|n| n as u64),
        global: geometry.gn,
        layers: layers(params),
        levels: level_sizes(&geometry),
        memory: memory(
            &device,
            params,
            &problem,
            orderings.bytes(),
            outcome.allocated,
        ),
        seconds_asked: params.seconds as f64,
        cut_short: outcome.sets.count < outcome.sets.planned,
        reference,
        optimised: outcome.optimised,
        sets: outcome.sets,
        checks: outcome.checks,
        true_residual: true_residual(&problem, &outcome.x),
        solution_error: solution_error(&problem, &outcome.x),
        times: Times {
            setup,
            optimise: outcome.optimise,
            total: outcome.total,
            ops: outcome.work.seconds,
            estimated: device.times_are_estimated(),
            allreduce: None,
        },
        moved: outcome.work.bytes,
        phases: phases.done,
        notices: params.notices.clone(),
    })
}

/// Phases 3 and 4: the sequential kernels in natural order, timed and run for 50 iterations.
fn reference_phases(
    params: &Params,
    problem: &Problem,
    phases: &mut Phases<'_>,
) -> Result<Reference, Error> {
    let orderings = Orderings::new(&Order::Natural, problem);
    let levels = orderings.view(&problem.levels);
    let mut backend = reference::Reference::new();
    let system = Multigrid::new(&mut backend, &levels)?;
    let mut solver = Solver::new(backend, system, &levels[0], &problem.b, false)?;

    let calls = if params.seconds == 0 { 1 } else { 10 };
    solver.set_input(&random_vector(&problem.levels[0].geometry, 0));
    phases.run("reference SpMV and MG", calls, |progress| {
        for _ in 0..calls {
            solver.spmv();
            solver.mg();
            progress.step();
        }
    });
    let spmv_mg_seconds = phases.last() / calls as f64;

    let fifty = CgParams {
        max_iter: REFERENCE_ITERATIONS,
        tolerance: 0.0,
        preconditioned: true,
    };
    let convergence = phases.run("reference CG", 0, |_| solver.solve(&fifty))?;
    Ok(Reference {
        iterations: convergence.iterations() as u64,
        normr0: convergence.normr0,
        true_residual: true_residual(problem, &solver.solution()?),
        scaled_residuals: convergence.scaled_residuals,
        spmv_mg_seconds,
    })
}

/// Phases 5 to 10 on the device.
struct OptimisedPhases<'a, 'p> {
    params: &'a Params,
    precision: Precision,
    problem: &'a Problem,
    levels: &'a [Ordered<'a>],
    reference: &'a Reference,
    optimise: Instant,
    phases: &'a mut Phases<'p>,
    stop: &'a AtomicBool,
}

/// What the optimised phases found.
struct Outcome {
    checks: Checks,
    optimised: Optimised,
    sets: Sets,
    x: Vec<f64>,
    work: Work,
    total: f64,
    optimise: f64,
    allocated: u64,
}

impl Job for OptimisedPhases<'_, '_> {
    type Output = Outcome;

    fn run<B: Backend, S: System<B>>(self, backend: B, system: S) -> Result<Outcome, Error> {
        let Self {
            params,
            precision,
            problem,
            levels,
            reference,
            optimise,
            phases,
            stop,
        } = self;
        let narrow = precision != Precision::F64;
        let mut solver = Solver::new(backend, system, &levels[0], &problem.b, narrow)?;
        // Drivers compile at the first dispatch.
        solver.solve(&CgParams {
            max_iter: 2,
            tolerance: 0.0,
            preconditioned: true,
        })?;
        solver.finish()?;
        let optimise = optimise.elapsed().as_secs_f64();
        phases.record("optimise", optimise);

        let spectral = phases.run("spectral test", 0, |_| spectral(problem, &mut solver))?;
        let symmetry = phases.run("symmetry test", 0, |_| {
            symmetry(problem, &mut solver, precision)
        })?;

        let tolerance = reference.scaled_residuals[REFERENCE_ITERATIONS - 1];
        let target = CgParams {
            max_iter: MAX_ITERATIONS,
            tolerance,
            preconditioned: true,
        };
        let convergence = phases.run("optimised CG", 0, |_| solver.solve(&target))?;
        let worst = phases.last();
        let iterations_per_set = convergence.iterations().max(REFERENCE_ITERATIONS);

        let planned = if params.seconds == 0 {
            1
        } else {
            planned_sets(params.seconds, worst)
        };
        let timed = CgParams {
            max_iter: iterations_per_set,
            tolerance: 0.0,
            preconditioned: true,
        };
        solver.finish()?;
        let mut scaled_residuals = Vec::new();
        let (work, total) = phases.run("timed sets", planned, |progress| -> Result<_, Error> {
            let mut work = Work::default();
            let start = Instant::now();
            for _ in 0..planned {
                scaled_residuals.push(solver.solve(&timed)?.last());
                work += solver.finish()?;
                progress.step();
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            Ok((work, start.elapsed().as_secs_f64()))
        })?;

        Ok(Outcome {
            checks: Checks {
                spectral,
                symmetry,
                norms: norms(&scaled_residuals),
                iterations_passed: reached(&convergence, tolerance),
            },
            optimised: Optimised {
                iterations: convergence.iterations() as u64,
                iterations_per_set: iterations_per_set as u64,
                scaled_residuals: convergence.scaled_residuals,
            },
            sets: Sets {
                count: scaled_residuals.len() as u64,
                planned,
                scaled_residuals,
            },
            x: solver.solution()?,
            work,
            total,
            optimise,
            allocated: solver.allocated(),
        })
    }
}

fn reached(convergence: &Convergence, tolerance: f64) -> bool {
    convergence.last() <= tolerance * (1.0 + 1e-6)
}

/// Sets that fill `seconds` if each takes `worst`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "both are positive"
)]
fn planned_sets(seconds: u64, worst: f64) -> u64 {
    (seconds as f64 / worst) as u64 + 1
}

/// The phases so far with their times.
struct Phases<'p> {
    progress: &'p mut dyn Progress,
    done: Vec<Phase>,
}

impl Phases<'_> {
    fn run<T>(&mut self, name: &str, steps: u64, phase: impl FnOnce(&mut dyn Progress) -> T) -> T {
        self.progress.begin(name, steps);
        let start = Instant::now();
        let outcome = phase(self.progress);
        self.record(name, start.elapsed().as_secs_f64());
        self.progress.end();
        outcome
    }

    fn record(&mut self, name: &str, seconds: f64) {
        self.done.push(Phase {
            name: name.into(),
            seconds,
        });
    }

    /// Seconds of the last phase.
    fn last(&self) -> f64 {
        self.done.last().map_or(0.0, |phase| phase.seconds)
    }
}

/// Neighbouring layers of ranks with equal boxes, joined.
fn layers(params: &Params) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    for (ipz, &nz) in params.grid.nz.iter().enumerate() {
        let (ipz, nz) = (ipz as u64, nz as u64);
        match layers.last_mut() {
            Some(layer) if layer.nz == nz => layer.upper_ipz = ipz,
            _ => layers.push(Layer {
                lower_ipz: ipz,
                upper_ipz: ipz,
                nz,
            }),
        }
    }
    layers
}

/// What is allocated while the timed sets run, and for the reference CG on the finest level.
fn memory(
    device: &Device,
    params: &Params,
    problem: &Problem,
    orderings: u64,
    backend: u64,
) -> Memory {
    let mut levels: Vec<u64> = problem.levels.iter().map(|level| level.bytes()).collect();
    // b, xexact, and x, r, z, p, Ap of the reference CG.
    levels[0] += 7 * 8 * problem.b.len() as u64;
    let generated: u64 = levels.iter().sum();
    let on_host = matches!(device, Device::Cpu { .. });
    Memory {
        host: generated + orderings + if on_host { backend } else { 0 },
        device: if on_host { 0 } else { backend },
        levels,
        optimise: orderings + backend,
        capacity: device.capacity(params),
    }
}
