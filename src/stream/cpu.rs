//! The kernels on the cores: pinned threads, each on the share that it touched first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use bytemuck::Pod;
use core_affinity::CoreId;
use pulp::{Arch, NullaryFnOnce};

use super::check::{Expected, INITIAL};
use super::gather::{Columns, Gather, gather};
#[cfg(target_arch = "x86_64")]
use super::kernels::nontemporal;
use super::kernels::{self, BLOCK, Line};
use super::{Kernel, Measured, SCALAR, StreamError};
use crate::cpu::{Ahead, PageSize, Pages};
use crate::pool::Pool;
use crate::real::Real;

/// Numbers in a cache line.
pub(super) const F64_LINE: usize = 8;
pub(super) const F32_LINE: usize = 16;

/// Measures on arrays of `lines` lines with one thread pinned to each of `cpus`; Gather in a box with
/// `sides` points of a colour.
///
/// # Errors
/// If the system refuses memory or pinning.
pub(super) fn measure<T: Real, const N: usize>(
    cpus: &[usize],
    lines: usize,
    sides: [usize; 3],
    times: usize,
    pages: PageSize,
) -> Result<Measured, StreamError>
where
    Line<T, N>: Pod,
    Columns<N>: Pod,
{
    // A thread of its own, so that the caller stays where it may run.
    let team = || Team::<T, N>::new(cpus, lines, sides, pages)?.measure(times);
    thread::scope(|scope| scope.spawn(team).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

struct Team<T, const N: usize> {
    pool: Pool,
    threads: usize,
    a: Pages<Line<T, N>>,
    b: Pages<Line<T, N>>,
    c: Pages<Line<T, N>>,
    gather: Gather<T, N>,
    /// Each thread's part of a sum.
    parts: Vec<f64>,
}

impl<T: Real, const N: usize> Team<T, N>
where
    Line<T, N>: Pod,
    Columns<N>: Pod,
{
    fn new(
        cpus: &[usize],
        lines: usize,
        sides: [usize; 3],
        pages: PageSize,
    ) -> Result<Self, StreamError> {
        let pool = Pool::new(cpus.len());
        pin(&pool, cpus)?;
        let [a, b, c] = INITIAL.map(|value| array(&pool, lines, pages, T::from_f64(value)));
        let needed = (lines * size_of::<Columns<N>>()) as u64;
        let gather =
            Gather::new(&pool, lines, sides, pages).ok_or(StreamError::Refused { needed })?;
        Ok(Self {
            gather,
            a: a?,
            b: b?,
            c: c?,
            threads: cpus.len(),
            parts: vec![0.0; cpus.len()],
            pool,
        })
    }

    fn measure(mut self, times: usize) -> Result<Measured, StreamError> {
        let mut expected = Expected::<T>::new();
        let mut seconds = vec![Vec::with_capacity(times); Kernel::ALL.len()];
        let mut sums = [0.0; 2];
        let mut gathered = 0.0;
        for _ in 0..times {
            for (&kernel, seconds) in Kernel::ALL.iter().zip(&mut seconds) {
                let start = Instant::now();
                let sum = self.run(kernel);
                seconds.push(start.elapsed().as_secs_f64());
                match kernel {
                    Kernel::Triad | Kernel::TriadNt => expected.pass(),
                    Kernel::Dot => sums[0] = sum,
                    Kernel::Read => sums[1] = sum,
                    Kernel::Gather => gathered = sum,
                    _ => {}
                }
            }
        }
        let n = self.a.len() * N;
        let arrays = [&self.a[..], &self.b, &self.c];
        let errors = [0, 1, 2].map(|k| average_error(arrays[k], expected.values[k]));
        let terms = BLOCK * N;
        let mut check = expected.check(errors, sums, n, terms);
        let (c, bound) = (
            expected.values[2].to_f64(),
            expected.sums_bound(n as f64, terms),
        );
        self.gather.check(&mut check, gathered, c, bound);
        let rows = Kernel::ALL.iter().zip(&seconds).map(|(&kernel, seconds)| {
            let columns = match kernel {
                Kernel::Gather => self.gather.bytes(),
                _ => 0,
            };
            kernel.row(n * size_of::<T>() + columns, seconds)
        });
        Ok(Measured {
            rows: rows.collect(),
            check,
        })
    }

    /// Runs a kernel on all threads; returns the sum, if it is one.
    fn run(&mut self, kernel: Kernel) -> f64 {
        let Self { pool, a, b, c, .. } = self;
        match kernel {
            Kernel::Copy | Kernel::CopyNt => each(pool, kernel, c, [a, a]),
            Kernel::Scale | Kernel::ScaleNt => each(pool, kernel, b, [c, c]),
            Kernel::Add | Kernel::AddNt => each(pool, kernel, c, [a, b]),
            Kernel::Triad | Kernel::TriadNt => each(pool, kernel, a, [b, c]),
            Kernel::Dot | Kernel::Read | Kernel::Gather => return self.sum(kernel),
        }
        0.0
    }

    /// The sum over the threads, in their order.
    fn sum(&mut self, kernel: Kernel) -> f64 {
        // Gather takes the array that has not been passed over for the longest time, as HPCG's
        // kernels do: a cache that holds one array does not help.
        let a = match kernel {
            Kernel::Gather => &self.c,
            _ => &self.a,
        };
        let (b, threads) = (&self.b, self.threads);
        let Gather { columns, x, ahead } = &self.gather;
        self.pool.split(&mut self.parts, |thread, part| {
            let at = a.len() * thread / threads..a.len() * (thread + 1) / threads;
            part[0] = Arch::new().dispatch(Sum {
                kernel,
                a: &a[at.clone()],
                b: &b[at.clone()],
                columns: &columns[at],
                x,
                ahead: *ahead,
            });
        });
        self.parts.iter().sum()
    }
}

/// Runs `kernel` on each thread's share of `to` and of what it is computed `from`.
fn each<T: Real, const N: usize>(
    pool: &Pool,
    kernel: Kernel,
    to: &mut [Line<T, N>],
    from: [&[Line<T, N>]; 2],
) {
    pool.split(to, |start, to| {
        let from = from.map(|lines| &lines[start..start + to.len()]);
        Arch::new().dispatch(Share { kernel, to, from });
    });
}

/// One thread's share. It is no closure, since those the compiler may leave outside of the function
/// that can use the widest vectors of this machine.
struct Share<'a, T, const N: usize> {
    kernel: Kernel,
    to: &'a mut [Line<T, N>],
    from: [&'a [Line<T, N>]; 2],
}

impl<T: Real, const N: usize> NullaryFnOnce for Share<'_, T, N> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { kernel, to, from } = self;
        let [x, y] = from;
        let q = T::from_f64(SCALAR);
        match kernel {
            Kernel::Copy => kernels::copy(to, x),
            Kernel::Scale => kernels::scale(to, q, x),
            Kernel::Add => kernels::add(to, x, y),
            Kernel::Triad => kernels::triad(to, x, q, y),
            #[cfg(target_arch = "x86_64")]
            Kernel::CopyNt => nontemporal::copy(to, x),
            #[cfg(target_arch = "x86_64")]
            Kernel::ScaleNt => nontemporal::scale(to, q, x),
            #[cfg(target_arch = "x86_64")]
            Kernel::AddNt => nontemporal::add(to, x, y),
            #[cfg(target_arch = "x86_64")]
            Kernel::TriadNt => nontemporal::triad(to, x, q, y),
            _ => unreachable!("a sum, or not among the kernels of this architecture"),
        }
    }
}

