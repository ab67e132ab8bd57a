//! From the sizes that were asked for to a legal grid of boxes.
//!
//! Every side is a multiple of 8 and at least 16; the shortest side of a box, and of the grid of
//! ranks, is at least an eighth of the longest (HPCG: `GenerateGeometry`, `CheckAspectRatio`).

use cubie_host::Grid;
use cubie_host::geometry::process_grid;

use super::InputError;

/// Sizes as they were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// `nx, ny, nz`; a missing one takes the largest given.
    pub n: [Option<usize>; 3],
    /// `npx, npy, npz`.
    pub np: Option<[usize; 3]>,
    /// Unequal boxes; their heights override `nz`.
    pub unequal: Option<UnequalBoxes>,
}

/// Unequal boxes: layers of ranks below `pz` have `nz = zl`, the others `nz = zu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnequalBoxes {
    /// Layers in the lower part.
    pub pz: usize,
    /// Their `nz`.
    pub zl: usize,
    /// The others' `nz`.
    pub zu: usize,
}

impl Sizes {
    /// The legal grid for `ranks` ranks.
    ///
    /// # Errors
    /// The first rule that the sizes break, with what would work.
    ///
    /// # Panics
    /// If no side of the box is given.
    pub fn grid(&self, ranks: usize) -> Result<Grid, InputError> {
        let np = self.rank_grid(ranks)?;
        let largest = self.n.iter().flatten().max();
        let largest = *largest.expect("at least one side is given");
        let [nx, ny, nz] = self.n.map(|n| n.unwrap_or(largest));
        let Some(UnequalBoxes { pz, zl, zu }) = self.unequal else {
            check_box([nx, ny, nz], "nz")?;
            return Ok(Grid::uniform(np, [nx, ny, nz]));
        };
        if pz == 0 || pz >= np[2] {
            return Err(InputError::UnequalOutside { pz, npz: np[2] });
        }
        check_box([nx, ny, zl], "zl")?;
        check_box([nx, ny, zu], "zu")?;
        Ok(Grid::split_in_z(np, [nx, ny], pz, zl, zu))
    }

    fn rank_grid(&self, ranks: usize) -> Result<[usize; 3], InputError> {
        let fits = process_grid(ranks);
        let np = self.np.unwrap_or(fits);
        if np.iter().try_fold(1usize, |size, &n| size.checked_mul(n)) != Some(ranks) {
            return Err(InputError::GridSize { np, ranks, fits });
        }
        if is_too_long(np) {
            return Err(InputError::GridTooLong {
                np,
                advice: advice(ranks),
            });
        }
        Ok(np)
    }
}

fn check_box(n: [usize; 3], z: &'static str) -> Result<(), InputError> {
    for (side, n) in ["nx", "ny", z].into_iter().zip(n) {
        if n < 16 {
            return Err(InputError::TooSmall { side, n });
        }
        if !n.is_multiple_of(8) {
            return Err(InputError::NotMultipleOf8 { side, n });
        }
    }
    if is_too_long(n) {
        return Err(InputError::BoxTooLong { n });
    }
    Ok(())
}

/// HPCG's rule: min/max < 1/8.
fn is_too_long(n: [usize; 3]) -> bool {
    let (min, max) = (n[0].min(n[1]).min(n[2]), n[0].max(n[1]).max(n[2]));
    min.saturating_mul(8) < max
}

/// Numbers of ranks near `ranks` whose default grid is legal.
fn advice(ranks: usize) -> String {
    if !is_too_long(process_grid(ranks)) {
        let [x, y, z] = process_grid(ranks);
        return format!("leave out --npx, --npy and --npz to get {x} x {y} x {z}");
    }
    let works = |&size: &usize| !is_too_long(process_grid(size));
    let below = (1..ranks).rev().find(works).expect("1 works");
    let above = (ranks + 1..).find(works).expect("a power of 8 works");
    format!("use {below} or {above} ranks")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(n: [usize; 3]) -> Sizes {
        Sizes {
            n: n.map(Some),
            ..Sizes::default()
        }
    }

    #[test]
    fn a_missing_side_takes_the_largest_given_one() {
        let sizes = Sizes {
            n: [None, Some(32), Some(16)],
            ..Sizes::default()
        };
        assert_eq!(sizes.grid(1).unwrap(), Grid::uniform([1; 3], [32, 32, 16]));
    }

    #[test]
    fn illegal_boxes_are_refused_with_what_would_work() {
        let refused = |n, words: &[&str]| {
            let error = sizes(n).grid(1).unwrap_err().to_string();
            for word in words {
                assert!(error.contains(word), "{n:?}: {error}");
            }
        };
        refused([20, 16, 16], &["nx is 20", "16 and 24"]);
        refused([16, 100, 16], &["ny is 100", "96 and 104"]);
        refused([16, 16, 8], &["nz is 8", "least is 16"]);
        refused([16, 16, 136], &["at most 128", "at least 24"]);
        assert!(sizes([16, 16, 128]).grid(1).is_ok());
    }

    #[test]
    fn illegal_rank_grids_are_refused_with_what_would_work() {
        let error = sizes([16; 3]).grid(11).unwrap_err().to_string();
        assert!(error.contains("10 or 12 ranks"), "{error}");
        let asked = |np, ranks| {
            let sizes = Sizes {
                np: Some(np),
                ..sizes([16; 3])
            };
            sizes.grid(ranks).map_err(|error| error.to_string())
        };
        assert!(asked([4, 1, 1], 4).is_ok());
        let error = asked([2, 1, 1], 1).unwrap_err();
        assert!(error.contains("needs 2 ranks, but there is 1"), "{error}");
        let error = asked([16, 1, 1], 16).unwrap_err();
        assert!(error.contains("leave out --npx"), "{error}");
        assert!(asked([usize::MAX, 2, 2], 4).is_err());
    }

    #[test]
    fn unequal_boxes_are_checked_one_by_one() {
        let split = |pz, zl, zu, ranks| {
            let sizes = Sizes {
                unequal: Some(UnequalBoxes { pz, zl, zu }),
                ..sizes([16; 3])
            };
            sizes.grid(ranks).map_err(|error| error.to_string())
        };
        assert_eq!(split(1, 16, 24, 8).unwrap().nz, [16, 24]);
        assert!(split(1, 20, 24, 8).unwrap_err().contains("zl is 20"));
        assert!(split(1, 24, 8, 8).unwrap_err().contains("zu is 8"));
        assert!(split(2, 16, 24, 8).unwrap_err().contains("from 1 to 1"));
        assert!(split(1, 16, 24, 1).unwrap_err().contains("leave out --pz"));
    }
}
