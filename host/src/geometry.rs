//! Boxes of grid points: which rank holds which part of the global grid.
//!
//! Ranks form a grid of `npx × npy × npz`, x fastest; so do the points of a box. All boxes have
//! the same `nx` and `ny`; `nz` may differ from layer to layer of ranks (HPCG: `GenerateGeometry`).

use crate::error::Error;

/// The grid of ranks and the boxes they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Ranks in x, y and z: `npx, npy, npz`.
    pub np: [usize; 3],
    /// Points of every box in x.
    pub nx: usize,
    /// Points of every box in y.
    pub ny: usize,
    /// Points in z of the boxes of each layer of ranks (`npz` values).
    pub nz: Vec<usize>,
}

/// One rank's box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// This rank.
    pub rank: usize,
    /// Ranks in x, y and z: `npx, npy, npz`.
    pub np: [usize; 3],
    /// This rank's place in the grid of ranks: `ipx, ipy, ipz`.
    pub ip: [usize; 3],
    /// Points of the box: `nx, ny, nz`.
    pub n: [usize; 3],
    /// Points of the global grid: `gnx, gny, gnz`.
    pub gn: [u64; 3],
    /// Global coordinates of the box's first point.
    pub g0: [u64; 3],
}

impl Grid {
    /// Equal boxes of `n` points for a grid of `np` ranks.
    pub fn uniform(np: [usize; 3], n: [usize; 3]) -> Self {
        Self {
            np,
            nx: n[0],
            ny: n[1],
            nz: vec![n[2]; np[2]],
        }
    }

    /// Ranks with `ipz < pz` have `nz = zl`, the others `nz = zu` (HPCG's `--pz --zl --zu`).
    pub fn split_in_z(np: [usize; 3], n: [usize; 2], pz: usize, zl: usize, zu: usize) -> Self {
        let nz = (0..np[2])
            .map(|ipz| if ipz < pz { zl } else { zu })
            .collect();
        Self {
            np,
            nx: n[0],
            ny: n[1],
            nz,
        }
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.np.iter().product()
    }

    /// Points of the global grid.
    pub fn gn(&self) -> [u64; 3] {
        let gnz = self.nz.iter().map(|&nz| nz as u64).sum();
        [
            self.np[0] as u64 * self.nx as u64,
            self.np[1] as u64 * self.ny as u64,
            gnz,
        ]
    }

    /// The rank in the middle: none has more neighbours, so none has a larger halo around its box.
    pub fn middle(&self) -> usize {
        let [x, y, z] = self.np.map(|np| np / 2);
        (z * self.np[1] + y) * self.np[0] + x
    }

    /// The box of `rank`.
    ///
    /// # Errors
    /// If the box has more rows than 32-bit row numbers with their halo can name.
    pub fn geometry(&self, rank: usize) -> Result<Geometry, Error> {
        assert!(rank < self.size(), "rank {rank} of {}", self.size());
        assert_eq!(self.nz.len(), self.np[2], "one nz for each layer of ranks");
        let [npx, npy, _] = self.np;
        let ip = [rank % npx, rank / npx % npy, rank / (npx * npy)];
        let n = [self.nx, self.ny, self.nz[ip[2]]];
        let below = self.nz[..ip[2]].iter().map(|&nz| nz as u64).sum();
        let g0 = [
            ip[0] as u64 * n[0] as u64,
            ip[1] as u64 * n[1] as u64,
            below,
        ];
        let rows_with_halo = n.iter().try_fold(1u32, |rows, &n| {
            rows.checked_mul(u32::try_from(n + 2).ok()?)
        });
        if rows_with_halo.is_none() {
            return Err(Error::TooManyRows { n });
        }
        Ok(Geometry {
            rank,
            np: self.np,
            ip,
            n,
            gn: self.gn(),
            g0,
        })
    }
}

impl Geometry {
    /// The whole problem in one box.
    ///
    /// # Errors
    /// As [`Grid::geometry`].
    pub fn single(n: [usize; 3]) -> Result<Self, Error> {
        Grid::uniform([1; 3], n).geometry(0)
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.np.iter().product()
    }

    /// Rows that this rank holds.
    pub fn nrow(&self) -> usize {
        self.n.iter().product()
    }

    /// Rows of the global problem.
    pub fn global_rows(&self) -> u64 {
        self.gn.iter().product()
    }

    /// Nonzeros of the global matrix: `(3gnx−2)(3gny−2)(3gnz−2)`.
    pub fn global_nnz(&self) -> u64 {
        self.gn.iter().map(|g| 3 * g - 2).product()
    }

    /// Local coordinates of local row `i`.
    pub fn point(&self, i: usize) -> [usize; 3] {
        let [nx, ny, _] = self.n;
        [i % nx, i / nx % ny, i / (nx * ny)]
    }

    /// Global row number of local row `i`.
    pub fn global_row(&self, i: usize) -> u64 {
        let p = self.point(i);
        let [gx, gy, gz] = [0, 1, 2].map(|d| self.g0[d] + p[d] as u64);
        (gz * self.gn[1] + gy) * self.gn[0] + gx
    }

    /// The next coarser level's box: every dimension halved.
    ///
    /// # Panics
    /// If a local dimension or the start of the box is odd.
    pub fn coarser(&self) -> Self {
        let halve = |n: u64| {
            assert!(n.is_multiple_of(2), "{:?} cannot be halved", self.n);
            n / 2
        };
        Self {
            n: self.n.map(|n| {
                assert!(n.is_multiple_of(2), "{:?} cannot be halved", self.n);
                n / 2
            }),
            gn: self.gn.map(halve),
            g0: self.g0.map(halve),
            ..self.clone()
        }
    }

