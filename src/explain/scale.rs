//! The rating of many ranks, from the work of one and a network of latency α and bandwidth β.
//!
//! An iteration takes the bytes of a rank's rows through its share of the memory; seven exchanges of halos
//! (SpMV, and on each finer level one for the residual and one for the post-smoother), each `α` a
//! message and `bytes / β`; and three sums over P ranks of `⌈log₂ P⌉` steps, each `α` and
//! `8 bytes / β` of the allreduce. Nothing overlaps.

use std::str::FromStr;

use cubie_host::problem::LEVELS;
use serde::Serialize;

use super::{Explanation, Rates};
use crate::Error;
use crate::model::{Counts, level_sizes};
use crate::net::{Net, NoFigures};
use crate::params::Sizes;
use crate::saved::run::Run;

/// Sums over the ranks in an iteration: r·z, p·Ap and r·r.
const SUMS: f64 = 3.0;
/// Iterations that earn flops.
const CREDITED: u64 = 50;
/// Bytes of an element of a halo.
const ELEMENT: f64 = 8.0;

/// A network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    /// Where the figures come from.
    pub source: String,
    /// A message of a halo.
    pub halo: Link,
    /// A step of an allreduce.
    pub allreduce: Link,
}

/// What a message costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Seconds without bytes.
    pub alpha: f64,
    /// Seconds of a byte, 1 / β.
    pub seconds_a_byte: f64,
}

impl Link {
    /// Seconds of so many messages with so many bytes together.
    fn seconds(&self, messages: f64, bytes: f64) -> f64 {
        messages * self.alpha + bytes * self.seconds_a_byte
    }
}

impl Network {
    /// A network of which only the latency in seconds and the bytes per second are known.
    pub fn given(alpha: f64, beta: f64) -> Self {
        let link = Link {
            alpha,
            seconds_a_byte: 1.0 / beta,
        };
        Self {
            source: "as given".into(),
            halo: link,
            allreduce: link,
        }
    }

    /// What `cubie net` measured on the most ranks; halos as `transport` sends them, if that was
    /// among what was measured.
    ///
    /// # Errors
    /// If halos or sums were not measured.
    pub fn measured(net: &Net, transport: Option<&str>) -> Result<Self, NoFigures> {
        let (halos, halo) = net.halo(transport)?;
        let (sums, sum) = net.allreduce()?;
        let steps = steps(sums.processes);
        Ok(Self {
            source: format!(
                "{} on {} ranks and {} on {}, {}",
                halos.operation, halos.processes, sums.operation, sums.processes, net.library
            ),
            halo: Link {
                alpha: halo.alpha,
                seconds_a_byte: halo.seconds_a_byte,
            },
            allreduce: Link {
                alpha: sum.alpha / steps,
                seconds_a_byte: sum.seconds_a_byte / steps,
            },
        })
    }
}

/// ⌈log₂ P⌉.
fn steps(ranks: usize) -> f64 {
    f64::from(ranks.next_power_of_two().trailing_zeros())
}

/// Nodes, and ranks on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankCount {
    nodes: usize,
    each: usize,
}

impl FromStr for RankCount {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (nodes, each) = text.split_once('x').unwrap_or((text, "1"));
        let count = |text: &str| text.parse().ok().filter(|&n: &usize| 0 < n && n <= 1 << 24);
        match (count(nodes), count(each)) {
            (Some(nodes), Some(each)) if nodes * each <= 1 << 24 => Ok(Self { nodes, each }),
            _ => Err("use a number of nodes with one rank each, such as 1024, or nodes x ranks on each, such as 36x8".into()),
        }
    }
}

/// What is to be extrapolated.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// How many ranks.
    pub counts: Vec<RankCount>,
    /// Points of each rank's box.
    pub local: [usize; 3],
    /// The network.
    pub network: Network,
}

/// The rating of so many ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaled {
    /// Ranks.
    pub ranks: usize,
    /// Ranks on each node.
    pub ranks_a_node: usize,
    /// Ranks in x, y and z.
    pub grid: [usize; 3],
    /// Points of a rank's box.
    pub local: [usize; 3],
    /// The rating in GFLOP/s, the preparation left out.
    pub gflops: f64,
    /// Seconds of an iteration.
    pub iteration: f64,
    /// The share of the exchange of halos.
    pub halo: f64,
    /// The share of the sums over the ranks.
    pub allreduce: f64,
}

