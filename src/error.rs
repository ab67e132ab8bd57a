//! What the world can do to a run; each message says what to do.

use cubie_host as host;

/// Errors of the package.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The problem cannot be set up.
    #[error(transparent)]
    Host(#[from] host::Error),
}
