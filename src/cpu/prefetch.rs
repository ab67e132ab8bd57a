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
    /// there HPCG is twice as fast with the second level (docs/measurements.md).
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

/// One way to fetch ahead, for kernels to be compiled for.
pub(crate) trait Prefetch {
    /// Fetches what a stream, which is read forward or `backward`, needs soon.
    fn prefetch<T>(stream: &T, backward: bool);
}

/// [`Ahead::Past`]
pub(crate) struct Past;
/// [`Ahead::SecondLevel`]
pub(crate) struct SecondLevel;

impl Prefetch for Past {
    #[inline(always)]
    fn prefetch<T>(stream: &T, backward: bool) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch of any address is harmless.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_NTA, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_NTA>(soon(stream, 1 << 10, backward));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (stream, backward);
    }
}

impl Prefetch for SecondLevel {
    #[inline(always)]
    fn prefetch<T>(stream: &T, backward: bool) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch of any address is harmless.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T1>(soon(stream, 4 << 10, backward));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (stream, backward);
    }
}

/// So many bytes ahead of a stream.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn soon<T>(stream: &T, bytes: usize, backward: bool) -> *const i8 {
    let stream = std::ptr::from_ref(stream).cast::<i8>();
    if backward {
        stream.wrapping_sub(bytes)
    } else {
        stream.wrapping_add(bytes)
    }
}
