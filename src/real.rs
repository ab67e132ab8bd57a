//! Precisions: their names, their rounding, and the sealed trait of those that Rust computes in.

use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

use pulp::Simd;
use serde::{Deserialize, Serialize};

/// What a run computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// IEEE double.
    F64,
    /// A pair of IEEE singles, about 48 bits: double precision where the hardware has none.
    F32x2,
    /// CG in double (or in pairs of singles, where the device has no double), the V-cycle in single.
    Mixed,
    /// IEEE single, a diagnostic.
    F32,
}

impl Precision {
    /// All, best first.
    pub const ALL: [Precision; 4] = [Self::F64, Self::F32x2, Self::Mixed, Self::F32];

    /// What a run is called whose ranks compute in these; `None` if they do not go together. Pairs
    /// of singles stand in for doubles on the devices that have none.
    pub fn of_all(ranks: &[Precision]) -> Option<Precision> {
        let all = |allowed: &[Precision]| ranks.iter().all(|precision| allowed.contains(precision));
        match ranks {
            _ if all(&[Self::F64]) => Some(Self::F64),
            _ if all(&[Self::F64, Self::F32x2]) => Some(Self::F32x2),
            _ if all(&[Self::Mixed]) => Some(Self::Mixed),
            _ if all(&[Self::F32]) => Some(Self::F32),
            _ => None,
        }
    }

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32x2 => "f32x2",
            Self::Mixed => "mixed",
            Self::F32 => "f32",
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A floating-point type that Rust computes in.
pub trait Real:
    sealed::Sealed
    + bytemuck::Pod
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// The distance from 1 to the next larger number.
    const EPSILON: f64;
    /// The nearest value to `value`.
    fn from_f64(value: f64) -> Self;
    /// The same value in double precision.
    fn to_f64(self) -> f64;
    /// self · a + b, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// c −= a · b in `N` lanes, a multiple of the lanes of `S`.
    fn subtract_products<S: Simd, const N: usize>(
        simd: S,
        a: &[Self; N],
        b: &[Self; N],
        c: &mut [Self; N],
    );
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const EPSILON: f64 = f64::EPSILON;
    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn mul_add(self, a: f64, b: f64) -> f64 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn subtract_products<S: Simd, const N: usize>(
        simd: S,
        a: &[f64; N],
        b: &[f64; N],
        c: &mut [f64; N],
    ) {
        let (a, b) = (S::as_simd_f64s(a).0, S::as_simd_f64s(b).0);
        for ((a, b), c) in a.iter().zip(b).zip(S::as_mut_simd_f64s(c).0) {
            *c = simd.negate_mul_add_e_f64s(*a, *b, *c);
        }
    }
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const EPSILON: f64 = f32::EPSILON as f64;
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding is what it is for"
    )]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn mul_add(self, a: f32, b: f32) -> f32 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn subtract_products<S: Simd, const N: usize>(
        simd: S,
        a: &[f32; N],
        b: &[f32; N],
        c: &mut [f32; N],
    ) {
        let (a, b) = (S::as_simd_f32s(a).0, S::as_simd_f32s(b).0);
        for ((a, b), c) in a.iter().zip(b).zip(S::as_mut_simd_f32s(c).0) {
            *c = simd.negate_mul_add_e_f32s(*a, *b, *c);
        }
    }
}
