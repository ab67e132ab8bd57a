//! How much memory a rank needs, and the largest box that fits.
//!
//! A matrix in ELLPACK-28 has 28 values and 28 four-byte columns a row. The host keeps the
//! problem as generated; the reference phases and then the device add their own copies of it.

use cubie_host::problem::LEVELS;
use cubie_host::{Geometry, WIDTH};

use crate::Precision;
use crate::params::Format;
use crate::results::DeviceKind;

/// Bytes that one rank needs at its peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// On the host.
    pub host: u64,
    /// On the device; 0 where that is the host.
    pub device: u64,
}

/// What the device that computes in `precision` from `format` and the host need for a box.
pub fn need(geometry: &Geometry, kind: DeviceKind, precision: Precision, format: Format) -> Need {
    let levels = levels(geometry);
    let generated: u64 = levels.iter().map(generated).sum::<u64>() + 16 * levels[0].rows;
    // The reference phases share the matrix as generated, and the backend of the optimised ones does
    // not exist yet.
    let reference = held(&levels, 8, 0.0) + cg_vectors(&levels, 8);
    let orders: u64 = levels.iter().map(|level| 8 * level.rows).sum();
    let checks = 5 * 8 * levels[0].rows; // vectors that the checks hold on the host
    let near = is_near(geometry);
    let backend = backend(&levels, kind, precision, format, near);
    match kind {
        DeviceKind::Cpu => Need {
            host: generated + reference.max(orders + checks + backend),
            device: 0,
        },
        DeviceKind::Gpu => Need {
            // The largest piece of the matrix is converted on the host before it is uploaded.
            host: generated + reference.max(orders + checks + by_row(&levels[0], ell28(8))),
            device: backend,
        },
    }
}

/// The largest nearly cubic legal box that fits; `None` if not even the least does.
pub fn largest_box(fits: impl Fn([usize; 3]) -> bool) -> Option<[usize; 3]> {
    (2..)
        .map(|k| 8 * k)
        .flat_map(|n| [[n; 3], [n, n, n + 8], [n, n + 8, n + 8]])
        .take_while(|&n| fits(n))
        .last()
}

/// The size of one level of a rank.
struct Level {
    rows: u64,
    /// Rows and external columns.
    cols: u64,
    coarse_rows: u64,
}

fn levels(finest: &Geometry) -> Vec<Level> {
    let sides = |half: u64| {
        let rows = finest.n.map(|n| n as u64 / half);
        let cols = [0, 1, 2].map(|a| {
            let neighbours = [-1, 1].into_iter().filter(|&step| {
                let mut d = [0; 3];
                d[a] = step;
                finest.neighbour(d).is_some()
            });
            rows[a] + neighbours.count() as u64
        });
        (rows.iter().product(), cols.iter().product())
    };
    (0..LEVELS)
        .map(|l| {
            let (rows, cols) = sides(1 << l);
            let is_coarsest = l + 1 == LEVELS;
            Level {
                rows,
                cols,
                coarse_rows: if is_coarsest { 0 } else { rows / 8 },
            }
        })
        .collect()
}

/// Bytes of a row in ELLPACK-28 with values of `size` bytes.
fn ell28(size: u64) -> f64 {
    WIDTH as f64 * (size + 4) as f64
}

/// Whether columns are stored as distances throughout: no line of the box ends at a neighbour.
fn is_near(geometry: &Geometry) -> bool {
    [-1, 1]
        .iter()
        .all(|&x| geometry.neighbour([x, 0, 0]).is_none())
}

