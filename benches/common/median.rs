//! The middle of several measurements.

/// The median; the lower one of two in the middle.
///
/// # Panics
/// If there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}
