//! The phases of HPCG 3.1 in order, from parameters to results (HPCG: `main`).

mod optimised;
mod phases;
mod reference;

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cubie_host::{Problem, Ranks};

use crate::device::Device;
use crate::error::Error;
use crate::meter::{Op, PerOp};
use crate::model::level_sizes;
use crate::params::Params;
use crate::progress::Progress;
use crate::real::Precision;
use crate::results::{Allreduce, HaloCost, Layer, Memory, RankDetail, Results, Times};
use crate::solver::Orderings;
use crate::validate::problem::check_problem;
use crate::validate::residual::{solution_error, true_residual};
use optimised::{OptimisedPhases, Outcome};
use phases::Phases;

/// Runs the benchmark on this rank, together with the others; all of them get the results.
/// Raising `stop` on any rank ends it after the current set; it still reports.
///
/// # Errors
/// If the device cannot do it or fails, or the host has not enough memory.
pub fn run(
    params: &Params,
    device: &Device,
    ranks: &Ranks,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<Results, Error> {
    let now = jiff::ZonedDateTime::now().datetime();
    let started = now.with().subsec_nanosecond(0).build();
    let started = started.expect("every second has a beginning");
    let precision = device.precision(params.precision, ranks)?;
    let together = common_precision(ranks, precision, params.precision)?;
    for notice in params.notices.iter().chain(&device.notices(precision)) {
        progress.note(notice);
    }
    let geometry = params.grid.geometry(ranks.rank())?;
    let mut phases = Phases::new(ranks, progress);

    let problem = phases.run("set-up", 0, |_| Problem::new(&geometry));
    let setup = phases.last();
    phases
        .run("problem check", 0, |_| check_problem(&problem))
        .map_err(Error::Problem)?;
    let reference = reference::run(params, ranks, &problem, &mut phases)?;

    let bandwidth = phases.run("bandwidth", 0, |_| device.bandwidth());
    let bandwidth = ranks.sum_of(bandwidth.unwrap_or(f64::NAN));

    let optimise = Instant::now();
    let orderings = phases.run("ordering", 0, |_| Orderings::new(&params.order, &problem));
    let levels = orderings.view(&problem.levels);
    let job = OptimisedPhases {
        params,
        ranks,
        precision: together,
        problem: &problem,
        levels: &levels,
        reference: &reference,
        optimise,
        phases: &mut phases,
        stop,
    };
    let outcome = device.run(precision, &levels, ranks, job)?;

    let detail = rank_detail(device, &problem, &outcome);
    let halo = halo(ranks, &outcome);
    let memory = memory(
        device,
        params,
        ranks,
        &problem,
        orderings.bytes(),
        outcome.allocated,
    );
    Ok(Results {
        started,
        device: device.describe(),
        precision: together,
        hybrid: params.hybrid.is_some(),
        order: params.order.to_string(),
        format: device.format().to_string(),
        ranks: ranks.size() as u64,
        processes: ranks.processes() as u64,
        threads: params.threads as u64,
        grid: params.grid.np.map(|n| n as u64),
        local: params.grid.geometry(0)?.n.map(|n| n as u64),
        global: geometry.gn,
        layers: layers(params),
        levels: level_sizes(&geometry),
        memory: over_ranks_memory(ranks, memory),
        cut_short: outcome.sets.count < outcome.sets.planned,
        reference,
        optimised: outcome.optimised,
        sets: outcome.sets,
        checks: outcome.checks,
        true_residual: true_residual(&problem, ranks, &outcome.x)?,
        solution_error: solution_error(&problem, ranks, &outcome.x),
        times: Times {
            setup,
            optimise: outcome.optimise,
            total: outcome.total,
            ops: over_ranks(&outcome.work.seconds, |seconds| ranks.max(seconds)),
            seconds_asked: params.seconds as f64,
            phases: phases.into_done(),
            estimated: device.times_are_estimated(),
            allreduce: allreduce(ranks, outcome.traffic.reductions),
        },
        moved: over_ranks(&outcome.work.bytes, |bytes| ranks.sum(bytes)),
        alone: None,
        bandwidth: Some(bandwidth).filter(|bandwidth| !bandwidth.is_nan()),
        halo,
        ranks_detail: gather_details(ranks, &detail),
        notices: params.notices.clone(),
    })
}

/// What the run as a whole computes in, where this rank computes in `mine`.
///
/// # Errors
/// The same on all ranks: if what they compute in does not go together, or is not what was asked for.
pub fn common_precision(
    ranks: &Ranks,
    mine: Precision,
    asked: Option<Precision>,
) -> Result<Precision, Error> {
    let all: Vec<Precision> = ranks
        .gather_bytes(mine.name().as_bytes())
        .iter()
        .filter_map(|name| {
            Precision::ALL
                .into_iter()
                .find(|p| p.name().as_bytes() == &name[..])
        })
        .collect();
    let together = Precision::of_all(&all);
    if let Some(asked) = asked
        && let Some(together) = together
        && asked != together
    {
        // Only CPUs take doubles for pairs, and here are no others.
        return Err(Error::Precision {
            device: "a CPU".into(),
            precision: asked,
            able: "f64, mixed, f32".into(),
        });
    }
    together.ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|precision| precision.name()).collect();
        Error::MixedPrecisions(names.join(", "))
    })
}

