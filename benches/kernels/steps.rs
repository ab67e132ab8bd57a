//! The steps of `Backend`, and what a call of each takes on each level.

use std::time::{Duration, Instant};

use cubie::device::Job;
use cubie::mg::System;
use cubie::validate::kernels::hash_vector;
use cubie::{Backend, Error, Op};
use cubie_host::{HaloExchange, Ordered, Ranks};

use crate::common::median::median;

/// Time that a batch of calls takes at least, so that waiting for its end does not count.
const BATCH: Duration = Duration::from_millis(5);
/// Calls of a batch at most: each may need a scalar on the device, and those are limited.
const MOST_CALLS: u32 = 4096;
/// Batches of each step, of which the median counts.
const BATCHES: usize = 9;

/// A step on all levels.
pub(crate) struct Row {
    pub(crate) step: &'static str,
    pub(crate) levels: Vec<Option<Call>>,
}

/// One call of a step.
pub(crate) struct Call {
    pub(crate) seconds: f64,
    pub(crate) bytes: f64,
}

/// Times every step on these levels.
pub(crate) struct Steps<'a>(pub(crate) &'a [Ordered<'a>]);

impl Job for Steps<'_> {
    type Output = Vec<Row>;

    fn run<B: Backend, S: System<B>>(self, mut backend: B, _: S) -> Result<Vec<Row>, Error> {
        let mut rows: Vec<Row> = steps::<B>()
            .map(|(step, _)| Row {
                step,
                levels: Vec::new(),
            })
            .into();
        for level in self.0 {
            let mut place = Place::new(&mut backend, level)?;
            for (row, (_, step)) in rows.iter_mut().zip(steps()) {
                row.levels.push(time(&mut backend, &mut place, step)?);
            }
        }
        Ok(rows)
    }
}

/// One level on a device, and vectors to work on.
struct Place<B: Backend> {
    A: B::Matrix,
    halo: HaloExchange,
    /// Vectors with `ncol` elements.
    x: B::Vector,
    p: B::Vector,
    /// Vectors with `nrow` elements.
    r: B::Vector,
    Ap: B::Vector,
    coarse: Option<Coarse<B>>,
    alpha: Option<B::Scalar>,
}

/// What the steps to the next coarser level and back need.
struct Coarse<B: Backend> {
    work: B::Vector,
    rc: B::Vector,
    xc: B::Vector,
}

impl<B: Backend> Place<B> {
    fn new(b: &mut B, level: &Ordered<'_>) -> Result<Self, Error> {
        let (nrow, ncol) = (level.level.A.nrow, level.level.A.ncol);
        let mut vector = |len: usize| -> Result<B::Vector, Error> {
            let mut vector = b.vector(len)?;
            b.write(
                &mut vector,
                &hash_vector(&level.level.geometry)[..len.min(nrow)],
            );
            Ok(vector)
        };
        let coarse = match level.coarse {
            None => None,
            Some(coarse) => Some(Coarse {
                work: vector(nrow)?,
                rc: vector(coarse.perm.len())?,
                xc: vector(coarse.perm.len())?,
            }),
        };
        Ok(Self {
            x: vector(ncol)?,
            p: vector(ncol)?,
            r: vector(nrow)?,
            Ap: vector(nrow)?,
            coarse,
            A: b.matrix(level)?,
            halo: Ranks::serial().exchange(&level.level.halo, b.element())?,
            alpha: None,
        })
    }

    /// A number that keeps vectors bounded however often they are updated.
    fn alpha(&self) -> B::Scalar {
        self.alpha.expect("set before a batch")
    }
}

/// Calls a step; `None` where the level has no such step.
type Step<B> = fn(&mut B, &mut Place<B>) -> Result<Option<()>, Error>;

