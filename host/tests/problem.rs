//! Invariants of the distributed problem for random grids, boxes and orders.
#![expect(non_snake_case, reason = "A is the name that the algorithm has")]

use std::collections::HashMap;

use cubie_host::order::greedy_coloring;
use cubie_host::{Geometry, Grid, Level, Order, Ordered, Ordering, Problem};
use proptest::prelude::*;

/// Rank grids with boxes of even sides, unequal in z.
fn grids() -> impl Strategy<Value = Grid> {
    let even = || (1..5usize).prop_map(|n| 2 * n);
    (
        1..4usize,
        1..4usize,
        prop::collection::vec(even(), 1..4),
        even(),
        even(),
    )
        .prop_map(|(npx, npy, nz, nx, ny)| Grid {
            np: [npx, npy, nz.len()],
            nx,
            ny,
            nz,
        })
}

fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Natural),
        Just(Order::COLOR8),
        Just(Order::Color8([0, 1, 2, 3, 4, 5, 6, 7])),
        (1..4usize).prop_map(Order::Plane2),
    ]
}

fn levels(grid: &Grid) -> Vec<Level> {
    (0..grid.size())
        .map(|rank| Level::new(grid.geometry(rank).unwrap(), false))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_one_rank_sends_is_what_the_other_expects(grid in grids()) {
        let levels = levels(&grid);
        for level in &levels {
            let external_rows = level.halo.external_rows(&level.geometry);
            prop_assert_eq!(external_rows.len(), level.halo.external);
            for neighbour in &level.halo.neighbours {
                let other = &levels[neighbour.rank];
                let back = other.halo.neighbours.iter().find(|n| n.rank == level.geometry.rank);
                let back = back.expect("neighbours are mutual");
                let sent: Vec<u64> = other.halo.send_rows[back.send.clone()]
                    .iter()
                    .map(|&i| other.geometry.global_row(i as usize))
                    .collect();
                prop_assert_eq!(&sent[..], &external_rows[neighbour.recv.clone()]);
            }
        }
    }

    #[test]
    fn the_ranks_hold_the_rows_of_the_global_matrix(grid in grids()) {
        let whole = Level::new(
            Geometry::single(grid.gn().map(|n| usize::try_from(n).unwrap())).unwrap(), false);
        let levels = levels(&grid);
        let mut nnz = 0;
        for level in &levels {
            nnz += level.A.nnz;
            let external_rows = level.halo.external_rows(&level.geometry);
            for i in 0..level.A.nrow {
                let (cols, values) = level.A.row(i);
                let global: Vec<u64> = cols
                    .iter()
                    .map(|&col| match (col as usize).checked_sub(level.A.nrow) {
                        Some(external) => external_rows[external],
                        None => level.geometry.global_row(col as usize),
                    })
                    .collect();
                let row = usize::try_from(level.geometry.global_row(i)).unwrap();
                let (expected, expected_values) = whole.A.row(row);
                prop_assert!(global.iter().eq(expected.iter().map(|&col| u64::from(col)).collect::<Vec<_>>().iter()));
                prop_assert_eq!(values, expected_values);
            }
        }
        prop_assert_eq!(nnz, whole.A.nnz);
        prop_assert_eq!(nnz, whole.geometry.global_nnz());
    }

    #[test]
    fn an_order_is_a_bijection_whose_blocks_do_not_couple(grid in grids(), order in orders()) {
        let level = Level::new(grid.geometry(0).unwrap(), false);
        let ordering = Ordering::new(&order, &level);
        let nrow = level.A.nrow;
        let mut seen = vec![false; nrow];
        for (new, &old) in ordering.perm.iter().enumerate() {
            prop_assert_eq!(ordering.inverse[old as usize] as usize, new);
            seen[old as usize] = true;
        }
        prop_assert!(seen.iter().all(|&s| s));
        let A = Ordered { level: &level, order: &ordering, coarse: None }.matrix();
        let mut next = 0;
        for color in &ordering.colors {
            prop_assert_eq!(color.rows.start, next);
            next = color.rows.end;
            for i in color.rows.clone() {
                let block = |i: usize| (i - color.rows.start) / color.block;
                for &j in A.row(i).0 {
                    let j = j as usize;
                    prop_assert!(!color.rows.contains(&j) || block(i) == block(j), "{} couples {} and {}", order, i, j);
                }
            }
        }
        prop_assert_eq!(next, nrow);
    }

    #[test]
    fn a_permuted_matrix_is_the_same_matrix(grid in grids(), order in orders()) {
        let level = Level::new(grid.geometry(0).unwrap(), false);
        let ordering = Ordering::new(&order, &level);
        let ordered = Ordered { level: &level, order: &ordering, coarse: None };
        let A = ordered.matrix();
        let x: Vec<f64> = (0..A.ncol).map(|i| (i * i % 97) as f64).collect();
        let mut permuted = ordering.permute(&x[..A.nrow]);
        permuted.extend(&x[A.nrow..]);
        let product = |A: &cubie_host::Matrix, x: &[f64]| -> Vec<f64> {
            (0..A.nrow).map(|i| A.row(i).0.iter().zip(A.row(i).1).map(|(&j, a)| a * x[j as usize]).sum()).collect()
        };
        prop_assert_eq!(ordering.restore(&product(&A, &permuted)), product(&level.A, &x));
        for (i, j) in ordered.halo().send_rows.iter().zip(&level.halo.send_rows) {
            prop_assert_eq!(ordering.perm[*i as usize], *j);
        }
    }
}

