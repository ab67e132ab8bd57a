//! How halos travel between ranks.

use std::fmt;
use std::str::FromStr;

/// Whose one-sided puts are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// What runs the ranks: MPI windows, or the memory that threads share.
    Own,
    /// OpenSHMEM.
    Shmem,
}

/// How a halo travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Non-blocking send and receive.
    #[default]
    Isend,
    /// A put to each neighbour, then a barrier of all ranks.
    PutBarrier,
    /// A put to each neighbour with a flag behind it; a rank waits for its neighbours' flags only.
    PutFlag,
    /// As `PutBarrier`, by OpenSHMEM.
    ShmemBarrier,
    /// As `PutFlag`, by OpenSHMEM.
    ShmemFlag,
}

impl Transport {
    /// All, in the order of documentation.
    pub const ALL: [Self; 5] = [
        Self::Isend,
        Self::PutBarrier,
        Self::PutFlag,
        Self::ShmemBarrier,
        Self::ShmemFlag,
    ];

    /// Whose puts it uses, if it uses any, and whether a flag follows each of them.
    pub(super) fn puts(self) -> Option<(Library, bool)> {
        match self {
            Self::Isend => None,
            Self::PutBarrier => Some((Library::Own, false)),
            Self::PutFlag => Some((Library::Own, true)),
            Self::ShmemBarrier => Some((Library::Shmem, false)),
            Self::ShmemFlag => Some((Library::Shmem, true)),
        }
    }

    /// Whether OpenSHMEM carries it.
    pub fn is_shmem(self) -> bool {
        matches!(self.puts(), Some((Library::Shmem, _)))
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isend => "isend",
            Self::PutBarrier => "put-barrier",
            Self::PutFlag => "put-flag",
            Self::ShmemBarrier => "shmem-barrier",
            Self::ShmemFlag => "shmem-flag",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Transport {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|transport| transport.name() == text)
            .ok_or_else(|| {
                format!(
                    "'{text}' is no halo transport; use {}",
                    Self::ALL.map(Self::name).join(", ")
                )
            })
    }
}
