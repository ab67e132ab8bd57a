//! The halo: which elements of a vector a rank sends to which neighbour, and where what it
//! receives goes. Computed from geometry alone (HPCG: `SetupHalo`).
//!
//! External columns follow the local rows, neighbour by neighbour in the order of their ranks;
//! within a neighbour they ascend by global row. The neighbour sends them in that order.

use std::ops::Range;

use crate::geometry::Geometry;
use crate::matrix::row_number;

/// One neighbour's part of a halo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its rank.
    pub rank: usize,
    /// Which part of [`Halo::send_rows`] goes to it.
    pub send: Range<usize>,
    /// Which externals come from it, counted from the first external.
    pub recv: Range<usize>,
}

/// What one rank exchanges on one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halo {
    /// The neighbours in the order of their ranks.
    pub neighbours: Vec<Neighbour>,
    /// Local rows whose elements are sent, neighbour by neighbour.
    pub send_rows: Vec<u32>,
    /// Number of elements received.
    pub external: usize,
    /// First external of each direction, by [`direction_index`]; unused ones are 0.
    first: [usize; 27],
}

fn direction_index(d: [i8; 3]) -> usize {
    usize::from((d[0] + 1 + 3 * (d[1] + 1) + 9 * (d[2] + 1)).unsigned_abs())
}

/// All 26 directions in the order of the ranks there.
fn directions() -> impl Iterator<Item = [i8; 3]> {
    let steps = -1..=1i8;
    steps
        .clone()
        .flat_map(move |dz| (-1..=1).flat_map(move |dy| (-1..=1).map(move |dx| [dx, dy, dz])))
        .filter(|&d| d != [0; 3])
}

impl Halo {
    /// The halo of a box.
    pub fn new(geometry: &Geometry) -> Self {
        let mut halo = Self {
            neighbours: Vec::new(),
            send_rows: Vec::new(),
            external: 0,
            first: [0; 27],
        };
        for d in directions() {
            let Some(rank) = geometry.neighbour(d) else {
                continue;
            };
            halo.first[direction_index(d)] = halo.external;
            let start = halo.send_rows.len();
            halo.send_rows.extend(surface(geometry, d));
            let send = start..halo.send_rows.len();
            let recv = halo.external..halo.external + send.len();
            halo.external = recv.end;
            halo.neighbours.push(Neighbour { rank, send, recv });
        }
        halo
    }

    /// The external that holds the point `q`, in local coordinates that lie one step outside the box.
    pub(crate) fn external_of(&self, geometry: &Geometry, q: [isize; 3]) -> usize {
        let mut d = [0; 3];
        let mut place = 0;
        for a in (0..3).rev() {
            let n = geometry.n[a];
            if q[a] < 0 {
                d[a] = -1;
            } else if q[a] >= n.cast_signed() {
                d[a] = 1;
            } else {
                place = place * n + q[a].cast_unsigned();
            }
        }
        self.first[direction_index(d)] + place
    }
}

impl Halo {
    /// Global rows of the externals, in their order.
    pub fn external_rows(&self, geometry: &Geometry) -> Vec<u64> {
        let mut rows = Vec::with_capacity(self.external);
        for d in directions().filter(|&d| geometry.neighbour(d).is_some()) {
            for i in surface(geometry, d) {
                let p = geometry.point(i as usize);
                let outside = [0, 1, 2]
                    .map(|a| (geometry.g0[a] + p[a] as u64).strict_add_signed(i64::from(d[a])));
                rows.push((outside[2] * geometry.gn[1] + outside[1]) * geometry.gn[0] + outside[0]);
            }
        }
        rows
    }
}

/// The rows of the box that touch the neighbour in direction `d`, ascending.
fn surface(geometry: &Geometry, d: [i8; 3]) -> impl Iterator<Item = u32> {
    let [nx, ny, _] = geometry.n;
    let range = |a: usize| match d[a] {
        -1 => 0..1,
        1 => geometry.n[a] - 1..geometry.n[a],
        _ => 0..geometry.n[a],
    };
    let (xs, ys, zs) = (range(0), range(1), range(2));
    zs.flat_map(move |z| {
        let xs = xs.clone();
        ys.clone()
            .flat_map(move |y| xs.clone().map(move |x| row_number((z * ny + y) * nx + x)))
    })
}
