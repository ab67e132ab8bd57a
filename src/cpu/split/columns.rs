//! Where the entries of a part stand: an offset of one byte for each, and a first column for the
//! eight entries that are multiplied at a time.
//!
//! The rows of a slice are neighbours, so their entries have columns close together. A slot of a
//! slice takes one entry of each row, and its columns must lie within 256 of each other; a row may
//! have its entries in any slots. A slice where that cannot be done, such as one in which only
//! some rows touch the halo, keeps columns of four bytes. Best are slots whose columns follow each
//! other, as they do along the lines of a grid: a kernel sees it by the offsets and loads their x at
//! once. All this looks at the columns alone.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::cpu::pages::Pages;
use crate::cpu::simd::{LANES, in_a_row};

/// The farthest that the columns of a slot may be from that of its first entry.
const REACH: u32 = 127;

/// No entry: padding.
pub(super) const NONE: u32 = u32::MAX;

/// The columns of one slot: `first + offsets[l]` is that of lane `l`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Near {
    pub(super) first: u32,
    pub(super) offsets: [u8; LANES],
}

/// The columns of a part.
pub(super) struct Columns {
    /// Slots of a slice.
    width: usize,
    /// The slots of all slices.
    near: Pages<Near>,
    /// Whether a slice keeps its whole columns, and where; empty if none does.
    whole_at: Vec<u32>,
    whole: Vec<[u32; LANES]>,
}

/// The columns of one slice.
pub(super) enum Slots<'a> {
    Near(&'a [Near]),
    Whole(&'a [[u32; LANES]]),
}

/// Slices whose columns could not be packed, with the columns.
#[derive(Default)]
pub(super) struct Unpacked {
    slices: Vec<usize>,
    cols: Vec<[u32; LANES]>,
}

impl Columns {
    /// The columns of so many slices with `width` slots, which have been packed but for some.
    pub(super) fn new(
        width: usize,
        slices: usize,
        near: Pages<Near>,
        unpacked: impl IntoIterator<Item = Unpacked>,
    ) -> Self {
        let (mut whole_at, mut whole) = (Vec::new(), Vec::new());
        for some in unpacked {
            whole_at.resize(slices, NONE);
            for (k, slice) in some.slices.into_iter().enumerate() {
                let at = whole.len() + k * width;
                whole_at[slice] = u32::try_from(at).expect("fewer slots than columns");
            }
            whole.extend(some.cols);
        }
        Self {
            width,
            near,
            whole_at,
            whole,
        }
    }

    /// The columns of a slice.
    #[inline(always)]
    pub(super) fn of(&self, slice: usize) -> Slots<'_> {
        match self.whole_at.get(slice) {
            Some(&at) if at != NONE => Slots::Whole(&self.whole[at as usize..][..self.width]),
            _ => Slots::Near(&self.near[slice * self.width..(slice + 1) * self.width]),
        }
    }

    /// Calls back with the columns of each slot of a slice, those of padding too.
    pub(super) fn for_each(&self, slice: usize, mut slot: impl FnMut(&[u32; LANES])) {
        match self.of(slice) {
            Slots::Near(slots) => slots
                .iter()
                .for_each(|near| slot(&near.offsets.map(|offset| near.first + u32::from(offset)))),
            Slots::Whole(slots) => slots.iter().for_each(slot),
        }
    }

    /// Bytes that a visit of a slice reads.
    pub(super) fn slice_bytes(&self, slice: usize) -> usize {
        match self.of(slice) {
            Slots::Near(slots) => size_of_val(slots),
            Slots::Whole(slots) => size_of_val(slots),
        }
    }

    /// Bytes that a visit of all slices reads.
    pub(super) fn visit_bytes(&self) -> usize {
        let packed = self.near.len() - self.whole.len();
        packed * size_of::<Near>() + size_of_val(&self.whole[..]) + size_of_val(&self.whole_at[..])
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.near[..]) + size_of_val(&self.whole[..]) + size_of_val(&self.whole_at[..])
    }
}

impl Unpacked {
    pub(super) fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// Packs the columns of a slice, of which padding has the column [`NONE`], or keeps them.
    /// Padding may refer to the columns that are `spare`, and to the column `idle`.
    pub(super) fn pack(
        &mut self,
        slice: usize,
        cols: &[[u32; LANES]],
        near: &mut [Near],
        spare: &Spare,
        idle: u32,
    ) {
        let mut all = cols.iter().zip(near);
        if !all.all(|(cols, near)| near.pack(cols, spare, idle)) {
            self.slices.push(slice);
            let padded = |cols: &[u32; LANES]| cols.map(|col| if col == NONE { idle } else { col });
            self.cols.extend(cols.iter().map(padded));
        }
    }
}

/// Ranges of columns whose x nobody writes while a part is visited, so that padding may refer to those
/// in the range of what it pads.
#[derive(Clone)]
pub(super) struct Spare(pub(super) Vec<Range<usize>>);

