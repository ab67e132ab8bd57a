//! Whether a run fits into memory, and the largest one that fills a share of it.

use cubie_host::{Geometry, Grid, Problem, Ranks};

use crate::device::{Device, Job};
use crate::machine::{Machine, host_name, sum_alike};
use crate::mg::System;
use crate::model::{Need, largest_box, need};
use crate::params::{Format, InputError};
use crate::results::DeviceKind;
use crate::solver::Orderings;
use crate::{Backend, Error, Params, Precision};

/// The memory that a run may use: of the device that computes, and of its host.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// What computes.
    pub kind: DeviceKind,
    /// In which precision.
    pub precision: Precision,
    /// How it stores matrices.
    pub format: Format,
    /// Which device it is among those of all ranks.
    pub device: String,
    /// Bytes that the device has; `None` if nothing tells.
    pub memory: Option<u64>,
    /// Bytes of them for this rank: a fair share where several ranks use the device.
    pub capacity: Option<u64>,
    /// The host.
    pub machine: Machine,
}

/// Rehearses on the least box what a device may refuse, so that it does so before any work: the
/// order, the arithmetic, and vectors of the real box's size.
///
/// # Errors
/// What the device refuses.
pub fn rehearse(
    device: &Device,
    params: &Params,
    geometry: &Geometry,
    ranks: &Ranks,
) -> Result<(), Error> {
    let problem = Problem::new(&Geometry::single([16; 3])?);
    let orderings = Orderings::new(&params.order, &problem);
    let levels = orderings.view(&problem.levels);
    let vector = OneVector(geometry.nrow());
    let precision = device.precision(params.precision, ranks)?;
    device.run(precision, &levels, &Ranks::serial(), vector)
}

/// Allocates a vector of this length.
struct OneVector(usize);

impl Job for OneVector {
    type Output = ();
    fn run<B: Backend, S: System<B>>(self, mut backend: B, _: S) -> Result<(), Error> {
        backend.vector(self.0).map(drop)
    }
}

/// The smallest of the grids that the ranks found with [`Room::fill`], for all of them.
pub fn smallest(ranks: &Ranks, grid: &Grid) -> Grid {
    let mine = serde_json::to_vec(&[grid.nx, grid.ny, grid.nz[0]]).expect("plain numbers");
    let all = ranks.gather_bytes(&mine);
    let boxes = all
        .iter()
        .map(|bytes| serde_json::from_slice::<[usize; 3]>(bytes).expect("written just now"));
    // They grow in x last: what is smaller in the first side that differs is so in all.
    Grid::uniform(grid.np, boxes.min().expect("at least one rank"))
}

impl Room {
    /// The room on the device that the parameters choose, for one of these ranks.
    ///
    /// # Errors
    /// If the device cannot compute in the precision asked for.
    pub fn of(
        device: &Device,
        params: &Params,
        machine: Machine,
        ranks: &Ranks,
    ) -> Result<Self, Error> {
        // All ranks ask, whatever fails on some of them.
        let capacity = device.capacity(params, ranks);
        Ok(Self {
            kind: device.describe().kind,
            precision: device.precision(params.precision, ranks)?,
            format: device.format(),
            device: device.key(),
            memory: device.memory(params),
            capacity,
            machine,
        })
    }

    /// What a rank with this box needs.
    pub fn need(&self, geometry: &Geometry) -> Need {
        need(geometry, self.kind, self.precision, self.format)
    }

    /// Refuses boxes that do not fit beside each other: those of all ranks on this host, and of
    /// all that use the same device.
    ///
    /// # Errors
    /// [`Error::HostMemory`] or [`Error::DeviceMemory`] with what is needed and what there is.
    pub fn check(&self, geometry: &Geometry, ranks: &Ranks) -> Result<(), Error> {
        let need = self.need(geometry);
        // All ranks ask, whatever fails on some of them.
        let host = format!("{:?}", host_name());
        let on_host = sum_alike(ranks, &host, need.host);
        let on_device = sum_alike(ranks, &self.device, need.device);
        if let Some(memory) = self.machine.memory
            && on_host > memory.free
        {
            return Err(Error::HostMemory {
                needed: on_host,
                free: memory.free,
            });
        }
        match self.memory {
            Some(memory) if self.kind == DeviceKind::Gpu && on_device > memory => {
                Err(Error::DeviceMemory {
                    needed: on_device,
                    memory,
                })
            }
            _ => Ok(()),
        }
    }

