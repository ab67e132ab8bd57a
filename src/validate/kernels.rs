//! Every kernel on a device against its sequential twin.

use cubie_host::Geometry;

/// A vector without structure that depends on the global row g alone:
/// v_g = 1 + ((g+1)·2654435761 mod 2³²) / 2³².
pub fn hash_vector(geometry: &Geometry) -> Vec<f64> {
    (0..geometry.nrow())
        .map(|i| {
            let hash = (geometry.global_row(i) + 1).wrapping_mul(2_654_435_761) & 0xffff_ffff;
            1.0 + hash as f64 / 4_294_967_296.0
        })
        .collect()
}
