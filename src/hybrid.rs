//! One box on several devices, threads of a process or ranks of `mpirun`: shares along z in
//! multiples of 8 planes, as each device is fast.

use std::time::Instant;

use cubie_host::{Geometry, Grid, Order, Ordered, Problem, Ranks};

use crate::backend::Backend;
use crate::cg::CgParams;
use crate::device::{Device, Job};
use crate::error::Error;
use crate::launch::{Failure, agree};
use crate::mg::System;
use crate::params::{Hybrid, InputError};
use crate::real::Precision;
use crate::solver::{Orderings, Solver};

/// Planes of a share are a multiple of this, so that three coarser levels exist.
const STEP: usize = 8;
/// Side of the box that the devices are tried on, where the real one is not smaller.
const TRIAL: usize = 32;
/// Iterations of the trial.
const ITERATIONS: usize = 4;

/// The shares of a box in planes, and what the user should know about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// Planes of each rank.
    pub nz: Vec<usize>,
    /// A sentence if sharing does not pay.
    pub notice: Option<String>,
}

/// Splits `nz` planes in proportion to `weights`, each share a multiple of 8 and at least 8.
///
/// # Errors
/// If there are fewer than 8 planes for each.
pub fn shares(nz: usize, weights: &[f64]) -> Result<Shares, Error> {
    let steps = nz / STEP;
    if steps < weights.len() {
        return Err(Error::TooThin {
            nz,
            devices: weights.len(),
        });
    }
    let total: f64 = weights.iter().sum();
    let mut counts = vec![1; weights.len()];
    // One step after the other to the device that is furthest behind its due.
    for _ in weights.len()..steps {
        let due = |i: &usize| weights[*i] / total * steps as f64 - counts[*i] as f64;
        let next = (0..weights.len())
            .max_by(|a, b| due(a).total_cmp(&due(b)))
            .expect("devices");
        counts[next] += 1;
    }
    // Together a plane-step takes as long as the slowest; alone the fastest does all of them.
    let together = counts
        .iter()
        .zip(weights)
        .map(|(&n, w)| n as f64 / w)
        .fold(0.0, f64::max);
    let fastest = weights.iter().copied().fold(0.0, f64::max);
    let notice = (together > steps as f64 / fastest).then(|| {
        "even the thinnest share is too much for the slower device: the faster one alone would be faster"
            .to_owned()
    });
    Ok(Shares {
        nz: counts.iter().map(|n| n * STEP).collect(),
        notice,
    })
}

/// The grid of a box that these ranks share: in equal parts in x and y, and along z in shares as
/// given or by a short trial of all devices at once. A layer of ranks is as fast as its slowest.
///
/// # Errors
/// If a device fails, or the box cannot be divided like this; all ranks know.
pub fn grid(
    ranks: &Ranks,
    whole: &Grid,
    hybrid: &Hybrid,
    device: &Device,
    precision: Precision,
) -> Result<(Grid, Option<String>), Failure> {
    let np = hybrid.np.unwrap_or([1, 1, ranks.size()]);
    let [nx, ny] = agree(ranks, parts(whole, np, ranks.size()))?;
    let n = [nx, ny, whole.nz[0]];
    let (local, _) = ranks.local();
    let weight = match &hybrid.weights {
        Some(weights) => weights[local % weights.len()],
        None => agree(ranks, speed(device, precision, n))?,
    };
    let weights = ranks.gather(&[weight]).concat();
    let layers: Vec<f64> = weights
        .chunks(np[0] * np[1])
        .map(|layer| layer.iter().copied().fold(f64::INFINITY, f64::min))
        .collect();
    let Shares { nz, notice } = agree(ranks, shares(n[2], &layers))?;
    // Shares that the user gives are no speeds.
    let notice = notice.filter(|_| hybrid.weights.is_none());
    Ok((Grid { np, nx, ny, nz }, notice))
}

/// The points of each rank's part in x and y.
fn parts(whole: &Grid, np: [usize; 3], ranks: usize) -> Result<[usize; 2], Error> {
    if np.iter().try_fold(1, |size: usize, &n| size.checked_mul(n)) != Some(ranks) {
        let fits = [1, 1, ranks];
        return Err(InputError::GridSize { np, ranks, fits }.into());
    }
    let part = |side, n: usize, ranks: usize| {
        if n.is_multiple_of(STEP * ranks) {
            Ok(n / ranks)
        } else {
            Err(InputError::Undivided { side, n, ranks })
        }
    };
    Ok([part("nx", whole.nx, np[0])?, part("ny", whole.ny, np[1])?])
}

/// Rows that the device iterates over in a second, on a small box.
fn speed(device: &Device, precision: Precision, n: [usize; 3]) -> Result<f64, Error> {
    let problem = Problem::new(&Geometry::single(n.map(|n| n.min(TRIAL)))?);
    let orderings = Orderings::new(&Order::COLOR8, &problem);
    let levels = orderings.view(&problem.levels);
    device.run(
        precision,
        &levels,
        &Ranks::serial(),
        Trial {
            problem: &problem,
            level: &levels[0],
        },
    )
}

struct Trial<'a> {
    problem: &'a Problem,
    level: &'a Ordered<'a>,
}

impl Job for Trial<'_> {
    type Output = f64;
    fn run<B: Backend, S: System<B>>(self, backend: B, system: S) -> Result<f64, Error> {
        let b = &self.problem.b;
        let mut solver = Solver::new(backend, &Ranks::serial(), system, self.level, b, true)?;
        let params = CgParams {
            max_iter: ITERATIONS,
            tolerance: 0.0,
            preconditioned: true,
        };
        // The first run compiles and warms up.
        solver.solve(&params)?;
        solver.finish()?;
        let start = Instant::now();
        solver.solve(&params)?;
        solver.finish()?;
        Ok((b.len() * ITERATIONS) as f64 / start.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_weights_in_steps_of_eight() {
        let nz = |nz, weights: &[f64]| shares(nz, weights).unwrap().nz;
        assert_eq!(nz(64, &[1.0, 1.0]), [32, 32]);
        assert_eq!(nz(64, &[3.0, 1.0]), [48, 16]);
        assert_eq!(nz(104, &[10.0, 1.0]), [96, 8]);
        assert_eq!(nz(48, &[1.0, 2.0, 3.0]), [8, 16, 24]);
        assert_eq!(nz(16, &[1.0, 1000.0]), [8, 8]);
        assert!(shares(8, &[1.0, 1.0]).is_err());
    }

    #[test]
    fn a_box_is_divided_in_multiples_of_eight() {
        let parts = |np, ranks| {
            let whole = Grid::uniform([1; 3], [48, 32, 16]);
            parts(&whole, np, ranks).map_err(|error| error.to_string())
        };
        assert_eq!(parts([1, 1, 2], 2), Ok([48, 32]));
        assert_eq!(parts([3, 2, 1], 6), Ok([16, 16]));
        assert!(parts([1, 3, 1], 3).unwrap_err().contains("ny is 32"));
        assert!(parts([2, 1, 1], 4).unwrap_err().contains("1 x 1 x 4"));
    }

    #[test]
    fn a_share_that_does_not_pay_is_told() {
        assert_eq!(shares(64, &[1.0, 1.0]).unwrap().notice, None);
        assert!(shares(64, &[100.0, 1.0]).unwrap().notice.is_some());
    }
}
