//! What a result must pass before it counts: HPCG's checks, and every kernel against its twin.

pub mod kernels;
pub mod norms;
pub mod problem;
pub mod residual;
pub mod spectral;
pub mod symmetry;