/// The ratings of ranks on nodes whose memory has these rates, which do the work of `run`.
///
/// # Errors
/// If HPCG has no grid for such ranks or boxes.
pub fn scale(run: &Run, rates: &Rates, scaling: &Scaling) -> Result<Vec<Scaled>, Error> {
    let explained = Explanation::new(run, rates);
    let results = &run.results;
    let work = results.iterations() as f64 * results.levels[0].rows as f64;
    let a_row = explained.predicted_seconds() / work;
    // An order that needs more iterations than the reference earns nothing for them.
    let credited = CREDITED as f64 / results.optimised.iterations_per_set as f64;
    let one = |count: &RankCount| {
        let ranks = count.nodes * count.each;
        let sizes = Sizes {
            n: scaling.local.map(Some),
            ..Sizes::default()
        };
        let grid = sizes.grid(ranks)?;
        let levels = level_sizes(&grid.geometry(0)?);
        let flops = Counts::new(&levels, 1, CREDITED).flops.sum() / CREDITED as f64;
        let rows: usize = scaling.local.iter().product();
        let work = a_row * rows as f64 * count.each as f64;
        let halo = halo(grid.np, scaling.local, scaling.network.halo);
        let sums = SUMS * steps(ranks) * scaling.network.allreduce.seconds(1.0, ELEMENT);
        let iteration = work + halo + sums;
        Ok(Scaled {
            ranks,
            ranks_a_node: count.each,
            grid: grid.np,
            local: scaling.local,
            gflops: credited * flops / iteration / 1e9,
            iteration,
            halo: halo / iteration,
            allreduce: sums / iteration,
        })
    };
    scaling.counts.iter().map(one).collect()
}

/// Seconds of the exchanges of an iteration on the rank with the most neighbours.
fn halo(np: [usize; 3], local: [usize; 3], link: Link) -> f64 {
    let sides = np.map(|np| np.min(3) - 1);
    let messages = sides.map(|s| 1 + s).iter().product::<usize>() - 1;
    let mut seconds = 0.0;
    for level in 0..LEVELS - 1 {
        let n = local.map(|n| n >> level);
        let grown: usize = [0, 1, 2].map(|d| n[d] + sides[d]).iter().product();
        let elements = grown - n.iter().product::<usize>();
        let exchange = link.seconds(messages as f64, ELEMENT * elements as f64);
        let exchanges = if level == 0 { 3.0 } else { 2.0 };
        seconds += exchanges * exchange;
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ranks_are_read() {
        let read = |text: &str| text.parse::<RankCount>();
        assert_eq!(read("36x8"), Ok(RankCount { nodes: 36, each: 8 }));
        assert_eq!(
            read("1024"),
            Ok(RankCount {
                nodes: 1024,
                each: 1
            })
        );
        for text in [
            "",
            "0",
            "4x0",
            "x8",
            "3x3x3",
            "-1",
            "99999999999",
            "9999999x999",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    /// The elements are those of the halo that the host computes.
    #[test]
    fn halos_are_as_large_as_they_really_are() {
        let link = Link {
            alpha: 0.0,
            seconds_a_byte: 1.0,
        };
        for np in [[3, 3, 3], [2, 1, 1], [4, 2, 1]] {
            let local = [16, 24, 32];
            let grid = cubie_host::Grid::uniform(np, local);
            let middle = np.map(|np| np / 2);
            let rank = (middle[2] * np[1] + middle[1]) * np[0] + middle[0];
            let mut geometry = grid.geometry(rank).unwrap();
            let mut bytes = 0;
            for level in 0..LEVELS - 1 {
                let sent = cubie_host::Halo::new(&geometry).send_rows.len();
                bytes += 8 * sent * if level == 0 { 3 } else { 2 };
                geometry = geometry.coarser();
            }
            let modelled = halo(np, local, link);
            // Corners and edges are sent to several neighbours.
            assert!(
                (modelled - bytes as f64).abs() < 0.5,
                "{np:?}: {modelled} {bytes}"
            );
        }
    }
}
