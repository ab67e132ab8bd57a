//! All timed sets end at the same scaled residual: their variance is below 1e-6 (HPCG: `TestNorms`).

use crate::results::Norms;

/// Mean and variance of the last scaled residuals of the sets.
pub fn norms(scaled_residuals: &[f64]) -> Norms {
    let count = scaled_residuals.len() as f64;
    let mean = scaled_residuals.iter().sum::<f64>() / count;
    let variance = scaled_residuals
        .iter()
        .map(|s| (s - mean).powi(2))
        .sum::<f64>()
        / count;
    Norms {
        passed: variance < 1e-6,
        mean,
        variance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_pass_and_unequal_or_broken_ones_do_not() {
        assert_eq!(
            norms(&[1e-9; 3]),
            Norms {
                passed: true,
                mean: 1e-9,
                variance: 0.0
            }
        );
        assert_eq!(
            norms(&[0.0, 0.5]),
            Norms {
                passed: false,
                mean: 0.25,
                variance: 0.0625
            }
        );
        assert!(!norms(&[1e-9, f64::NAN]).passed);
    }
}
