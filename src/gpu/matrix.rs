//! A level's matrix in device memory: ELLPACK in slices, cut into panels that fit a binding.
//!
//! Rows stand in the order of the level, so that a colour is a range of them; a panel holds a
//! multiple of [`SLICE`] rows, and a colour's sweep is one dispatch for each panel it touches.

use std::ops::Range;

use cubie_host::{Ordered, WIDTH};
use rayon::prelude::*;
use wgpu::WriteOnly;

use super::device::Device;
use super::kernels::SLICE;
use super::memory::Buffer;
use super::{Arithmetic, GpuError};

/// Bytes of a column number.
const COL: u64 = 4;

/// The matrix of one level on a GPU.
pub struct GpuMatrix {
    pub(super) nrow: usize,
    pub(super) ncol: usize,
    pub(super) panels: Vec<Panel>,
    /// The rows of each colour, in the order of a forward sweep.
    pub(super) colors: Vec<Range<usize>>,
    pub(super) diagonal: Buffer,
    /// The fine row of each coarse row.
    pub(super) f2c: Buffer,
    pub(super) coarse_rows: usize,
    /// The rows that other ranks need.
    pub(super) send_rows: Buffer,
    pub(super) sent: usize,
    /// Room for their elements.
    pub(super) outgoing: Buffer,
}

/// Some rows of the matrix, and their entries.
pub(super) struct Panel {
    pub(super) rows: Range<usize>,
    pub(super) values: Buffer,
    pub(super) cols: Buffer,
}

/// Rows of a panel that a dispatch works on.
pub(super) struct Part<'a> {
    pub(super) panel: &'a Panel,
    /// Counted from the panel's first row.
    first: usize,
    pub(super) count: usize,
}

impl Part<'_> {
    /// The parameters of the kernels that work on a panel.
    pub(super) fn params(&self) -> [u32; 3] {
        [self.first, self.count, self.panel.rows.start]
            .map(|row| u32::try_from(row).expect("rows are numbered with 32 bits"))
    }
}

impl GpuMatrix {
    /// The parts of panels that make up `rows`.
    pub(super) fn parts(&self, rows: Range<usize>) -> impl DoubleEndedIterator<Item = Part<'_>> {
        self.panels.iter().filter_map(move |panel| {
            let first = panel.rows.start.max(rows.start);
            let end = panel.rows.end.min(rows.end);
            (first < end).then(|| Part {
                panel,
                first: first - panel.rows.start,
                count: end - first,
            })
        })
    }

    /// Bytes of the entries of a row, padding included.
    pub(super) fn row_bytes(arithmetic: Arithmetic) -> u64 {
        WIDTH as u64 * (arithmetic.bytes() + COL)
    }

    /// Converts and uploads one level.
    ///
    /// # Errors
    /// If rows of a colour depend on each other, or the device has no room.
    pub(super) fn upload(
        device: &Device,
        arithmetic: Arithmetic,
        level: &Ordered<'_>,
    ) -> Result<Self, GpuError> {
        let colors = &level.order.colors;
        if colors.iter().any(|color| color.block > 1) {
            return Err(GpuError::Order);
        }
        let A = &level.level.A;
        let panel_rows = device.panel_rows(arithmetic);
        let panels = (0..A.nrow)
            .step_by(panel_rows)
            .map(|start| {
                let rows = start..A.nrow.min(start + panel_rows);
                Panel::upload(device, arithmetic, level, rows)
            })
            .collect::<Result<_, _>>()?;
        let diagonal = device.storage("the diagonal", A.nrow, arithmetic.bytes())?;
        let values = level.order.permute(&A.diagonal_values());
        device.write(&diagonal, &arithmetic.encode(&values));
        let rows = level.f2c();
        let f2c = device.storage("the list of injected rows", rows.len(), COL)?;
        device.write(&f2c, bytemuck::cast_slice(&rows));
        let rows_to_send = level.halo().send_rows;
        let sent = rows_to_send.len();
        let send_rows = device.storage("the list of rows to send", sent, COL)?;
        device.write(&send_rows, bytemuck::cast_slice(&rows_to_send));
        let outgoing = device.storage("the elements to send", sent, arithmetic.bytes())?;
        Ok(Self {
            nrow: A.nrow,
            ncol: A.ncol,
            panels,
            colors: colors.iter().map(|color| color.rows.clone()).collect(),
            diagonal,
            f2c,
            coarse_rows: rows.len(),
            send_rows,
            sent,
            outgoing,
        })
    }
}

impl Panel {
    fn upload(
        device: &Device,
        arithmetic: Arithmetic,
        level: &Ordered<'_>,
        rows: Range<usize>,
    ) -> Result<Self, GpuError> {
        let slices = rows.len().div_ceil(SLICE);
        let rows_of = |slice: usize| {
            let first = rows.start + slice * SLICE;
            first..rows.end.min(first + SLICE)
        };
        let values = |slice| {
            let rows = rows_of(slice).map(|i| level.values(i).iter().copied());
            arithmetic.encode(&by_entry(rows)).into_owned()
        };
        let cols = |slice| {
            let rows = rows_of(slice).map(|i| level.cols(i));
            bytemuck::cast_slice(&by_entry(rows)).to_vec()
        };
        let what = "a panel of values";
        let values = match arithmetic.bytes() {
            8 => filled::<{ ENTRIES * 8 }>(device, what, slices, values),
            _ => filled::<{ ENTRIES * 4 }>(device, what, slices, values),
        }?;
        let cols = filled::<{ ENTRIES * 4 }>(device, "a panel of columns", slices, cols)?;
        Ok(Self { rows, values, cols })
    }
}

/// Entries of a slice.
const ENTRIES: usize = SLICE * WIDTH;

/// The entries of a slice's rows as they are stored: entry j of all rows together.
fn by_entry<T: Copy + Default>(
    rows: impl Iterator<Item = impl Iterator<Item = T>>,
) -> [T; ENTRIES] {
    let mut entries = [T::default(); ENTRIES];
    for (k, row) in rows.enumerate() {
        for (j, entry) in row.enumerate() {
            entries[j * SLICE + k] = entry;
        }
    }
    entries
}

/// A buffer of `slices` slices of `BYTES` bytes, computed in parallel and written in place.
fn filled<const BYTES: usize>(
    device: &Device,
    what: &str,
    slices: usize,
    bytes_of: impl Fn(usize) -> Vec<u8> + Sync,
) -> Result<Buffer, GpuError> {
    let bytes = (slices * BYTES) as u64;
    let buffer = device.buffer(what, bytes, Device::STORAGE, true)?;
    let mut view = device.mapped(&buffer)?;
    let (pieces, _) = view.slice(..).into_chunks::<BYTES>();
    let pieces: Vec<WriteOnly<'_, [u8; BYTES]>> = pieces.into_iter().collect();
    pieces
        .into_par_iter()
        .enumerate()
        .for_each(|(slice, piece)| {
            WriteOnly::<[u8]>::from(piece).copy_from_slice(&bytes_of(slice));
        });
    drop(view);
    buffer.raw.unmap();
    Ok(buffer)
}
