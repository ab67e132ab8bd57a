//! cubie: the HPCG benchmark for any GPU and every CPU.
#![expect(
    non_snake_case,
    reason = "A, Ap and Axf are the names that the algorithm has"
)]

pub mod backend;
pub mod error;
pub mod meter;
pub mod real;

pub use backend::{Backend, Convert};
pub use error::Error;
pub use meter::{Op, PerOp, Work};
pub use real::Precision;
