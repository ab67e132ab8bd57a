//! Every entry of every level and the right-hand side, derived a second time (HPCG: `CheckProblem`).

use cubie_host::{Level, Problem};
use rayon::prelude::*;

/// The first thing that is not as it should be, if any.
pub fn check_problem(problem: &Problem) -> Result<(), String> {
    for (l, level) in problem.levels.iter().enumerate() {
        check_level(level).map_err(|what| format!("level {l}: {what}"))?;
    }
    let A = &problem.levels[0].A;
    let wrong = (0..A.nrow).find(|&i| problem.b[i] != 27.0 - f64::from(A.row_nnz[i]));
    wrong.map_or(Ok(()), |i| Err(format!("b of row {i} is {}", problem.b[i])))
}

fn check_level(level: &Level) -> Result<(), String> {
    let (geometry, A) = (&level.geometry, &level.A);
    if level.f2c.len() * 8 != A.nrow && !level.f2c.is_empty() {
        return Err(format!("{} injected rows of {}", level.f2c.len(), A.nrow));
    }
    let external_rows = level.halo.external_rows(geometry);
    let [gnx, gny, gnz] = geometry.gn;
    (0..A.nrow).into_par_iter().try_for_each(|i| {
        let row = geometry.global_row(i);
        let (x, y, z) = (row % gnx, row / gnx % gny, row / (gnx * gny));
        let (cols, values) = A.row(i);
        let mut entries = cols.iter().zip(values);
        let around = |c: u64, gn: u64| c.saturating_sub(1)..(c + 2).min(gn);
        for nz in around(z, gnz) {
            for ny in around(y, gny) {
                for nx in around(x, gnx) {
                    let expected = (nz * gny + ny) * gnx + nx;
                    let (&col, &value) = entries.next().ok_or(format!("row {row} is too short"))?;
                    let external = (col as usize).checked_sub(A.nrow);
                    let found = external
                        .map_or_else(|| geometry.global_row(col as usize), |e| external_rows[e]);
                    if found != expected || value != if found == row { 26.0 } else { -1.0 } {
                        return Err(format!(
                            "row {row} has {value} in column {found}, expected column {expected}"
                        ));
                    }
                }
            }
        }
        let rest = entries.next().is_some();
        if rest || A.diagonal_value(i) != 26.0 {
            Err(format!("row {row} is not a 27-point row"))
        } else {
            Ok(())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubie_host::{Geometry, Grid};
    use std::sync::Arc;

    #[test]
    fn generated_problems_pass_on_one_rank_and_on_any_of_several() {
        assert_eq!(
            check_problem(&Problem::new(&Geometry::single([16, 24, 32]).unwrap())),
            Ok(())
        );
        let grid = Grid::split_in_z([3, 2, 3], [8, 16], 1, 8, 16);
        for rank in 0..grid.size() {
            assert_eq!(
                check_problem(&Problem::new(&grid.geometry(rank).unwrap())),
                Ok(()),
                "rank {rank}"
            );
        }
    }

    #[test]
    fn one_wrong_entry_is_found() {
        let mut problem = Problem::new(&Geometry::single([16; 3]).unwrap());
        Arc::make_mut(&mut problem.levels[2].A).values[28 * 10 + 3] = -1.5;
        assert!(
            check_problem(&problem)
                .unwrap_err()
                .starts_with("level 2: row 10 ")
        );
        let mut problem = Problem::new(&Geometry::single([16; 3]).unwrap());
        Arc::make_mut(&mut problem.levels[0].A)
            .cols
            .swap(28 * 100, 28 * 100 + 1);
        assert!(check_problem(&problem).is_err());
        let mut problem = Problem::new(&Geometry::single([16; 3]).unwrap());
        problem.b[7] += 1.0;
        assert!(check_problem(&problem).is_err());
    }
}
