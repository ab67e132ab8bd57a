//! Parts of the matrix while the members of a team fill them.

use std::sync::Mutex;

use super::columns::{Columns, NONE, Near, Rows, Spare, Unpacked};
use super::part::{Chain, Part, Triangle, place};
use crate::cpu::pages::Pages;
use crate::cpu::prefetch::Ahead;
use crate::cpu::simd::LANES;
use crate::pool::SharedSlice;
use crate::real::Real;

/// A part to be filled.
pub(super) struct NewPart<T> {
    width: usize,
    slices: usize,
    values: Pages<T>,
    near: Pages<Near>,
    spare: Spare,
    unpacked: Mutex<Vec<Unpacked>>,
}

/// What a member of a team fills a part with.
pub(super) struct Filler<'a, T> {
    /// The entries of one slice.
    pub(super) rows: Rows<T>,
    cols: Vec<[u32; LANES]>,
    values: SharedSlice<T>,
    near: SharedSlice<Near>,
    spare: &'a Spare,
    unpacked: Unpacked,
    to: &'a Mutex<Vec<Unpacked>>,
}

/// The same for all members.
pub(super) struct SharedPart<'a, T> {
    width: usize,
    values: SharedSlice<T>,
    near: SharedSlice<Near>,
    spare: &'a Spare,
    unpacked: &'a Mutex<Vec<Unpacked>>,
}

impl<T: Real> NewPart<T> {
    pub(super) fn new(slices: usize, width: usize, spare: Spare) -> Self {
        Self {
            spare,
            width,
            slices,
            values: Pages::zeros(slices * width * LANES),
            near: Pages::zeros(slices * width),
            unpacked: Mutex::default(),
        }
    }
    pub(super) fn shared(&mut self) -> SharedPart<'_, T> {
        SharedPart {
            width: self.width,
            values: SharedSlice::new(&mut self.values),
            near: SharedSlice::new(&mut self.near),
            spare: &self.spare,
            unpacked: &self.unpacked,
        }
    }
    pub(super) fn filled(self) -> Part<T> {
        let unpacked = self.unpacked.into_inner();
        let unpacked = unpacked.unwrap_or_else(|poisoned| poisoned.into_inner());
        Part {
            width: self.width,
            values: self.values,
            cols: Columns::new(self.width, self.slices, self.near, unpacked),
            ahead: Ahead::here(),
        }
    }
}

impl<'a, T: Real> SharedPart<'a, T> {
    pub(super) fn filler(&self) -> Filler<'a, T> {
        Filler {
            rows: Rows::new(),
            cols: vec![[NONE; LANES]; self.width],
            values: self.values,
            near: self.near,
            spare: self.spare,
            unpacked: Unpacked::default(),
            to: self.unpacked,
        }
    }
}

impl<T: Real> Filler<'_, T> {
    /// Stores the entries in `rows` as those of a slice, and leaves none there. Padding may always
    /// refer to the column `idle`.
    ///
    /// # Safety
    /// No other thread touches the slice.
    pub(super) unsafe fn place(&mut self, slice: usize, idle: u32) {
        let width = self.cols.len();
        let slots = slice * width..(slice + 1) * width;
        // SAFETY: by the caller's promise.
        let (values, near) = unsafe {
            (
                self.values
                    .slice_mut(slots.start * LANES..slots.end * LANES),
                self.near.slice_mut(slots),
            )
        };
        self.cols.fill([NONE; LANES]);
        self.rows.place(values.as_chunks_mut().0, &mut self.cols);
        self.rows.clear();
        self.unpacked
            .pack(slice, &self.cols, near, self.spare, idle);
    }

    /// Ends the member's work.
    pub(super) fn end(self) {
        if !self.unpacked.is_empty() {
            let to = self.to.lock();
            to.unwrap_or_else(|poisoned| poisoned.into_inner())
                .push(self.unpacked);
        }
    }
}

/// L or U to be filled.
pub(super) struct NewTriangle<T> {
    is_upper: bool,
    far: NewPart<T>,
    chain: Chain<T>,
}

/// The same for all members.
pub(super) struct SharedTriangle<'a, T> {
    pub(super) far: SharedPart<'a, T>,
    pub(super) chain: SharedChain<T>,
}

pub(super) struct SharedChain<T> {
    width: usize,
    values: SharedSlice<[T; LANES]>,
    places: SharedSlice<[u8; LANES]>,
}

impl<T: Real> NewTriangle<T> {
    pub(super) fn new(
        slices: usize,
        [far, chain]: [usize; 2],
        is_upper: bool,
        spare: Spare,
    ) -> Self {
        Self {
            is_upper,
            far: NewPart::new(slices, far, spare),
            chain: Chain {
                width: chain,
                values: Pages::zeros(slices * chain),
                places: Pages::zeros(slices * chain),
            },
        }
    }
    pub(super) fn shared(&mut self) -> SharedTriangle<'_, T> {
        SharedTriangle {
            far: self.far.shared(),
            chain: SharedChain {
                width: self.chain.width,
                values: SharedSlice::new(&mut self.chain.values),
                places: SharedSlice::new(&mut self.chain.places),
            },
        }
    }
    pub(super) fn filled(self) -> Triangle<T> {
        Triangle {
            far: self.far.filled(),
            chain: self.chain,
            is_upper: self.is_upper,
        }
    }
}

impl<T: Real> SharedChain<T> {
    /// Makes a slice empty. Where nothing comes, zero times the slice's first row is added.
    ///
    /// # Safety
    /// No other thread touches the slice.
    pub(super) unsafe fn clear(&self, slice: usize) {
        let slots = slice * self.width..(slice + 1) * self.width;
        // SAFETY: by the caller's promise.
        let places = unsafe { self.places.slice_mut(slots) };
        places.fill([place(0, 0); LANES]);
    }
    /// Adds an entry to the row in a lane, whose column has a place in the slice's window.
    ///
    /// # Safety
    /// No other thread touches the slice.
    pub(super) unsafe fn push(&self, slice: usize, lane: usize, place: u8, value: T) {
        let slots = slice * self.width..(slice + 1) * self.width;
        // SAFETY: by the caller's promise.
        let (values, places) = unsafe {
            (
                self.values.slice_mut(slots.clone()),
                self.places.slice_mut(slots),
            )
        };
        // A zero that is overwritten adds nothing anyway.
        let free = values
            .iter()
            .position(|values| values[lane].to_f64() == 0.0);
        let free = free.expect("no row has more entries than the widest");
        values[free][lane] = value;
        places[free][lane] = place;
    }
}
