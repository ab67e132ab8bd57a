//! The entries of a slice in their slots, and the words that their columns become.

use cubie_host::WIDTH;

use super::layout::{ALIGNED, INJECTED, Layout, NONE, PARTS, Shape};
use crate::gpu::kernels::SLICE;
use crate::params::Format;

/// The farthest that near columns are from each other.
const REACH: u32 = 0xffff;

/// How much an entry may spread the columns of a slot without a look for a better one.
const LITTLE: u32 = 64;

/// The entries of a slice. A slot takes one entry of each row, in any order; if columns are to be
/// `near`, those of a slot of L or U lie within [`REACH`] of each other.
pub(super) struct Slots {
    near: bool,
    parts: [Vec<Slot>; PARTS],
}

struct Slot {
    /// The least column and the largest.
    least: u32,
    most: u32,
    cols: [u32; SLICE],
    values: [f64; SLICE],
}

impl Slots {
    pub(super) fn new(layout: &Layout<'_>, slice: usize, near: bool) -> Self {
        let mut slots = Self {
            near,
            parts: Default::default(),
        };
        for (lane, i) in layout.rows(slice).enumerate() {
            let mut next = [0; PARTS];
            layout.for_each_entry(i, |part, col, value| {
                let near = near && part < INJECTED;
                let slots = &mut slots.parts[part];
                let at = find(slots, next[part], lane, col, near).unwrap_or_else(|| {
                    slots.push(Slot::new(col));
                    slots.len() - 1
                });
                slots[at].put(lane, col, value);
                next[part] = at + 1;
            });
        }
        if layout.format == Format::Ell28 {
            slots.parts[0].resize_with(WIDTH, || Slot::new(0));
            // Padding has the row's own column, which no other thread of a sweep writes.
            for slot in &mut slots.parts[0] {
                for (i, col) in layout.rows(slice).zip(&mut slot.cols) {
                    if *col == NONE {
                        *col = u32::try_from(i).expect("rows are numbered with 32 bits");
                    }
                }
            }
        }
        slots
    }

    pub(super) fn shape(&self) -> Shape {
        Shape {
            near: self.near,
            widths: std::array::from_fn(|part| self.parts[part].len()),
        }
    }

    /// The values in their places; padding is 0.
    pub(super) fn values(&self) -> Vec<f64> {
        let slots = self.parts.iter().flatten();
        slots.flat_map(|slot| slot.values).collect()
    }

    /// The columns as `shaders/split.wgsl` finds them.
    pub(super) fn words(&self) -> Vec<u32> {
        let [lower, upper, injected] = &self.parts;
        let mut words = Vec::new();
        let whole = |words: &mut Vec<u32>, slots: &[Slot]| {
            words.extend(slots.iter().flat_map(Slot::whole));
        };
        if self.near {
            let slots = || lower.iter().chain(upper);
            words.extend(slots().map(|slot| slot.least));
            words.resize(words.len().next_multiple_of(ALIGNED), 0);
            words.extend(slots().flat_map(Slot::offsets));
        } else {
            whole(&mut words, lower);
            whole(&mut words, upper);
        }
        whole(&mut words, injected);
        words
    }
}

/// The free slot whose columns an entry spreads least, if there is one; the first free one if
/// columns need not be near. Rows are alike, so that it is as a rule the `next` one.
fn find(slots: &[Slot], next: usize, lane: usize, col: u32, near: bool) -> Option<usize> {
    let (reach, little) = if near {
        (REACH, LITTLE)
    } else {
        (u32::MAX, u32::MAX)
    };
    let mut best: Option<(u32, usize)> = None;
    for at in (next..slots.len()).chain(0..next.min(slots.len())) {
        let slot = &slots[at];
        let range = slot.range(col);
        if slot.cols[lane] != NONE || range > reach {
            continue;
        }
        let growth = range - (slot.most - slot.least);
        if growth <= little {
            return Some(at);
        }
        if best.is_none_or(|(least, _)| growth < least) {
            best = Some((growth, at));
        }
    }
    best.map(|(_, at)| at)
}

impl Slot {
    fn new(col: u32) -> Self {
        Self {
            least: col,
            most: col,
            cols: [NONE; SLICE],
            values: [0.0; SLICE],
        }
    }

