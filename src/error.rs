//! What the world can do to a run; each message says what to do.

use cubie_host as host;

use crate::real::Precision;

/// Errors of the package.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The problem cannot be set up.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// The device does not compute in this precision.
    #[error("{device} cannot compute in {precision}; it can in {able}")]
    Precision {
        /// Which device.
        device: String,
        /// What was asked for.
        precision: Precision,
        /// What it can do.
        able: String,
    },
    /// The generated problem is not HPCG's: a defect of this program or of the memory.
    #[error(
        "the generated problem is wrong: {0}; test this machine's memory, and report it if that is sound"
    )]
    Problem(String),
}