    /// The rank one step away in direction `d` (−1, 0 or 1 in x, y and z), if there is one.
    pub fn neighbour(&self, d: [i8; 3]) -> Option<usize> {
        let mut ip = [0; 3];
        for a in 0..3 {
            ip[a] = self.ip[a]
                .checked_add_signed(isize::from(d[a]))
                .filter(|&i| i < self.np[a])?;
        }
        Some(ip[0] + self.np[0] * (ip[1] + self.np[1] * ip[2]))
    }
}

/// The default grid for `size` ranks, as HPCG's reference implementation chooses it
/// (`ComputeOptimalShapeXYZ`): few prime factors are dealt out directly, else the grid of least
/// surface that comes first when the shares of `npx`, then of `npy`, count up from the smallest prime.
pub fn process_grid(size: usize) -> [usize; 3] {
    let primes = prime_factors(size);
    let [p, q, r] = [0, 1, 2].map(|i| primes.get(i).map_or(1, |prime| prime.0));
    let powers: Vec<u32> = primes.iter().map(|prime| prime.1).collect();
    match powers[..] {
        [] => [1, 1, 1],
        [n] => [n.div_ceil(3), (n + 1) / 3, n / 3].map(|power| p.pow(power)),
        [1, 1] => [p, q, 1],
        [2, 1] => [p, q, p],
        [1, 2] => [p, q, q],
        [1, 1, 1] => [p, q, r],
        _ => least_surface(size, &primes),
    }
}

/// The primes of `n`, ascending, with their powers.
fn prime_factors(mut n: usize) -> Vec<(usize, u32)> {
    let mut primes = Vec::new();
    let mut p = 2;
    while n > 1 {
        if p * p > n {
            p = n;
        }
        let mut power = 0;
        while n.is_multiple_of(p) {
            n /= p;
            power += 1;
        }
        if power > 0 {
            primes.push((p, power));
        }
        p += 1;
    }
    primes
}

/// Divisors of the product of `primes` in mixed-radix counting order, the first prime fastest.
fn divisors(primes: &[(usize, u32)]) -> Vec<usize> {
    let mut divisors = vec![1];
    for &(p, power) in primes {
        let smaller = divisors.clone();
        for k in 1..=power {
            divisors.extend(smaller.iter().map(|d| d * p.pow(k)));
        }
    }
    divisors
}

fn least_surface(size: usize, primes: &[(usize, u32)]) -> [usize; 3] {
    let mut best = (usize::MAX, [size, 1, 1]);
    for &a in divisors(primes).iter().skip(1) {
        for &b in divisors(primes)
            .iter()
            .skip(1)
            .filter(|&b| (size / a).is_multiple_of(*b))
        {
            let c = size / a / b;
            let surface = a * b + b * c + c * a;
            if surface < best.0 {
                best = (surface, [a, b, c]);
            }
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_grid_is_the_references_for_1_to_1024_ranks() {
        let table = include_str!("../../tests/data/process_grid.json");
        let table: serde_json::Value = serde_json::from_str(table).unwrap();
        for size in 1..=1024 {
            let expected: Vec<u64> = table[size.to_string()]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n.as_u64().unwrap())
                .collect();
            assert_eq!(
                process_grid(size).map(|n| n as u64),
                expected[..],
                "{size} ranks"
            );
        }
    }

    #[test]
    fn unequal_boxes_tile_the_global_grid() {
        let grid = Grid::split_in_z([2, 1, 3], [16, 8], 1, 24, 16);
        assert_eq!(grid.gn(), [32, 8, 56]);
        let mut seen = vec![false; 32 * 8 * 56];
        for rank in 0..grid.size() {
            let g = grid.geometry(rank).unwrap();
            for i in 0..g.nrow() {
                let row = usize::try_from(g.global_row(i)).unwrap();
                assert!(!seen[row], "row {row} is held twice");
                seen[row] = true;
            }
        }
        assert!(seen.iter().all(|&s| s));
    }

    #[test]
    fn neighbours_end_at_the_rim_of_the_rank_grid() {
        let g = Grid::uniform([2, 2, 2], [8; 3]).geometry(0).unwrap();
        assert_eq!(g.neighbour([1, 0, 0]), Some(1));
        assert_eq!(g.neighbour([1, 1, 1]), Some(7));
        assert_eq!(g.neighbour([-1, 0, 0]), None);
    }

    #[test]
    fn nobody_has_more_neighbours_than_the_middle() {
        let steps = [-1, 0, 1];
        let all = steps.map(|x| steps.map(|y| steps.map(|z| [x, y, z])));
        for np in [[1, 1, 1], [2, 2, 1], [3, 2, 4], [5, 3, 3]] {
            let grid = Grid::uniform(np, [16; 3]);
            let neighbours = |rank| {
                let geometry = grid.geometry(rank).unwrap();
                let all = all.as_flattened().as_flattened().iter();
                all.filter(|&&d| geometry.neighbour(d).is_some()).count()
            };
            let most = (0..grid.size()).map(neighbours).max().unwrap();
            assert_eq!(neighbours(grid.middle()), most, "{np:?}");
        }
    }

    #[test]
    fn a_box_that_32_bit_rows_cannot_name_is_refused() {
        assert!(Geometry::single([1024, 1024, 2040]).is_ok());
        assert!(Geometry::single([2048, 2048, 2048]).is_err());
    }
}