/// One thread's part of a sum.
struct Sum<'a, T, const N: usize> {
    kernel: Kernel,
    a: &'a [Line<T, N>],
    b: &'a [Line<T, N>],
    columns: &'a [Columns<N>],
    x: &'a [T],
    ahead: Ahead,
}

impl<T: Real, const N: usize> NullaryFnOnce for Sum<'_, T, N> {
    type Output = f64;
    #[inline(always)]
    fn call(self) -> f64 {
        match self.kernel {
            Kernel::Dot => kernels::dot(self.a, self.b),
            Kernel::Gather => gather(self.ahead, self.a, self.columns, self.x),
            _ => kernels::read(self.a),
        }
    }
}

/// Pins the threads of the team.
fn pin(pool: &Pool, cpus: &[usize]) -> Result<(), StreamError> {
    let refused = AtomicUsize::new(usize::MAX);
    pool.run(|member| {
        let id = cpus[member.index];
        if !core_affinity::set_for_current(CoreId { id }) {
            refused.store(id, Ordering::Relaxed);
        }
    });
    match refused.into_inner() {
        usize::MAX => Ok(()),
        cpu => Err(StreamError::Pin { cpu }),
    }
}

/// An array of equal numbers; each thread is the first to touch its share.
fn array<T: Real, const N: usize>(
    pool: &Pool,
    lines: usize,
    pages: PageSize,
    value: T,
) -> Result<Pages<Line<T, N>>, StreamError>
where
    Line<T, N>: Pod,
{
    let needed = (lines * size_of::<Line<T, N>>()) as u64;
    let mut array = Pages::new(lines, pages).map_err(|_| StreamError::Refused { needed })?;
    pool.split(&mut array, |_, share| share.fill(Line([value; N])));
    Ok(array)
}

/// The mean of |value − expected| / |expected|.
fn average_error<T: Real, const N: usize>(array: &[Line<T, N>], expected: T) -> f64 {
    let expected = expected.to_f64();
    let values = array.iter().flat_map(|line| line.0);
    let sum: f64 = values.map(|value| (value.to_f64() - expected).abs()).sum();
    sum / expected.abs() / (array.len() * N) as f64
}
