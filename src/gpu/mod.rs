//! The GPU backend: HPCG's kernels in WGSL through wgpu, on Vulkan, Metal and DX12.
//!
//! [`adapters`] lists the devices, [`choose`] picks one, [`Adapter::open`] opens it, and
//! [`Gpu::new`] computes on it in one [`Arithmetic`]. Several backends may share an open
//! [`Device`]: their work stays in order, their times and bytes are counted together.
//! Only this module names `wgpu`.

mod adapters;
mod arithmetic;
mod backend;
mod bandwidth;
mod clock;
mod commands;
mod device;
mod ell;
mod error;
pub mod f32x2;
mod halo;
mod kernels;
mod matrix;
mod memory;
mod operations;
mod pace;
mod pipelines;
mod self_test;
mod split;
pub mod stream;

pub use adapters::{Adapter, Kind, adapters, choose};
pub use arithmetic::Arithmetic;
pub use backend::{Gpu, GpuScalar, GpuVector};
pub use device::Device;
pub use error::GpuError;
pub use kernels::Kernel;
pub use matrix::GpuMatrix;
