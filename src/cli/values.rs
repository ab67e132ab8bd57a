//! Values of flags: what is taken, and what is said of what is not.

use std::str::FromStr;

use crate::Precision;

/// Shares of devices, as `3:1`.
#[derive(Clone, Debug)]
pub(super) struct Weights(pub(super) Vec<f64>);

impl FromStr for Weights {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.split(':')
            .map(positive_real)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// A precision or `auto`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrecisionChoice(pub(super) Option<Precision>);

impl FromStr for PrecisionChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self(None));
        }
        let found = Precision::ALL.into_iter().find(|p| p.name() == text);
        found
            .map(|precision| Self(Some(precision)))
            .ok_or_else(|| "use auto, f64, f32x2, mixed or f32".into())
    }
}

/// A whole number that may be 0.
pub(super) fn whole(text: &str) -> Result<usize, String> {
    match text.parse::<u32>() {
        Ok(number) => Ok(number as usize),
        Err(_) if text.parse::<i128>().is_ok_and(|number| number > 0) => {
            Err(format!("use at most {}", u32::MAX))
        }
        Err(_) => Err("use a whole number such as 0, 16 or 1800".into()),
    }
}

/// A whole number of at least 1.
pub(super) fn positive(text: &str) -> Result<usize, String> {
    whole(text)
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| format!("use a whole number from 1 to {}", u32::MAX))
}

/// The most threads that a rank may have; more than any machine has cores.
const MOST_THREADS: usize = 4096;

pub(super) fn threads(text: &str) -> Result<usize, String> {
    let number = positive(text).ok().filter(|&number| number <= MOST_THREADS);
    number.ok_or_else(|| format!("use a whole number from 1 to {MOST_THREADS}"))
}

pub(super) fn positive_real(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|&number: &f64| number > 0.0 && number.is_finite())
        .ok_or_else(|| "use a number above 0".into())
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    positive_real(text)
        .ok()
        .filter(|&share| share <= 1.0)
        .ok_or_else(|| "use a share above 0 and at most 1, such as 0.25".into())
}
