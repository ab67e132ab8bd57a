//! A level's matrix in device memory: slices of rows, cut into panels that fit a binding.
//!
//! Rows stand in the order of the level, so that a colour is a range of them; a panel holds a
//! multiple of [`SLICE`] rows, and a colour's sweep is one dispatch for each panel it touches.

mod layout;
mod slots;

use std::ops::Range;

use cubie_host::Ordered;
use rayon::prelude::*;

use super::device::Device;
use super::kernels::SLICE;
use super::memory::Buffer;
use super::{Arithmetic, GpuError};
use crate::params::Format;
use layout::{Layout, PARTS, Shape, Widths};

/// Bytes of a row number.
const ROW: u64 = 4;

/// Marks, with the place of its columns, a slice whose columns are near (`shaders/split.wgsl`).
const NEAR: u32 = 1 << 31;

/// Slices that are converted at a time.
const BATCH: usize = 1024;

/// Rows of a level that one workgroup smooths in less time than a dispatch for each colour takes.
const SMALL: usize = 4096;

/// Starts of colours that fit the parameters of a kernel.
const STARTS: usize = 12;

/// Workgroups of a kernel that ends in a sum at most, in all panels together: enough to keep the
/// largest devices busy to the end, few enough for one workgroup to add up what they leave.
pub(super) const SUMS: usize = 4096;

/// The matrix of one level on a GPU.
pub struct GpuMatrix {
    pub(super) format: Format,
    pub(super) nrow: usize,
    pub(super) ncol: usize,
    pub(super) panels: Vec<Panel>,
    /// All rows, panel by panel.
    pub(super) rows: Vec<Part>,
    /// The rows of each colour, in the order of a forward sweep.
    pub(super) colors: Vec<Vec<Part>>,
    /// In the split format, the first row of each colour and the number of rows, if the level is so
    /// small that one workgroup smooths it.
    pub(super) small: Option<Vec<u32>>,
    pub(super) diagonal: Buffer,
    /// The fine row of each coarse row.
    pub(super) f2c: Buffer,
    pub(super) coarse_rows: usize,
    /// In the split format, the rows from the first injected one to the last.
    pub(super) injected: Option<Injected>,
    /// In the split format, room for the partial sums of a pass over all rows.
    pub(super) sums: Option<Buffer>,
    /// What other ranks need, if there are any.
    pub(super) outgoing: Option<Outgoing>,
}

/// Some rows of the matrix, and their entries.
pub(super) struct Panel {
    pub(super) values: Buffer,
    pub(super) cols: Buffer,
    /// In the split format, where the parts of each slice begin.
    pub(super) marks: Option<Buffer>,
}

/// Rows of a panel that a dispatch works on.
pub(super) struct Part {
    /// Which panel.
    pub(super) panel: usize,
    /// The first row, counted from the panel's.
    first: usize,
    pub(super) count: usize,
    /// The panel's first row.
    start: usize,
    /// What is stored of the rows of interior slices, and of the others.
    stored: [Stored; 2],
}

/// What is stored of some rows.
#[derive(Clone, Copy, Default)]
struct Stored {
    rows: usize,
    /// Entries of each part, padding included.
    entries: Widths,
    /// Bytes of their columns.
    col_bytes: Widths,
}

/// Which rows are visited: while a halo travels, those that do not need it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Portion {
    /// All of them.
    All,
    /// Those of slices without entries in L, to which the halo counts.
    Interior,
    /// The others.
    Boundary,
}

impl Portion {
    /// What is left once the interior has `begun`.
    pub(super) fn left(begun: bool) -> Self {
        if begun { Self::Boundary } else { Self::All }
    }
}

/// The injected rows.
pub(super) struct Injected {
    /// The first of them.
    pub(super) start: usize,
    pub(super) rows: Vec<Part>,
    /// The coarse row of each row from the first injected one on.
    pub(super) coarse: Buffer,
}

/// The elements of a vector that other ranks need.
pub(super) struct Outgoing {
    pub(super) rows: Buffer,
    pub(super) count: usize,
    /// The elements, packed, on the device.
    pub(super) packed: Buffer,
    /// The same where the host can read them.
    pub(super) staging: Buffer,
}

impl Part {
    /// The parameters of the kernels that work on a panel.
    pub(super) fn params(&self) -> [u32; 3] {
        [self.first, self.count, self.start].map(row_number)
    }