impl Spare {
    /// The first of eight columns in a row that these are, or could be with their padding.
    fn row(&self, cols: &[u32; LANES]) -> Option<u32> {
        let (l, &present) = (0..).zip(cols).find(|(_, col)| **col != NONE)?;
        let first = present.checked_sub(l)?;
        let pads = |at: u32| {
            let both = [present as usize, at as usize];
            let mut ranges = self.0.iter();
            ranges.any(|range| both.iter().all(|col| range.contains(col)))
        };
        let fits = |(col, at): (u32, u32)| col == at || col == NONE && pads(at);
        let all = cols.iter().copied().zip(first..);
        all.into_iter().all(fits).then_some(first)
    }
}

impl Near {
    /// Becomes these columns; false if they are too far apart.
    fn pack(&mut self, cols: &[u32; LANES], spare: &Spare, idle: u32) -> bool {
        if let Some(first) = spare.row(cols) {
            self.first = first;
            self.offsets = in_a_row();
            return true;
        }
        let present = cols.iter().copied().filter(|&col| col != NONE);
        self.first = present.min().unwrap_or(idle);
        self.offsets = [0; LANES];
        for (offset, &col) in self.offsets.iter_mut().zip(cols) {
            if col != NONE {
                let Ok(near) = u8::try_from(col - self.first) else {
                    return false;
                };
                *offset = near;
            }
        }
        true
    }
}

/// The entries of a slice's rows in one part, before they have slots.
pub(super) struct Rows<T>([Vec<(u32, T)>; LANES]);

