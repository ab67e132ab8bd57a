//! What the arrays and the sums must be at the end, from the same arithmetic on single numbers.

use super::SCALAR;
use crate::real::Real;

/// STREAM's bounds on the average relative error.
const BOUND_F64: f64 = 1e-13;
const BOUND_F32: f64 = 1e-6;

/// The arrays hold the same number everywhere; this is one element of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<T> {
    /// Of a, b and c.
    pub(crate) values: [T; 3],
    passes: usize,
}

/// What a and b hold at the beginning; c is 0.
pub(crate) const INITIAL: [f64; 3] = [1.0, 2.0, 0.0];

impl<T: Real> Expected<T> {
    /// Before the first pass.
    pub(crate) fn new() -> Self {
        Self {
            values: INITIAL.map(T::from_f64),
            passes: 0,
        }
    }

    /// After one more pass over Copy, Scale, Add and Triad.
    pub(crate) fn pass(&mut self) {
        let q = T::from_f64(SCALAR);
        let [a, b, c] = &mut self.values;
        *c = *a;
        *b = q * *c;
        *c = *a + *b;
        *a = *b + q * *c;
        self.passes += 1;
    }

    /// The bound on the average error: STREAM's, or what so many roundings explain.
    pub(crate) fn bound(&self) -> f64 {
        let stream = if size_of::<T>() == 8 {
            BOUND_F64
        } else {
            BOUND_F32
        };
        stream.max(4.0 * self.passes as f64 * T::EPSILON)
    }

    /// Compares the average errors of the arrays, and the sums over `n` elements whose partial
    /// sums in `T` have `terms` terms each.
    pub(crate) fn check(&self, errors: [f64; 3], sums: [f64; 2], n: usize, terms: usize) -> Check {
        let bound = self.bound();
        let [a, b, _] = self.values.map(Real::to_f64);
        let n = n as f64;
        let exact = [n * a * b, n * a];
        let sums_bound = self.sums_bound(n, terms);
        let mut failures = Vec::new();
        for (name, error) in ["a", "b", "c"].into_iter().zip(errors) {
            if !is_below(error, bound) {
                failures.push(format!("Failed Validation on array {name}[], AvgRelAbsErr > epsilon ({bound:e}): it is {error:e}"));
            }
        }
        let mut check = Check { bound, failures };
        for (name, (sum, exact)) in ["Dot", "Read"].into_iter().zip(sums.into_iter().zip(exact)) {
            check.compare(name, sum, exact, sums_bound);
        }
        check
    }

    /// The bound on the relative error of a sum over `n` elements whose partial sums in `T` have
    /// `terms` terms each.
    pub(crate) fn sums_bound(&self, n: f64, terms: usize) -> f64 {
        self.bound() + terms as f64 * T::EPSILON + n / terms as f64 * f64::EPSILON
    }
}

/// What is no number is not below anything.
fn is_below(error: f64, bound: f64) -> bool {
    error < bound
}

/// The outcome of the comparison.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Check {
    /// The bound on the average relative error of the arrays.
    pub bound: f64,
    /// What was over its bound, one sentence each.
    pub failures: Vec<String>,
}

impl Check {
    /// Notes a failure if a sum's relative error is not below its bound.
    pub(crate) fn compare(&mut self, name: &str, sum: f64, exact: f64, bound: f64) {
        let error = ((sum - exact) / exact).abs();
        if !is_below(error, bound) {
            self.failures.push(format!("Failed Validation on the result of {name}, relative error > {bound:e}: it is {error:e}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_does_nothing_is_found_out() {
        let mut expected = Expected::<f32>::new();
        for _ in 0..3 {
            expected.pass();
        }
        let [a, b, _] = expected.values.map(f64::from);
        let good = [100.0 * a * b, 100.0 * a];
        assert!(expected.check([0.0; 3], good, 100, 8).failures.is_empty());
        // Triad did not store: a is still 1.
        let error = (a - 1.0).abs() / a;
        assert_eq!(
            expected
                .check([error, 0.0, 0.0], good, 100, 8)
                .failures
                .len(),
            1
        );
        let nan = expected.check([0.0, f64::NAN, 0.0], good, 100, 8);
        assert!(nan.failures[0].contains("b[]"));
        let bad = [100.0 * a * b, 99.0 * a];
        assert!(expected.check([0.0; 3], bad, 100, 8).failures[0].contains("Read"));
    }
}
