//! Precisions: their names, their rounding, and the sealed trait of those that Rust computes in.

use std::fmt;

/// What a run computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
