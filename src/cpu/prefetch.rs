//! Streams that are read once, fetched ahead of their use: a kernel reads some thirty at a time,
//! more than the hardware follows by itself.

/// How streams that are read once are fetched ahead of their use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ahead {
    /// Past the caches that x lives in.
    Past,
    /// Into the second-level cache.
    SecondLevel,
}

impl Ahead {
    /// What this machine's cores are fast with. Intel's get few lines at a time past their caches:
    /// there HPCG is up to 1.9 times as fast with the second level (docs/measurements.md).
    pub(crate) fn here() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let leaf = std::arch::x86_64::__cpuid(0);
            let vendor = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes);
            if [*b"Auth", *b"enti", *b"cAMD"] == vendor {
                return Self::Past;
            }
        }
        Self::SecondLevel
    }
}

/// How far ahead: what memory delivers before the first of it arrives, 20 GB/s for 150 ns, and more.
#[cfg(target_arch = "x86_64")]
const BYTES: usize = 4 << 10;

/// Fetches what a stream, which is read forward or `backward`, needs soon: as [`Ahead::Past`], or
/// else as [`Ahead::SecondLevel`].
#[inline(always)]
pub(crate) fn prefetch<const PAST: bool, T>(stream: &T, backward: bool) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_NTA, _MM_HINT_T1, _mm_prefetch};
        let stream = std::ptr::from_ref(stream).cast::<i8>();
        let soon = if backward {
            stream.wrapping_sub(BYTES)
        } else {
            stream.wrapping_add(BYTES)
        };
        // SAFETY: a prefetch of any address is harmless.
        unsafe {
            if PAST {
                _mm_prefetch::<_MM_HINT_NTA>(soon);
            } else {
                _mm_prefetch::<_MM_HINT_T1>(soon);
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (stream, backward);
}
