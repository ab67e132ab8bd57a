//! What can go wrong with a GPU; each message says what to do.

use crate::number::bytes;

/// Errors of GPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// The device that was asked for does not exist.
    #[error("there is no GPU '{wanted}'; {existing}")]
    NoDevice {
        /// What was asked for.
        wanted: String,
        /// Those that exist, or how to get one.
        existing: String,
    },
    /// The driver does not hand out the device.
    #[error(
        "cannot open {device}: {reason}; is another program holding it, or its driver out of date?"
    )]
    Open {
        /// The device's name.
        device: String,
        /// What the driver says.
        reason: String,
    },
    /// A forced limit that nothing could work under.
    #[error("a binding limit of {limit} bytes is too small; use at least {least}")]
    LimitTooSmall {
        /// The limit asked for.
        limit: u64,
        /// The least that works.
        least: u64,
    },
    /// The device or its compiler breaks the arithmetic of pairs.
    #[error(
        "{device} does not do f32x2 arithmetic right ({what}); use another precision, device or driver"
    )]
    SelfTest {
        /// The device's name.
        device: String,
        /// The first result that was wrong.
        what: String,
    },
    /// The order has rows that must be visited one after the other.
    #[error(
        "GPUs run color8 only: the rows of each colour must be independent; use --order color8, or --device cpu for the other orders"
    )]
    Order,
    /// Something does not fit the largest piece of memory that a kernel may see.
    #[error(
        "{what} of {} is more than the {limit} bytes of the largest buffer on {device}; {largest}",
        bytes(*size)
    )]
    TooLarge {
        /// The device's name.
        device: String,
        /// What does not fit.
        what: String,
        /// Its size in bytes.
        size: u64,
        /// The device's limit in bytes.
        limit: u64,
        /// The largest size that fits, in words.
        largest: String,
    },
    /// The device's memory is full.
    #[error(
        "{device} has no memory left for {what} of {}, with {} in use; use a smaller box or a device with more memory",
        bytes(*size),
        bytes(*allocated)
    )]
    OutOfMemory {
        /// The device's name.
        device: String,
        /// What was to be allocated.
        what: String,
        /// Its size in bytes.
        size: u64,
        /// Bytes that this program had allocated on the device.
        allocated: u64,
    },
    /// The device was lost or refused a command.
    #[error(
        "{device} failed: {reason}; if it was reset because a kernel took too long, use a smaller box"
    )]
    Failed {
        /// The device's name.
        device: String,
        /// What the driver says.
        reason: String,
    },
}