    /// How far apart the columns would be with this one.
    fn range(&self, col: u32) -> u32 {
        self.most.max(col) - self.least.min(col)
    }

    fn put(&mut self, lane: usize, col: u32, value: f64) {
        self.least = self.least.min(col);
        self.most = self.most.max(col);
        self.cols[lane] = col;
        self.values[lane] = value;
    }

    /// The columns; padding has one that its neighbours read anyway.
    fn whole(&self) -> [u32; SLICE] {
        self.cols
            .map(|col| if col == NONE { self.least } else { col })
    }

    /// The distances from the least column, two to a word.
    fn offsets(&self) -> [u32; SLICE / 2] {
        let cols = self.whole();
        std::array::from_fn(|pair| {
            let [low, high] = [0, 1].map(|lane| cols[2 * pair + lane] - self.least);
            low | high << 16
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Arithmetic;
    use crate::solver::Orderings;
    use cubie_host::{Grid, Order, Problem};

    /// The entries of a slice as the shaders read them: lane, column and value, in their parts.
    fn read(slots: &Slots) -> [Vec<(usize, u32, f64)>; PARTS] {
        let (values, words, shape) = (slots.values(), slots.words(), slots.shape());
        assert_eq!(values.len(), shape.entries());
        assert_eq!(words.len(), shape.words());
        let [lower, upper, injected] = shape.widths;
        let near = (lower + upper) * SLICE;
        let offsets = (lower + upper).next_multiple_of(ALIGNED);
        let mut parts: [Vec<_>; PARTS] = Default::default();
        for (entry, &value) in values.iter().enumerate() {
            let col = match shape.near {
                false => words[entry],
                true if entry < near => {
                    let pair = words[offsets + entry / 2];
                    words[entry / SLICE] + (pair >> (16 * (entry % 2)) & 0xffff)
                }
                true => words[offsets + near / 2 + entry - near],
            };
            let slot = entry / SLICE;
            let part = usize::from(slot >= lower) + usize::from(slot >= lower + upper);
            assert!(slot < lower + upper + injected);
            if value != 0.0 {
                parts[part].push((entry % SLICE, col, value));
            }
        }
        parts.each_mut().map(|part| {
            part.sort_by_key(|&(lane, col, _)| (lane, col));
            std::mem::take(part)
        })
    }

    #[test]
    fn near_columns_are_those_of_the_rows_and_take_hardly_more_slots() {
        // Colours of 65,536 rows. Where the lines of a box end at a neighbour, a row or two of each
        // slice have columns in the halo, far from the others': whole columns take less there.
        for (np, rank, least) in [
            ([1, 1, 1], 0, 0.99),
            ([1, 1, 3], 1, 0.9),
            ([3, 3, 3], 13, 0.3),
        ] {
            let geometry = Grid::uniform(np, [128, 64, 64]).geometry(rank).unwrap();
            let problem = Problem::new(&geometry);
            check(&problem, least);
        }
    }

    fn check(problem: &Problem, least: f64) {
        let orderings = Orderings::new(&Order::COLOR8, problem);
        for level in orderings.view(&problem.levels) {
            let layout = Layout::new(Format::Split, Arithmetic::F64, &level, &level.f2c());
            let (mut slots, mut longest, mut near) = (0, 0, 0);
            for slice in 0..layout.slices() {
                let placed = layout.place(slice);
                let shape = placed.shape();
                slots += shape.widths[0] + shape.widths[1];
                longest += layout.longest(slice).iter().sum::<usize>();
                near += usize::from(shape.near);
                let mut entries: [Vec<_>; PARTS] = Default::default();
                for (lane, i) in layout.rows(slice).enumerate() {
                    layout.for_each_entry(i, |part, col, value| {
                        entries[part].push((lane, col, value));
                    });
                }
                for part in &mut entries {
                    part.sort_by_key(|&(lane, col, _)| (lane, col));
                }
                assert!(read(&placed) == entries, "slice {slice}");
            }
            let share = (
                slots as f64 / longest as f64,
                near as f64 / layout.slices() as f64,
            );
            assert!(share.0 < 1.03 && share.1 >= least, "{share:?}");
        }
    }
}
