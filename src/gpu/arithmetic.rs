//! How a kernel computes: the three kinds of real numbers, and their form in memory.

use std::borrow::Cow;

use rayon::prelude::*;

use super::f32x2;

/// What a GPU's kernels take for real numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// IEEE double.
    F64,
    /// Unevaluated sums of two singles.
    F32x2,
    /// IEEE single.
    F32,
}

impl Arithmetic {
    /// All three, best first.
    pub const ALL: [Self; 3] = [Self::F64, Self::F32x2, Self::F32];

    /// Its name, as in [`crate::Precision`].
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32x2 => "f32x2",
            Self::F32 => "f32",
        }
    }

    /// Bytes of a number in memory.
    pub fn bytes(self) -> u64 {
        match self {
            Self::F64 | Self::F32x2 => 8,
            Self::F32 => 4,
        }
    }

    /// The distance from 1 to the next number, for error bounds.
    pub fn epsilon(self) -> f64 {
        match self {
            Self::F64 => f64::EPSILON,
            Self::F32x2 => f32x2::EPSILON,
            Self::F32 => f64::from(f32::EPSILON),
        }
    }

    /// Its functions in WGSL.
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::F64 => include_str!("../../shaders/real/f64.wgsl"),
            Self::F32x2 => include_str!("../../shaders/real/f32x2.wgsl"),
            Self::F32 => include_str!("../../shaders/real/f32.wgsl"),
        }
    }

    /// Numbers as they stand in the device's memory.
    pub(super) fn encode(self, values: &[f64]) -> Cow<'_, [u8]> {
        match self {
            Self::F64 => bytemuck::cast_slice(values).into(),
            Self::F32x2 => encode_each(values, f32x2::from_f64).into(),
            Self::F32 => encode_each(values, f32x2::to_single).into(),
        }
    }

    /// Numbers of the device's memory as they travel to other ranks: pairs as doubles, so that a
    /// rank on a CPU understands them.
    pub(super) fn to_wire(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::F32x2 => bytemuck::cast_slice(&self.decode(bytes)).to_vec().into(),
            Self::F64 | Self::F32 => bytes.into(),
        }
    }

    /// Numbers from other ranks as they stand in the device's memory.
    pub(super) fn of_wire(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::F32x2 => {
                let doubles: Vec<f64> = bytemuck::pod_collect_to_vec(bytes);
                self.encode(&doubles).into_owned().into()
            }
            Self::F64 | Self::F32 => bytes.into(),
        }
    }

    /// The numbers that stand in a piece of the device's memory.
    pub(super) fn decode(self, bytes: &[u8]) -> Vec<f64> {
        match self {
            Self::F64 => decode_each(bytes, |x: f64| x),
            Self::F32x2 => decode_each(bytes, f32x2::to_f64),
            Self::F32 => decode_each(bytes, |x: f32| f64::from(x)),
        }
    }
}

/// Elements that one task converts at least.
const GRAIN: usize = 4096;

fn encode_each<T: bytemuck::NoUninit>(values: &[f64], number: impl Fn(f64) -> T + Sync) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * size_of::<T>()];
    bytes
        .par_chunks_exact_mut(size_of::<T>())
        .zip(values)
        .with_min_len(GRAIN)
        .for_each(|(bytes, &x)| bytes.copy_from_slice(bytemuck::bytes_of(&number(x))));
    bytes
}

fn decode_each<T: bytemuck::AnyBitPattern>(
    bytes: &[u8],
    value: impl Fn(T) -> f64 + Sync,
) -> Vec<f64> {
    bytes
        .par_chunks_exact(size_of::<T>())
        .with_min_len(GRAIN)
        .map(|number| value(bytemuck::pod_read_unaligned(number)))
        .collect()
}
