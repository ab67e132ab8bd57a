//! Double precision out of pairs of singles: x = hi + lo, 48 bits; the twin of
//! `shaders/real/f32x2.wgsl`, without its guards, which Rust does not need.
//!
//! Sums and products of singles are split into a rounded part and its exact error (Knuth, Dekker,
//! Veltkamp); the bounds are those of Joldes, Muller and Popescu, "Tight and rigorous error bounds
//! for basic building blocks of double-word arithmetic" (2017). Exponents are those of f32.

/// A number: the leading part, and what is left.
pub type Pair = [f32; 2];

/// 2^-47, twice the least relative distance of two numbers.
pub const EPSILON: f64 = 1.0 / (1u64 << 47) as f64;

/// x rounded to single.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what this is for"
)]
pub fn to_single(x: f64) -> f32 {
    x as f32
}

/// x rounded to a pair; infinite where singles are.
pub fn from_f64(x: f64) -> Pair {
    let hi = to_single(x);
    if hi.is_finite() {
        [hi, to_single(x - f64::from(hi))]
    } else {
        [hi, 0.0]
    }
}

/// The value of a pair, exact but for the last bit or two of a double.
pub fn to_f64([hi, lo]: Pair) -> f64 {
    f64::from(hi) + f64::from(lo)
}

/// a + b = s + e exactly.
fn two_sum(a: f32, b: f32) -> Pair {
    let s = a + b;
    let bb = s - a;
    [s, (a - (s - bb)) + (b - bb)]
}

/// a + b = s + e exactly, for |a| ≥ |b|.
fn fast_two_sum(a: f32, b: f32) -> Pair {
    let s = a + b;
    [s, b - (s - a)]
}

/// The leading 12 bits of a, and the 12 that are left.
fn split(a: f32) -> Pair {
    let hi = f32::from_bits(a.to_bits() & 0xffff_f000);
    [hi, a - hi]
}

/// a b = p + e exactly, while nothing underflows.
fn two_prod(a: f32, b: f32) -> Pair {
    let p = a * b;
    let [ahi, alo] = split(a);
    let [bhi, blo] = split(b);
    [p, ahi * bhi - p + ahi * blo + alo * bhi + alo * blo]
}

/// a + b, relative error at most 3 · 2⁻⁴⁸.
pub fn add(a: Pair, b: Pair) -> Pair {
    let s = two_sum(a[0], b[0]);
    let t = two_sum(a[1], b[1]);
    let v = fast_two_sum(s[0], s[1] + t[0]);
    fast_two_sum(v[0], t[1] + v[1])
}

/// a − b, relative error at most 3 · 2⁻⁴⁸.
pub fn sub(a: Pair, b: Pair) -> Pair {
    add(a, neg(b))
}

/// −a, exact.
pub fn neg(a: Pair) -> Pair {
    [-a[0], -a[1]]
}

/// a b, relative error at most 2⁻⁴⁵.
pub fn mul(a: Pair, b: Pair) -> Pair {
    let p = two_prod(a[0], b[0]);
    let cross = a[0] * b[1] + a[1] * b[0];
    fast_two_sum(p[0], p[1] + cross)
}

/// a b + c, with the errors of [`mul`] and [`add`].
pub fn madd(a: Pair, b: Pair, c: Pair) -> Pair {
    add(mul(a, b), c)
}

/// a / b, relative error at most 2⁻⁴⁴.
pub fn div(a: Pair, b: Pair) -> Pair {
    let q = a[0] / b[0];
    let rest = sub(a, mul(b, [q, 0.0]));
    fast_two_sum(q, rest[0] / b[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of all signs within 2^±30, so that no error term underflows.
    fn number() -> impl Strategy<Value = f64> {
        (any::<bool>(), -30i32..30, 1.0..2.0f64).prop_map(|(negative, exponent, digits)| {
            let x = to_f64(from_f64(digits * 2f64.powi(exponent)));
            if negative { -x } else { x }
        })
    }

    fn within(got: Pair, truth: f64, bound: f64) -> Result<(), TestCaseError> {
        let error = (to_f64(got) - truth).abs();
        prop_assert!(
            error <= bound,
            "{got:?} for {truth:e}: {error:e} > {bound:e}"
        );
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn conversion_keeps_48_bits(x in number()) {
            let pair = from_f64(x * (1.0 + 1e-15));
            within(pair, x * (1.0 + 1e-15), x.abs() * EPSILON / 4.0)?;
            prop_assert_eq!(from_f64(to_f64(pair)), pair);
        }

        #[test]
        fn arithmetic_keeps_its_bounds(a in number(), b in number(), c in number()) {
            let [p, q, r] = [a, b, c].map(from_f64);
            within(add(p, q), a + b, (a + b).abs() * 3.0 * EPSILON / 2.0)?;
            within(sub(p, q), a - b, (a - b).abs() * 3.0 * EPSILON / 2.0)?;
            within(mul(p, q), a * b, (a * b).abs() * 4.0 * EPSILON)?;
            within(div(p, q), a / b, (a / b).abs() * 8.0 * EPSILON)?;
            let bound = 4.0 * (a * b).abs() + 2.0 * (a * b + c).abs();
            within(madd(p, q, r), a * b + c, bound * EPSILON)?;
        }

        #[test]
        fn nearly_cancelling_sums_are_exact(a in number(), tiny in 1u32..64) {
            let b = -a * (1.0 + f64::from(tiny) * EPSILON);
            let [p, q] = [a, b].map(from_f64);
            let truth = to_f64(p) + to_f64(q);
            within(add(p, q), truth, truth.abs() * 3.0 * EPSILON / 2.0)?;
        }
    }
}
