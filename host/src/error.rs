//! What can be wrong with a problem; each message says what to do.

/// Errors of the distributed problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Local rows are numbered with 32 bits.
    #[error("a box of {} x {} x {} points has more rows than 32-bit row numbers can name; use smaller boxes on more ranks", n[0], n[1], n[2])]
    TooManyRows {
        /// Points of the box.
        n: [usize; 3],
    },
}
