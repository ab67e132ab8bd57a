//! Elements on their way between ranks. HPCG: `ExchangeHalo_ref`.

use crate::real::Real;

/// Writes the elements of `x` in `rows`, one after the other.
pub fn pack<T: Real>(rows: &[u32], x: &[T], bytes: &mut [u8]) {
    for (bytes, &i) in bytes.chunks_exact_mut(size_of::<T>()).zip(rows) {
        bytes.copy_from_slice(bytemuck::bytes_of(&x[i as usize]));
    }
}

/// Overwrites the externals of a vector.
pub fn unpack<T: Real>(bytes: &[u8], externals: &mut [T]) {
    for (x, bytes) in externals.iter_mut().zip(bytes.chunks_exact(size_of::<T>())) {
        *x = bytemuck::pod_read_unaligned(bytes);
    }
}
