//! cubie: the HPCG benchmark for any GPU and every CPU.
#![expect(
    non_snake_case,
    reason = "A, Ap and Axf are the names that the algorithm has"
)]

pub mod backend;
pub mod benchmark;
pub mod cg;
pub mod cli;
pub mod cpu;
pub mod device;
pub mod error;
pub mod explain;
pub mod file;
pub mod fit;
pub mod gpu;
pub mod hybrid;
pub mod interrupt;
pub mod launch;
pub mod machine;
pub mod meter;
pub mod mg;
pub mod model;
pub mod net;
pub mod number;
pub mod params;
pub mod plan;
pub mod pool;
pub mod progress;
pub mod real;
pub mod reference;
pub mod report;
pub mod results;
pub mod run;
pub mod saved;
pub mod solver;
pub mod stream;
pub mod textbook;
pub mod topology;
pub mod validate;

pub use backend::{Backend, Convert};
pub use error::Error;
pub use meter::{Op, PerOp, Work};
pub use params::Params;
pub use progress::Progress;
pub use real::Precision;
pub use results::Results;