impl<T: Copy> Rows<T> {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| Vec::with_capacity(32)))
    }
    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }
    pub(super) fn push(&mut self, lane: usize, col: u32, value: T) {
        self.0[lane].push((col, value));
    }

    /// Writes the entries to the slots that they get; other places keep what they have.
    pub(super) fn place(&mut self, values: &mut [[T; LANES]], cols: &mut [[u32; LANES]]) {
        let width = values.len();
        let mut put = |lane: usize, slot: usize, (col, value): (u32, T)| {
            cols[slot][lane] = col;
            values[slot][lane] = value;
        };
        let in_order = self.follow_each_other();
        if !in_order && let Some(lines) = self.lines(width) {
            for (lane, row) in (0..).zip(&self.0) {
                for &entry in row {
                    let slot = lines.binary_search(&entry.0.wrapping_sub(lane));
                    put(lane as usize, slot.expect("all are there"), entry);
                }
            }
        } else if !in_order
            && !self.fit_as_they_are()
            && let Some(slots) = self.slots(width)
        {
            for (lane, row) in self.0.iter().enumerate() {
                let mut slot = 0;
                for &entry in row {
                    slot += slots[slot..]
                        .iter()
                        .take_while(|&&near| near + REACH < entry.0)
                        .count();
                    put(lane, slot, entry);
                    slot += 1;
                }
            }
        } else {
            for (lane, row) in self.0.iter().enumerate() {
                row.iter()
                    .enumerate()
                    .for_each(|(slot, &entry)| put(lane, slot, entry));
            }
        }
    }

    /// Whether the k-th entries of all rows are in columns that follow each other for each k.
    fn follow_each_other(&self) -> bool {
        let [first, others @ ..] = &self.0;
        (1..).zip(others).all(|(lane, row)| {
            row.len() == first.len()
                && first
                    .iter()
                    .zip(row)
                    .all(|(a, b)| b.0.wrapping_sub(a.0) == lane)
        })
    }

    /// The columns that a row in lane 0 would need for the entries of all rows to follow those of the
    /// lane before; `None` if these are more than `width`.
    fn lines(&self, width: usize) -> Option<Vec<u32>> {
        let mut lines: Vec<u32> = Vec::with_capacity(width);
        for (lane, row) in (0..).zip(&self.0) {
            for &(col, _) in row {
                let line = col.wrapping_sub(lane);
                if let Err(at) = lines.binary_search(&line) {
                    if lines.len() == width {
                        return None;
                    }
                    lines.insert(at, line);
                }
            }
        }
        Some(lines)
    }

    /// Whether the k-th entries of all rows are close to each other for each k.
    fn fit_as_they_are(&self) -> bool {
        let most = self.0.iter().map(Vec::len).max().unwrap_or(0);
        (0..most).all(|k| {
            let cols = || self.0.iter().filter_map(|row| Some(row.get(k)?.0));
            cols().max().unwrap_or(0) - cols().min().unwrap_or(0) <= u32::from(u8::MAX)
        })
    }

    /// At most `width` columns in rising order, such that each row in rising order finds one within
    /// reach for each of its entries: those of the longest row, and more where others need them.
    /// Sorts the rows.
    fn slots(&mut self, width: usize) -> Option<Vec<u32>> {
        self.0
            .iter_mut()
            .for_each(|row| row.sort_unstable_by_key(|entry| entry.0));
        let longest = self.0.iter().max_by_key(|row| row.len())?;
        let mut slots: Vec<u32> = longest.iter().map(|entry| entry.0).collect();
        for row in &self.0 {
            let mut slot = 0;
            for &(col, _) in row {
                slot += slots[slot..]
                    .iter()
                    .take_while(|&&near| near + REACH < col)
                    .count();
                if slots.get(slot).is_none_or(|&near| near > col + REACH) {
                    slots.insert(slot, col);
                }
                slot += 1;
            }
        }
        (slots.len() <= width).then_some(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANE: [u32; LANES] = [0, 1, 2, 3, 4, 5, 6, 7];
    const NO_SPARE: Spare = Spare(Vec::new());

    impl Columns {
        fn at(&self, slice: usize, slot: usize, lane: usize) -> usize {
            let mut slots = Vec::new();
            self.for_each(slice, |cols| slots.push(*cols));
            slots[slot][lane] as usize
        }
    }

    fn one_slice(cols: &[[u32; LANES]; 2]) -> Columns {
        let (mut near, mut unpacked) = (Pages::zeros(2), Unpacked::default());
        unpacked.pack(0, cols, &mut near, &NO_SPARE, 0);
        Columns::new(
            2,
            1,
            near,
            [unpacked].into_iter().filter(|some| !some.is_empty()),
        )
    }

    /// What a slice of two slots gives back for the rows put into it, in lane order.
    fn packed(rows: [[u32; 2]; LANES]) -> (Columns, Vec<Vec<u32>>) {
        let mut entries = Rows::new();
        for (lane, row) in rows.iter().enumerate() {
            row.iter().for_each(|&col| entries.push(lane, col, col));
        }
        let (mut values, mut cols) = ([[0; LANES]; 2], [[NONE; LANES]; 2]);
        entries.place(&mut values, &mut cols);
        let columns = one_slice(&cols);
        let found = (0..LANES)
            .map(|lane| {
                let row = (0..2).map(|slot| columns.at(0, slot, lane));
                let mut row: Vec<_> = row.map(|col| u32::try_from(col).unwrap()).collect();
                let values: Vec<_> = (0..2).map(|slot| values[slot][lane]).collect();
                assert_eq!(row, values, "values stand with their columns");
                row.sort_unstable();
                row
            })
            .collect();
        (columns, found)
    }

    #[test]
    fn neighbours_take_an_offset_each() {
        let rows = LANE.map(|l| [1000 + 2 * l, 70_000 + 2 * l]);
        let (columns, found) = packed(rows);
        assert_eq!(found, rows.map(Vec::from).to_vec());
        assert_eq!(columns.slice_bytes(0), 2 * size_of::<Near>());
    }

    #[test]
    fn rows_that_are_far_apart_keep_whole_columns() {
        let rows = LANE.map(|l| [1000 * l, 1_000_000 - 5000 * l]);
        let (columns, mut found) = packed(rows);
        found.iter_mut().for_each(|row| row.sort_unstable());
        assert_eq!(found, rows.map(Vec::from).to_vec());
        assert_eq!(columns.slice_bytes(0), 2 * size_of::<[u32; LANES]>());
    }

    #[test]
    fn a_row_may_leave_a_slot_empty() {
        let mut entries = Rows::new();
        entries.push(0, 5, 5);
        entries.push(0, 9000, 9000);
        (1..)
            .zip(&LANE[1..])
            .for_each(|(lane, l)| entries.push(lane, 9000 + l, 1));
        let (mut values, mut cols) = ([[0; LANES]; 2], [[NONE; LANES]; 2]);
        entries.place(&mut values, &mut cols);
        let columns = one_slice(&cols);
        assert_eq!(columns.slice_bytes(0), 2 * size_of::<Near>());
        assert_eq!((columns.at(0, 1, 0), columns.at(0, 1, 3)), (9000, 9003));
    }

    #[test]
    fn rows_at_a_boundary_keep_columns_in_a_row() {
        // Lane 0 lacks the neighbour before it, and its only entry is another's second.
        let mut entries = Rows::new();
        (0..).zip(&LANE).for_each(|(lane, l)| {
            if lane > 0 {
                entries.push(lane, 500 + l, 1);
            }
            entries.push(lane, 700 + l, 2);
        });
        let (mut values, mut cols) = ([[0; LANES]; 2], [[NONE; LANES]; 2]);
        entries.place(&mut values, &mut cols);
        assert_eq!((values[0][0], values[0][7], values[1]), (0, 1, [2; LANES]));
        let packed = |spare: [Range<usize>; 2]| {
            let mut near = Pages::<Near>::zeros(2);
            Unpacked::default().pack(0, &cols, &mut near, &Spare(spare.to_vec()), 0);
            assert!(near[1].offsets == in_a_row() && near[1].first == 700);
            near[0].offsets == in_a_row()
        };
        assert!(packed([0..400, 500..600]));
        assert!(
            !packed([0..400, 501..600]),
            "a sweep writes the padding's column"
        );
        assert!(!packed([0..501, 501..600]), "it is of another colour");
    }
}
