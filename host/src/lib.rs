//! The distributed HPCG problem: geometry, matrix, coarse levels, halo lists and orders of the
//! rows. Always f64; knows no GPU and no solver.
#![expect(non_snake_case, reason = "A is the name that the algorithm has")]

pub mod comm;
pub mod error;
pub mod geometry;
pub mod halo;
pub mod matrix;
pub mod order;
pub mod problem;

pub use comm::{HaloExchange, Ranks};
pub use error::Error;
pub use geometry::{Geometry, Grid};
pub use halo::Halo;
pub use matrix::{Matrix, WIDTH};
pub use order::{Color, Order, Ordered, Ordering};
pub use problem::{Level, Problem};