    /// The largest box whose data fill at most `share` of this rank's part of the device's memory.
    /// Other ranks may find another one: see [`smallest`].
    ///
    /// # Errors
    /// If the memory is unknown, or not even the least box fits.
    pub fn fill(&self, share: f64, np: [usize; 3]) -> Result<Grid, InputError> {
        let capacity = self.capacity.ok_or(InputError::FillOfUnknown)?;
        let limit = share * capacity as f64;
        let fits = |n| {
            let grid = Grid::uniform(np, n);
            let Ok(geometry) = grid.geometry(grid.middle()) else {
                return false;
            };
            let need = self.need(&geometry);
            let bytes = match self.kind {
                DeviceKind::Cpu => need.host,
                DeviceKind::Gpu => need.device,
            };
            bytes as f64 <= limit
        };
        let n = largest_box(fits).ok_or_else(|| InputError::FillTooSmall {
            percent: crate::number::g(100.0 * share),
        })?;
        Ok(Grid::uniform(np, n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Memory;
    use cubie_host::Ranks;
    use cubie_host::comm::{Reduce, Transport, threads};

    fn room(free: u64, capacity: Option<u64>) -> Room {
        Room {
            kind: DeviceKind::Cpu,
            precision: Precision::F64,
            format: Format::Split,
            device: "the host".into(),
            memory: None,
            capacity,
            machine: Machine {
                memory: Some(Memory {
                    total: u64::MAX,
                    free,
                }),
                threads: 1,
            },
        }
    }

    /// Ranks that share a host fill together what is asked for, and nobody's halo is forgotten.
    #[test]
    fn many_ranks_fill_a_share_of_their_host_together() {
        let total = 64 << 30;
        for np in [[1, 1, 1], [2, 2, 2], [3, 3, 3]] {
            let ranks = np.iter().product::<usize>();
            let room = room(total, Some(total / ranks as u64));
            let grid = room.fill(0.5, np).unwrap();
            let geometries = (0..ranks).map(|rank| grid.geometry(rank).unwrap());
            let needed: u64 = geometries.map(|geometry| room.need(&geometry).host).sum();
            let filled = needed as f64 / total as f64;
            assert!(filled > 0.4 && filled <= 0.5, "{np:?}: {filled}");
        }
    }

    /// Ranks with more or less memory, in whatever precision, have one grid.
    #[test]
    fn all_ranks_take_the_box_that_fits_everywhere() {
        let np = [1, 1, 3];
        let fill = |rank: usize| {
            let capacity = [64 << 30, 8 << 30, 9 << 30][rank];
            room(u64::MAX, Some(capacity)).fill(0.5, np).unwrap()
        };
        let grids = threads::run(3, |comm| {
            let ranks = Ranks::new(Box::new(comm), Transport::Isend, Reduce::Fast);
            Ok::<_, Error>(smallest(&ranks, &fill(ranks.rank())))
        });
        assert_ne!(fill(0), fill(1));
        assert_eq!(grids.unwrap(), [fill(1), fill(1), fill(1)]);
    }

    /// A large box beside a small one: what both need is what counts, not twice the large one.
    #[test]
    fn unequal_boxes_fit_beside_each_other() {
        let grid = Grid::split_in_z([1, 1, 2], [16, 16], 1, 64, 16);
        let needed = [0, 1].map(|rank| room(0, None).need(&grid.geometry(rank).unwrap()).host);
        assert!(needed[0] > 2 * needed[1]);
        let both: u64 = needed.iter().sum();
        let check = |free| {
            threads::run(2, |comm| {
                let ranks = Ranks::new(Box::new(comm), Transport::Isend, Reduce::Fast);
                room(free, None).check(&grid.geometry(ranks.rank())?, &ranks)
            })
        };
        assert!(check(both).is_ok());
        match check(both - 1) {
            Err(Error::HostMemory { needed, .. }) => assert_eq!(needed, both),
            other => panic!("{other:?}"),
        }
    }
}
