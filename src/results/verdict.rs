//! What a result may call itself: valid, and official.
//!
//! HPCG calls a run valid if its four checks passed. The recursive residual of CG may keep falling
//! after ‖b − A x‖/‖b‖ has stalled, so what is not IEEE double must also pass that.

use super::{DeviceKind, Results};
use crate::Precision;
use crate::number::percent;

/// Least seconds of timed sets in an official run.
pub const OFFICIAL_SECONDS: f64 = 1800.0;
/// Least share of the memory that the data of an official run fill.
pub const OFFICIAL_FILL: f64 = 0.25;
/// A true residual below this is as good as double precision's.
pub const TRUE_RESIDUAL_FLOOR: f64 = 1e-12;
/// How much larger than the reference's a true residual may be.
pub const TRUE_RESIDUAL_FACTOR: f64 = 10.0;

impl Results {
    /// Whether the rating stands.
    pub fn is_valid(&self) -> bool {
        self.not_valid_because().is_empty()
    }

    /// Why the rating does not stand; empty if it does.
    pub fn not_valid_because(&self) -> Vec<String> {
        let checks = &self.checks;
        let mut reasons = Vec::new();
        let mut unless = |good: bool, reason: String| {
            if !good {
                reasons.push(reason);
            }
        };
        unless(
            checks.spectral.passed,
            "the spectral convergence test failed".into(),
        );
        unless(checks.symmetry.passed, "the symmetry test failed".into());
        unless(
            checks.iterations.passed,
            "the optimised CG did not reach the reference's residual".into(),
        );
        unless(
            checks.norms.passed,
            "the sets ended at different residuals".into(),
        );
        unless(
            self.precision != Precision::F32,
            "single precision is a diagnostic, not a solver of this problem".into(),
        );
        unless(
            self.precision == Precision::F64 || self.is_as_accurate_as_double(),
            format!(
                "the true residual {:.2e} is neither below {TRUE_RESIDUAL_FLOOR:e} nor within {TRUE_RESIDUAL_FACTOR} times the reference's {:.2e}",
                self.true_residual, self.reference.true_residual
            ),
        );
        reasons
    }

    /// The rule for runs that are not IEEE double: their recursive residual may keep falling after
    /// the true one has stalled, so the true one decides.
    fn is_as_accurate_as_double(&self) -> bool {
        self.true_residual <= TRUE_RESIDUAL_FACTOR * self.reference.true_residual
            || self.true_residual < TRUE_RESIDUAL_FLOOR
    }

    /// Whether the rating may be handed in to HPCG's list.
    pub fn is_official(&self) -> bool {
        self.not_official_because().is_empty()
    }

    /// Why the rating may not be handed in; empty if it may.
    pub fn not_official_because(&self) -> Vec<String> {
        let mut reasons = self.not_valid_because();
        if self.precision != Precision::F64 {
            reasons.push(format!("{} is not IEEE double precision", self.precision));
        }
        if self.hybrid {
            reasons.push(
                "several devices share one box, in shares that HPCG's rules do not know".into(),
            );
        }
        if self.cut_short {
            reasons.push(format!(
                "the run was interrupted after {} of {} sets",
                self.sets.count, self.sets.planned
            ));
        }
        if self.times.total < OFFICIAL_SECONDS {
            reasons.push(format!(
                "the timed sets took {:.1} s; {OFFICIAL_SECONDS} s are needed",
                self.times.total
            ));
        }
        match self.fill() {
            None if self.has_several_kinds() => reasons.push(
                "the data are partly on GPUs and partly on hosts, so that there is no one memory of which they could fill a quarter; use devices of one kind".into(),
            ),
            None => reasons.push(
                "the size of the device's memory is unknown, so nobody can tell whether the data fill a quarter of it; state it with --device-memory".into(),
            ),
            Some(fill) if fill < OFFICIAL_FILL => reasons.push(format!(
                "the data fill {} of the device's memory; a quarter is needed",
                percent(fill)
            )),
            Some(_) => {}
        }
        reasons
    }

    /// Whether some ranks are on GPUs and others on CPUs.
    fn has_several_kinds(&self) -> bool {
        let kind = self.device.kind;
        self.ranks_detail.iter().any(|rank| rank.kind != kind)
    }

    /// What the rating may call itself, in a few words.
    pub fn status(&self) -> &'static str {
        match (self.is_official(), self.is_valid()) {
            (true, _) => "valid and official",
            (false, true) => "valid, not official",
            (false, false) => "NOT VALID",
        }
    }

    /// The share of the memory that the data fill on the devices that hold them, if known.
    pub fn fill(&self) -> Option<f64> {
        let data = match self.device.kind {
            DeviceKind::Cpu => self.memory.host,
            DeviceKind::Gpu => self.memory.device,
        };
        Some(data as f64 / self.memory.capacity? as f64)
    }
}