/// Bytes of a row in the backend's format, with or without `near` columns.
fn stored(kind: DeviceKind, format: Format, size: u64, near: bool) -> f64 {
    let value = size as f64;
    match (kind, format) {
        (DeviceKind::Gpu, Format::Ell28) => ell28(size) + value,
        // The diagonal apart, and where it stands in its row.
        (DeviceKind::Cpu, Format::Ell28) => ell28(size) + value + 1.0,
        // As below, but columns of L and U are 16 bits each and 32 words a slice of 64 rows.
        (DeviceKind::Gpu, Format::Split) if near => {
            26.0 * (value + 2.0) + 2.0 + 3.25 * (value + 4.0) + value + 1.0
        }
        // 26 entries and the diagonal, again those of U in injected columns, 3.25 on average, and
        // a byte for the lists of injected rows and of slices.
        (DeviceKind::Gpu, Format::Split) => (26.0 + 3.25) * (value + 4.0) + value + 1.0,
        // Near columns are a byte each and a word for eight; others stand beside them.
        (DeviceKind::Cpu, Format::Split) => {
            let column = if near { 1.5 } else { 5.5 };
            (26.0 + 3.25) * (value + column) + value + 1.0
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and far below 2^53"
)]
fn by_row(level: &Level, bytes: f64) -> u64 {
    (level.rows as f64 * bytes) as u64
}

/// A level as generated: matrix, two bytes a row about it, f2c and the elements to send.
fn generated(level: &Level) -> u64 {
    by_row(level, ell28(8)) + 2 * level.rows + 4 * level.coarse_rows + 4 * (level.cols - level.rows)
}

/// All levels of a V-cycle with matrices of `row` bytes a row, f2c, and work vectors of `size`
/// bytes an element.
fn held(levels: &[Level], size: u64, row: f64) -> u64 {
    let held = levels.iter().enumerate().map(|(l, level)| {
        let work = levels
            .get(l + 1)
            .map_or(0, |coarse| size * (level.cols + 2 * coarse.cols));
        by_row(level, row) + 4 * level.coarse_rows + work
    });
    held.sum()
}

/// b, x, r, z, p and Ap.
fn cg_vectors(levels: &[Level], size: u64) -> u64 {
    6 * size * levels[0].cols
}

fn backend(
    levels: &[Level],
    kind: DeviceKind,
    precision: Precision,
    format: Format,
    near: bool,
) -> u64 {
    let row = |size| stored(kind, format, size, near);
    let whole = |size| held(levels, size, row(size)) + cg_vectors(levels, size);
    match precision {
        Precision::F64 | Precision::F32x2 => whole(8),
        Precision::F32 => whole(4),
        Precision::Mixed => {
            let outer = by_row(&levels[0], row(8)) + cg_vectors(levels, 8);
            let inner = held(levels, 4, row(4)) + 2 * 4 * levels[0].cols;
            outer + inner
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubie_host::{Grid, Problem};

    #[test]
    fn what_is_generated_is_what_the_problem_allocates() {
        for (np, rank) in [([1, 1, 1], 0), ([2, 3, 2], 5)] {
            let geometry = Grid::uniform(np, [16, 24, 32]).geometry(rank).unwrap();
            let levels = levels(&geometry);
            let model: u64 = levels.iter().map(generated).sum();
            let problem = Problem::new(&geometry);
            let sent: usize = problem.levels.iter().map(|l| l.halo.send_rows.len()).sum();
            let external: usize = problem.levels.iter().map(|l| l.halo.external).sum();
            let cols: u64 = levels.iter().map(|l| l.cols - l.rows).sum();
            assert_eq!(cols, external as u64);
            // A row that touches several neighbours is sent to each.
            assert!(sent >= external);
            assert_eq!(
                model + 4 * (sent - external) as u64,
                problem.levels.iter().map(|l| l.bytes()).sum::<u64>(),
                "{np:?}"
            );
        }
    }

    #[test]
    fn narrower_numbers_need_less() {
        let geometry = Geometry::single([64; 3]).unwrap();
        let device = |precision| need(&geometry, DeviceKind::Gpu, precision, Format::Ell28).device;
        assert!(device(Precision::F32) < device(Precision::F64));
        assert_eq!(device(Precision::F32x2), device(Precision::F64));
        assert!(device(Precision::Mixed) > device(Precision::F64));
    }

    #[test]
    fn the_largest_box_fits_and_the_next_does_not() {
        let largest = |points: usize| largest_box(|n| n[0] * n[1] * n[2] <= points);
        assert_eq!(largest(16 * 16 * 16 - 1), None);
        assert_eq!(largest(16 * 16 * 16), Some([16; 3]));
        assert_eq!(largest(16 * 24 * 24), Some([16, 24, 24]));
        assert_eq!(largest(16 * 24 * 24 - 1), Some([16, 16, 24]));
    }
}
