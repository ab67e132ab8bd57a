//! Numbers as C++ streams print them by default: `%g` with six significant digits.

/// Significant digits.
const DIGITS: i32 = 6;

/// `value` as `printf("%g")` prints it.
pub fn g(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    // The exponent must be the one after rounding: 999999.5 is 1e+06.
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("scientific notation has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is an integer");
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).expect("exponent < DIGITS");
        without_trailing_zeros(&format!("{value:.decimals$}")).to_owned()
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let mantissa = without_trailing_zeros(mantissa);
        format!("{mantissa}e{sign}{:02}", exponent.abs())
    }
}

fn without_trailing_zeros(decimal: &str) -> &str {
    if decimal.contains('.') {
        decimal.trim_end_matches('0').trim_end_matches('.')
    } else {
        decimal
    }
}

/// Bytes in the unit that keeps the number readable: KiB, MiB, GiB or TiB.
pub fn bytes(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.decimals$} {}", units[unit])
}

/// What stands for a number that is none, such as 0/0.
const NONE: &str = "–";

/// As [`g`], or a dash if it is no finite number: for people.
pub fn readable(value: f64) -> String {
    if value.is_finite() {
        g(value)
    } else {
        NONE.into()
    }
}

/// `value` with so many decimals, or a dash if it is no finite number.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() {
        format!("{value:.decimals$}")
    } else {
        NONE.into()
    }
}

/// The share of the memory's bandwidth that a kernel reached. Above all of it the data come from
/// caches, so that memory says nothing.
pub fn of_memory(share: f64) -> String {
    match share {
        _ if !share.is_finite() => NONE.into(),
        _ if share > 1.0 => "cached".into(),
        _ if share < 0.001 => "< 0.1 %".into(),
        _ => percent(share),
    }
}

/// A share in per cent, with one decimal; a dash if it is no finite number.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if !percent.is_finite() {
        NONE.into()
    } else if 0.0 < percent && percent < 0.1 {
        "less than 0.1 %".into()
    } else {
        format!("{percent:.1} %")
    }
}

/// `1 rank`, `2 ranks`.
pub fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_printf_prints_them() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e10, "1.5e+10"),
            (100_000.0, "100000"),
            (123_456.7, "123457"),
            (1e6, "1e+06"),
            (999_999.4, "999999"),
            (999_999.5, "1e+06"),
            (0.000_099_999_96, "0.0001"),
            (0.000_099_999_94, "9.99999e-05"),
            (1.0 / 3.0, "0.333333"),
            (5.937_56e8, "5.93756e+08"),
            (2.3e-7, "2.3e-07"),
            (1.234_567_8e-123, "1.23457e-123"),
            (f64::MAX, "1.79769e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, expected) in cases {
            assert_eq!(g(value), expected, "{value:e}");
        }
    }

    #[test]
    fn bytes_get_a_readable_unit() {
        assert_eq!(bytes(0), "0 bytes");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
        assert_eq!(bytes(700 << 20), "700 MiB");
    }

    #[test]
    fn shares_and_counts_read_well() {
        assert_eq!(percent(0.25), "25.0 %");
        assert_eq!(percent(0.0001), "less than 0.1 %");
        assert_eq!(percent(0.0), "0.0 %");
        assert_eq!(percent(f64::NAN), "–");
        assert_eq!(of_memory(0.946), "94.6 %");
        assert_eq!(of_memory(0.0001), "< 0.1 %");
        assert_eq!(of_memory(1.058), "cached");
        assert_eq!(of_memory(f64::INFINITY), "–");
        assert_eq!(fixed(f64::NAN, 2), "–");
        assert_eq!(
            (fixed(2.0, 2), readable(0.5)),
            ("2.00".into(), "0.5".into())
        );
        assert_eq!(counted(1, "rank"), "1 rank");
        assert_eq!(counted(2, "rank"), "2 ranks");
    }
}
