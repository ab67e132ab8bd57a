//! How the rows of a colour are cut into slices, and which of them may be visited at the same time.

use std::ops::Range;

use crate::cpu::simd::LANES;
use crate::pool::Steps;

/// Slices of a chunk where rows are independent.
const CHUNK: usize = 16;
/// Slices of a chunk where other threads wait for it.
const SHORT_CHUNK: usize = 4;

/// The slices of a colour, and the chunks of slices that one thread works on at a time and whose
/// sums are added up in order. Neither spans two runs.
pub(super) struct Slices {
    pub(super) rows: Range<usize>,
    /// Rows of a run: all of them if they are independent, else those of a plane.
    run: usize,
    /// Slices of a run.
    per_run: usize,
    /// Runs of a block, each of which needs the one before it; 0 if rows are independent.
    block: usize,
}

impl Slices {
    /// The rows of a colour whose blocks of `block` rows must be visited row by row, and which
    /// are independent if that is 1. Blocks are whole planes of `plane` rows, or a run each.
    pub(super) fn new(rows: Range<usize>, block: usize, plane: usize) -> Self {
        let (run, runs) = if block == 1 {
            (rows.len().max(1), 0)
        } else if block.is_multiple_of(plane) && rows.len().is_multiple_of(plane) {
            (plane, block / plane)
        } else {
            (block, 1)
        };
        Self {
            rows,
            run,
            per_run: run.div_ceil(LANES),
            block: runs,
        }
    }

    /// Whether the order of rows matters.
    pub(super) fn ordered(&self) -> bool {
        self.block > 0
    }
    /// Slices, full or not.
    pub(super) fn len(&self) -> usize {
        let (whole, rest) = (self.rows.len() / self.run, self.rows.len() % self.run);
        whole * self.per_run + rest.div_ceil(LANES)
    }
    /// The rows of one slice.
    #[inline(always)]
    pub(super) fn rows_of(&self, slice: usize) -> Range<usize> {
        let (run, slice) = if self.ordered() {
            (slice / self.per_run, slice % self.per_run)
        } else {
            (0, slice)
        };
        let first = self.rows.start + run * self.run;
        let start = first + slice * LANES;
        start..(start + LANES).min(first + self.run).min(self.rows.end)
    }
    /// The run of a row, and the row's slice within it.
    pub(super) fn place_of(&self, row: usize) -> (usize, usize) {
        let k = row - self.rows.start;
        (k / self.run, k % self.run / LANES)
    }
    /// The slice of the same run that a sweep backward or forward visits just before a slice.
    #[inline(always)]
    pub(super) fn slice_before(&self, slice: usize, backward: bool) -> Option<usize> {
        if backward {
            let next = slice + 1;
            (next < self.len() && !next.is_multiple_of(self.per_run)).then_some(next)
        } else {
            (!slice.is_multiple_of(self.per_run)).then(|| slice - 1)
        }
    }
    /// The rows that entries of a slice's rows may be chained to: its own and those of the slices
    /// next to it in the run.
    pub(super) fn window(&self, slice: usize) -> Range<usize> {
        let rows = self.rows_of(slice);
        if !self.ordered() {
            return rows;
        }
        let next = |backward| self.slice_before(slice, backward).map(|s| self.rows_of(s));
        next(false).map_or(rows.start, |rows| rows.start)
            ..next(true).map_or(rows.end, |rows| rows.end)
    }

    fn chunk(&self) -> usize {
        if self.ordered() { SHORT_CHUNK } else { CHUNK }
    }
    fn chunks_per_run(&self) -> usize {
        self.per_run.div_ceil(self.chunk())
    }
    /// Chunks, full or not.
    pub(super) fn chunks(&self) -> usize {
        let (whole, rest) = (self.len() / self.per_run, self.len() % self.per_run);
        whole * self.chunks_per_run() + rest.div_ceil(self.chunk())
    }
    /// The slices of one chunk.
    pub(super) fn of_chunk(&self, chunk: usize) -> Range<usize> {
        let first = chunk / self.chunks_per_run() * self.per_run;
        let start = first + chunk % self.chunks_per_run() * self.chunk();
        let end = (start + self.chunk()).min(first + self.per_run);
        start..end.min(self.len())
    }
    /// The chunk of a slice.
    pub(super) fn chunk_of(&self, slice: usize) -> usize {
        let (run, slice) = (slice / self.per_run, slice % self.per_run);
        run * self.chunks_per_run() + slice / self.chunk()
    }
    /// The steps of a sweep in which a slice needs `lead` more of the run before.
    pub(super) fn steps(&self, lead: usize) -> Steps {
        Steps {
            len: self.len(),
            run: self.per_run,
            block: self.block.max(1),
            chunk: self.chunk(),
            lead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_tile_the_rows_and_span_no_runs() {
        for (rows, block, plane) in [
            (7..107, 1, 20),
            (0..100, 100, 20),
            (40..100, 40, 20),
            (0..100, 21, 20),
        ] {
            let slices = Slices::new(rows.clone(), block, plane);
            let all: Vec<_> = (0..slices.len()).flat_map(|s| slices.rows_of(s)).collect();
            assert_eq!(all, rows.collect::<Vec<_>>());
            let of_chunks = (0..slices.chunks()).flat_map(|chunk| {
                let of_chunk = slices.of_chunk(chunk);
                assert!(
                    of_chunk
                        .clone()
                        .all(|slice| slices.chunk_of(slice) == chunk)
                );
                of_chunk
            });
            assert_eq!(
                of_chunks.collect::<Vec<_>>(),
                (0..slices.len()).collect::<Vec<_>>()
            );
            for slice in 0..slices.len() {
                let places = slices.rows_of(slice).map(|row| slices.place_of(row));
                let place = (slice / slices.per_run, slice % slices.per_run);
                assert!(places.into_iter().all(|found| found == place));
            }
        }
    }
}