    /// Bytes that a visit to a portion of the rows moves, with some of the parts and so many real
    /// numbers a row beside them.
    pub(super) fn bytes(
        &self,
        arithmetic: Arithmetic,
        portion: Portion,
        parts: &[usize],
        reals: u64,
    ) -> u64 {
        let stored = match portion {
            Portion::All => &self.stored[..],
            Portion::Interior => &self.stored[..1],
            Portion::Boundary => &self.stored[1..],
        };
        let bytes = stored.iter().map(|stored| {
            let sum = |of: &Widths| parts.iter().map(|&part| of[part] as u64).sum::<u64>();
            let reals = sum(&stored.entries) + stored.rows as u64 * reals;
            reals * arithmetic.bytes() + sum(&stored.col_bytes)
        });
        bytes.sum()
    }
}

impl GpuMatrix {
    /// The colours that a backward sweep visits: nothing comes after the last one's rows, so what the
    /// forward sweep made of them stands.
    pub(super) fn backward(&self) -> impl Iterator<Item = &Vec<Part>> {
        self.colors.iter().rev().skip(1)
    }

    /// Workgroups of `threads` threads that a pass over these rows, which ends in a sum, is shared
    /// among.
    pub(super) fn sum_groups(&self, part: &Part, threads: usize) -> usize {
        let fair = SUMS * part.count / self.nrow;
        fair.min(part.count.div_ceil(threads)).max(1)
    }

    /// Converts and uploads one level.
    ///
    /// # Errors
    /// If rows of a colour depend on each other, or the device has no room.
    pub(super) fn upload(
        device: &Device,
        arithmetic: Arithmetic,
        format: Format,
        level: &Ordered<'_>,
    ) -> Result<Self, GpuError> {
        let colors = &level.order.colors;
        if colors.iter().any(|color| color.block > 1) {
            return Err(GpuError::Order);
        }
        let A = &level.level.A;
        let f2c = level.f2c();
        let layout = Layout::new(format, arithmetic, level, &f2c);
        let slices = 0..layout.slices();
        let shapes: Vec<Shape> = slices.into_par_iter().map(|s| layout.shape(s)).collect();
        let cut = cut(&shapes, device.limit() / arithmetic.bytes());
        let panels = (cut.iter())
            .map(|slices| Panel::upload(device, arithmetic, &layout, &shapes, slices.clone()))
            .collect::<Result<_, _>>()?;
        let parts = |rows: Range<usize>| parts(&cut, &shapes, &rows);

        let diagonal = device.storage("the diagonal", A.nrow, arithmetic.bytes())?;
        let values = level.order.permute(&A.diagonal_values());
        device.write(&diagonal, &arithmetic.encode(&values));
        let mut matrix = Self {
            format,
            nrow: A.nrow,
            ncol: A.ncol,
            panels,
            rows: parts(0..A.nrow),
            colors: (colors.iter().map(|c| parts(c.rows.clone()))).collect(),
            small: None,
            diagonal,
            f2c: list(device, "the list of injected rows", &f2c)?,
            coarse_rows: f2c.len(),
            injected: None,
            sums: None,
            outgoing: Outgoing::new(device, arithmetic, &level.halo().send_rows)?,
        };
        if format == Format::Split {
            let starts = colors.iter().map(|color| color.rows.start).chain([A.nrow]);
            let starts: Vec<u32> = starts.map(row_number).collect();
            let is_small = A.nrow <= SMALL && cut.len() == 1 && starts.len() <= STARTS;
            matrix.small = is_small.then_some(starts);
            let workgroup = device.adapter().workgroup as usize;
            let groups = |part| matrix.sum_groups(part, workgroup);
            let by_panel: usize = matrix.rows.iter().map(groups).sum();
            let by_color: usize = matrix.colors.iter().flatten().map(groups).sum();
            let sums = by_panel.max(by_color);
            matrix.sums = Some(device.storage("partial sums", sums, arithmetic.bytes())?);
            matrix.injected = match (f2c.iter().min(), f2c.iter().max()) {
                (Some(&first), Some(&last)) => {
                    let rows = first as usize..last as usize + 1;
                    Some(Injected {
                        start: rows.start,
                        coarse: list(device, "the coarse rows", &layout.coarse[rows.clone()])?,
                        rows: parts(rows),
                    })
                }
                _ => None,
            };
        }
        Ok(matrix)
    }
}

impl Outgoing {
    fn new(
        device: &Device,
        arithmetic: Arithmetic,
        rows: &[u32],
    ) -> Result<Option<Self>, GpuError> {
        if rows.is_empty() {
            return Ok(None);
        }
        let count = rows.len();
        let bytes = count as u64 * arithmetic.bytes();
        Ok(Some(Self {
            rows: list(device, "the list of rows to send", rows)?,
            count,
            packed: device.storage("the elements to send", count, arithmetic.bytes())?,
            staging: device.staging("the elements to send", bytes)?,
        }))
    }
}

