//! The halos of HPCG: on every level of a box, the messages to all neighbours in the grid of ranks
//! that HPCG would choose.

use cubie_host::comm::Transport;
use cubie_host::geometry::process_grid;
use cubie_host::halo::Neighbour;
use cubie_host::problem::LEVELS;
use cubie_host::{Grid, Halo, Ranks};
use serde::{Deserialize, Serialize};

use super::operations::Neighbours;
use crate::Error;

/// Bytes of an element.
const ELEMENT: usize = size_of::<f64>();

/// What the rank with the most to send sends on a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HaloShape {
    /// The level; 0 is the finest.
    pub level: usize,
    /// Points of a rank's box there.
    pub local: [usize; 3],
    /// Ranks in x, y and z.
    pub grid: [usize; 3],
    /// The rank with the most to send.
    pub rank: usize,
    /// The ranks that it sends to.
    pub to: Vec<usize>,
    /// The bytes that each of them gets.
    pub bytes: Vec<usize>,
}

/// A halo of each level: what the busiest rank sends, and the neighbours of this one.
///
/// # Errors
/// If the box is too large.
pub(super) fn halos(
    ranks: &Ranks,
    local: [usize; 3],
) -> Result<Vec<(HaloShape, Vec<Neighbour>)>, Error> {
    let grid = Grid::uniform(process_grid(ranks.size()), local);
    let mut geometry = grid.geometry(ranks.rank())?;
    let mut halos = Vec::with_capacity(LEVELS);
    for level in 0..LEVELS {
        let neighbours = Halo::new(&geometry).neighbours;
        let bytes: Vec<usize> = neighbours.iter().map(|n| ELEMENT * n.send.len()).collect();
        let to: Vec<usize> = neighbours.iter().map(|n| n.rank).collect();
        let words = to.iter().chain(&bytes);
        let words: Vec<u8> = words.flat_map(|word| word.to_ne_bytes()).collect();
        let shapes = ranks.gather_bytes(&words).into_iter().map(|words| {
            let words = words.as_chunks().0.iter();
            let mut to: Vec<usize> = words.map(|&word| usize::from_ne_bytes(word)).collect();
            let bytes = to.split_off(to.len() / 2);
            (to, bytes)
        });
        let (rank, (to, bytes)) = shapes
            .enumerate()
            .rev()
            .max_by_key(|(_, (_, bytes))| bytes.iter().sum::<usize>())
            .expect("at least one rank");
        let shape = HaloShape {
            level,
            local: geometry.n,
            grid: grid.np,
            rank,
            to,
            bytes,
        };
        halos.push((shape, neighbours));
        if level + 1 < LEVELS {
            geometry = geometry.coarser();
        }
    }
    Ok(halos)
}

/// The exchange of such a halo.
///
/// # Errors
/// If these ranks do not have the transport, or it has too little memory.
pub(super) fn exchange(
    ranks: &Ranks,
    transport: Transport,
    neighbours: Vec<Neighbour>,
) -> Result<Neighbours, Error> {
    Neighbours::new(ranks, transport, neighbours, ELEMENT)
}