#[test]
fn greedy_colours_are_the_parity_classes() {
    let level = Level::new(Geometry::single([6, 4, 8]).unwrap(), false);
    for (i, &color) in greedy_coloring(&level.A).iter().enumerate() {
        let [x, y, z] = level.geometry.point(i);
        assert_eq!(usize::from(color), 4 * (z & 1) + 2 * (y & 1) + (x & 1));
    }
}

#[test]
fn color8_visits_its_classes_in_the_order_asked_for() {
    let level = Level::new(Geometry::single([8; 3]).unwrap(), false);
    let ordering = Ordering::new(&Order::COLOR8, &level);
    let classes: Vec<usize> = ordering
        .colors
        .iter()
        .map(|color| {
            let [x, y, z] = level
                .geometry
                .point(ordering.perm[color.rows.start] as usize);
            4 * (z & 1) + 2 * (y & 1) + (x & 1)
        })
        .collect();
    assert_eq!(classes, [7, 3, 5, 6, 2, 1, 4, 0]);
}

#[test]
fn injection_names_the_points_with_even_coordinates_in_any_order() {
    let problem = Problem::new(&Geometry::single([16, 8, 24]).unwrap());
    let orderings: Vec<Ordering> = problem
        .levels
        .iter()
        .map(|level| Ordering::new(&Order::COLOR8, level))
        .collect();
    for l in 0..3 {
        let (fine, coarse) = (&problem.levels[l], &problem.levels[l + 1]);
        let ordered = Ordered {
            level: fine,
            order: &orderings[l],
            coarse: Some(&orderings[l + 1]),
        };
        for (k, &i) in ordered.f2c().iter().enumerate() {
            let fine_point = fine.geometry.point(orderings[l].perm[i as usize] as usize);
            let coarse_point = coarse.geometry.point(orderings[l + 1].perm[k] as usize);
            assert_eq!(fine_point, coarse_point.map(|c| 2 * c));
        }
    }
    assert_eq!(problem.levels[3].geometry.n, [2, 1, 3]);
}

#[test]
fn closed_forms_hold() {
    let problem = Problem::new(&Geometry::single([16, 24, 32]).unwrap());
    let square: f64 = problem.b.iter().map(|b| b * b).sum();
    let [x, y, z] = [14.0, 22.0, 30.0];
    let expected =
        8.0 * 19.0 * 19.0 + 4.0 * 15.0 * 15.0 * (x + y + z) + 2.0 * 81.0 * (x * y + y * z + z * x);
    assert_eq!(square, expected);
    assert_eq!(
        problem.levels[0].A.nnz,
        (3 * 16 - 2) * (3 * 24 - 2) * (3 * 32 - 2)
    );
}

#[test]
fn external_columns_have_one_owner_each() {
    let grid = Grid::uniform([2, 2, 2], [8; 3]);
    for level in levels(&grid) {
        let mut owners = HashMap::new();
        for neighbour in &level.halo.neighbours {
            for &row in &level.halo.external_rows(&level.geometry)[neighbour.recv.clone()] {
                assert_eq!(owners.insert(row, neighbour.rank), None);
            }
        }
        assert_eq!(owners.len(), level.halo.external);
    }
}

#[test]
fn the_recorded_halo_sizes_hold() {
    let recorded: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/data/recorded.json")).unwrap();
    for (run, np, n) in [
        ("ranks2_32x32x32", [2, 1, 1], [32; 3]),
        ("ranks8_16x16x16", [2, 2, 2], [16; 3]),
    ] {
        let problem = Problem::new(&Grid::uniform(np, n).geometry(0).unwrap());
        for (level, recorded) in problem
            .levels
            .iter()
            .zip(recorded[run]["levels"].as_array().unwrap())
        {
            let count = |key: &str| recorded[key].as_u64().unwrap();
            assert_eq!(level.A.nnz, count("local_nnz"));
            assert_eq!(level.A.ncol as u64, count("local_cols"));
            assert_eq!(level.halo.send_rows.len() as u64, count("send_rank0"));
            assert_eq!(level.halo.neighbours.len() as u64, count("neighbors_rank0"));
        }
    }
}

#[test]
fn orders_are_read_as_they_are_written() {
    for text in ["natural", "color8", "color8:01234567", "plane2:2"] {
        assert_eq!(text.parse::<Order>().unwrap().to_string(), text);
    }
    for text in [
        "",
        "colour8",
        "color8:0123456",
        "color8:01234566",
        "color8:012345678",
        "plane2",
        "plane2:0",
        "plane2:-1",
    ] {
        assert!(text.parse::<Order>().is_err(), "{text}");
    }
}