fn row_number(row: usize) -> u32 {
    u32::try_from(row).expect("rows are numbered with 32 bits")
}

/// A list of rows in device memory.
fn list(device: &Device, what: &str, rows: &[u32]) -> Result<Buffer, GpuError> {
    let buffer = device.storage(what, rows.len(), ROW)?;
    device.write(&buffer, bytemuck::cast_slice(rows));
    Ok(buffer)
}

/// Cuts the slices into panels of at most `limit` entries.
fn cut(shapes: &[Shape], limit: u64) -> Vec<Range<usize>> {
    // Kernels count entries with 32 bits, and the place of a slice's columns with 31.
    let limit = limit.min(u64::from(NEAR - 1));
    let mut panels: Vec<Range<usize>> = Vec::new();
    let mut left = 0;
    for (slice, shape) in shapes.iter().enumerate() {
        let entries = shape.entries() as u64;
        match panels.last_mut() {
            Some(panel) if entries <= left => {
                panel.end += 1;
                left -= entries;
            }
            _ => {
                panels.push(slice..slice + 1);
                left = limit - entries;
            }
        }
    }
    panels
}

/// The parts of panels that make up `rows`.
fn parts(panels: &[Range<usize>], shapes: &[Shape], rows: &Range<usize>) -> Vec<Part> {
    let part = |(panel, slices): (usize, &Range<usize>)| {
        let start = slices.start * SLICE;
        let range = rows.start.max(start)..rows.end.min(slices.end * SLICE);
        if range.is_empty() {
            return None;
        }
        let mut stored = [Stored::default(); 2];
        let slices = range.start / SLICE..range.end.div_ceil(SLICE);
        for (slice, shape) in slices.clone().zip(&shapes[slices]) {
            let rows = range.end.min((slice + 1) * SLICE) - range.start.max(slice * SLICE);
            let stored = &mut stored[usize::from(shape.widths[0] > 0)];
            stored.rows += rows;
            for part in 0..PARTS {
                stored.entries[part] += rows * shape.widths[part];
                stored.col_bytes[part] += shape.col_bytes(part, rows);
            }
        }
        Some(Part {
            panel,
            first: range.start - start,
            count: range.len(),
            start,
            stored,
        })
    };
    panels.iter().enumerate().filter_map(part).collect()
}

impl Panel {
    fn upload(
        device: &Device,
        arithmetic: Arithmetic,
        layout: &Layout<'_>,
        shapes: &[Shape],
        slices: Range<usize>,
    ) -> Result<Self, GpuError> {
        let mut marks = Vec::new();
        let (mut entries, mut words) = (0, 0);
        for shape in &shapes[slices.clone()] {
            let mut first = entries;
            for width in shape.widths {
                marks.push(mark(first));
                first += SLICE * width;
            }
            marks.push(mark(words) | if shape.near { NEAR } else { 0 });
            entries += shape.entries();
            words += shape.words();
        }
        marks.push(mark(entries));
        let bytes = entries as u64 * arithmetic.bytes();
        let values = device.mapped_storage("a panel of values", bytes)?;
        let cols = device.mapped_storage("a panel of columns", words as u64 * ROW)?;
        let (mut value_view, mut col_view) = (device.mapped(&values)?, device.mapped(&cols)?);
        let (mut value_at, mut col_at) = (0, 0);
        // Batches, so that little memory is needed on the way.
        for batch in slices.clone().step_by(BATCH) {
            let batch = batch..slices.end.min(batch + BATCH);
            let convert = |slice: usize| {
                let slots = layout.place(slice);
                let values = arithmetic.encode(&slots.values()).into_owned();
                (values, slots.words())
            };
            let converted: Vec<_> = batch.into_par_iter().map(convert).collect();
            for (values, cols) in &converted {
                let cols = bytemuck::cast_slice(cols);
                put(&mut value_view, &mut value_at, values);
                put(&mut col_view, &mut col_at, cols);
            }
        }
        drop((value_view, col_view));
        values.raw.unmap();
        cols.raw.unmap();
        let marks = match layout.format {
            Format::Ell28 => None,
            Format::Split => Some(list(device, "the marks of a panel", &marks)?),
        };
        Ok(Self {
            values,
            cols,
            marks,
        })
    }
}

/// The place of an entry or a word in a panel.
fn mark(at: usize) -> u32 {
    u32::try_from(at).expect("panels are cut so that places are numbered with 31 bits")
}

/// Writes `bytes` to the place `at` of a buffer, and moves on.
fn put(view: &mut wgpu::BufferViewMut, at: &mut usize, bytes: &[u8]) {
    let end = *at + bytes.len();
    view.slice(*at..end).copy_from_slice(bytes);
    *at = end;
}