fn over_ranks(mine: &PerOp, combine: impl Fn(&mut [f64])) -> PerOp {
    let mut values = Op::ALL.map(|op| mine[op]);
    combine(&mut values);
    PerOp::new(values)
}

fn allreduce(ranks: &Ranks, seconds: f64) -> Option<Allreduce> {
    let all: Vec<f64> = ranks.gather(&[seconds]).concat();
    (!ranks.is_alone()).then(|| Allreduce {
        min: all.iter().copied().fold(f64::INFINITY, f64::min),
        max: all.iter().copied().fold(0.0, f64::max),
        avg: all.iter().sum::<f64>() / all.len() as f64,
    })
}

fn halo(ranks: &Ranks, outcome: &Outcome) -> Option<HaloCost> {
    let traffic = &outcome.traffic;
    let cost = HaloCost {
        transport: ranks.transport().to_string(),
        exchanges: traffic.exchanges,
        bytes: whole(ranks.sum_of(traffic.bytes as f64)),
        seconds: ranks.max_of(traffic.seconds),
    };
    (!ranks.is_alone()).then_some(cost)
}

fn rank_detail(device: &Device, problem: &Problem, outcome: &Outcome) -> RankDetail {
    let described = device.describe();
    let geometry = &problem.levels[0].geometry;
    let (seconds, traffic) = (&outcome.work.seconds, &outcome.traffic);
    // The host's clock runs on while a rank waits for others; a GPU times its kernels alone.
    let waiting = match device {
        Device::Cpu { .. } => traffic.seconds + traffic.reductions,
        Device::Gpu { .. } => 0.0,
    };
    RankDetail {
        rank: geometry.rank as u64,
        device: described.name,
        kind: described.kind,
        local: geometry.n.map(|n| n as u64),
        share: geometry.nrow() as f64 / geometry.global_rows() as f64,
        dot: seconds[Op::Dot],
        waxpby: seconds[Op::Waxpby],
        spmv: seconds[Op::Spmv],
        mg: seconds[Op::Mg],
        busy: (seconds.sum() - waiting).max(0.0),
        halo: traffic.seconds,
        allreduce: traffic.reductions,
    }
}

fn gather_details(ranks: &Ranks, detail: &RankDetail) -> Vec<RankDetail> {
    let mine = serde_json::to_vec(detail).expect("plain numbers and text");
    let all = ranks.gather_bytes(&mine);
    all.iter()
        .map(|bytes| serde_json::from_slice(bytes).expect("written just now"))
        .collect()
}

/// The sums over the ranks; the capacity only if all ranks know theirs.
fn over_ranks_memory(ranks: &Ranks, memory: Memory) -> Memory {
    let mut values = vec![
        memory.host as f64,
        memory.device as f64,
        memory.optimise as f64,
    ];
    values.extend(memory.levels.iter().map(|&bytes| bytes as f64));
    // Data on hosts and on devices cannot be held against one capacity.
    let on_device = f64::from(u8::from(memory.device > 0));
    let alike = ranks.max_of(on_device) == -ranks.max_of(-on_device);
    let capacity = memory.capacity.filter(|_| alike);
    values.push(capacity.map_or(f64::NAN, |bytes| bytes as f64));
    ranks.sum(&mut values);
    Memory {
        host: whole(values[0]),
        device: whole(values[1]),
        optimise: whole(values[2]),
        levels: values[3..values.len() - 1]
            .iter()
            .map(|&value| whole(value))
            .collect(),
        capacity: values
            .last()
            .filter(|value| !value.is_nan())
            .map(|&value| whole(value)),
    }
}

/// A count that was summed as a real number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are positive and whole"
)]
fn whole(count: f64) -> u64 {
    count as u64
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
    ranks: &Ranks,
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
        capacity: device.capacity(params, ranks),
    }
}