/// The steps of `Backend` by name.
fn steps<B: Backend>() -> [(&'static str, Step<B>); 12] {
    [
        ("spmv", |b, l| {
            b.spmv(&l.A, &l.p, &mut l.Ap);
            Ok(Some(()))
        }),
        ("spmv_dot", |b, l| {
            b.spmv_dot(&l.A, &mut l.halo, &mut l.p, &mut l.Ap)?;
            Ok(Some(()))
        }),
        ("smooth_from_zero", |b, l| {
            let work = l.coarse.as_mut().map(|coarse| &mut coarse.work);
            b.smooth_from_zero(&l.A, &l.r, &mut l.x, work);
            Ok(Some(()))
        }),
        ("restrict_residual", |b, l| {
            let Some(Coarse { work, rc, .. }) = &mut l.coarse else {
                return Ok(None);
            };
            b.restrict_residual(&l.A, &mut l.halo, &l.r, &mut l.x, work, rc)?;
            Ok(Some(()))
        }),
        ("correct_and_smooth", |b, l| {
            let Some(Coarse { work, xc, .. }) = &mut l.coarse else {
                return Ok(None);
            };
            b.correct_and_smooth(&l.A, &mut l.halo, xc, &l.r, &mut l.x, work)?;
            Ok(Some(()))
        }),
        ("correct_and_smooth_dot", |b, l| {
            let Some(Coarse { work, xc, .. }) = &mut l.coarse else {
                return Ok(None);
            };
            b.correct_and_smooth_dot(&l.A, &mut l.halo, xc, &l.r, &mut l.x, work)?;
            Ok(Some(()))
        }),
        ("symgs", |b, l| {
            b.symgs(&l.A, &l.r, &mut l.x);
            Ok(Some(()))
        }),
        ("restriction", |b, l| {
            let Some(Coarse { rc, .. }) = &mut l.coarse else {
                return Ok(None);
            };
            b.restriction(&l.A, &l.r, &l.Ap, rc);
            Ok(Some(()))
        }),
        ("prolongation", |b, l| {
            let Some(Coarse { xc, .. }) = &l.coarse else {
                return Ok(None);
            };
            b.prolongation(&l.A, xc, &mut l.x);
            Ok(Some(()))
        }),
        ("dot", |b, l| {
            b.dot(&l.r, &l.Ap);
            Ok(Some(()))
        }),
        ("waxpby", |b, l| {
            b.waxpby(l.alpha(), &l.r, l.alpha(), &mut l.p);
            Ok(Some(()))
        }),
        ("update_and_norm", |b, l| {
            b.update_and_norm(l.alpha(), &l.p, &l.Ap, &mut l.x, &mut l.r);
            Ok(Some(()))
        }),
    ]
}

/// The median call of a step.
fn time<B: Backend>(b: &mut B, place: &mut Place<B>, step: Step<B>) -> Result<Option<Call>, Error> {
    let mut batch = |calls: u32| -> Result<Option<(f64, f64)>, Error> {
        b.forget_scalars();
        place.alpha = Some(b.scalar(0.5));
        b.finish()?;
        let start = Instant::now();
        b.enter(Op::Mg);
        for _ in 0..calls {
            if step(b, place)?.is_none() {
                return Ok(None);
            }
        }
        let bytes = b.finish()?.bytes.sum();
        Ok(Some((start.elapsed().as_secs_f64(), bytes)))
    };
    // Drivers compile at the first call.
    if batch(1)?.is_none() {
        return Ok(None);
    }
    let mut calls = 1;
    while let Some((seconds, _)) = batch(calls)?
        && seconds < BATCH.as_secs_f64()
        && calls < MOST_CALLS
    {
        calls *= 2;
    }
    let mut seconds = Vec::with_capacity(BATCHES);
    let mut moved = 0.0;
    while seconds.len() < BATCHES {
        if let Some((took, bytes)) = batch(calls)? {
            seconds.push(took / f64::from(calls));
            moved = bytes / f64::from(calls);
        }
    }
    Ok(Some(Call {
        seconds: median(seconds),
        bytes: moved,
    }))
}
