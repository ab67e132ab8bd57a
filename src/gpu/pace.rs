//! How much work a submission holds: enough to keep the device busy while the host prepares the
//! next one, and too little for a watchdog or the user of the screen to mind. Work is measured in
//! the bytes that it moves, and time follows from how fast the device moved those before.

use std::time::{Duration, Instant};

/// Work that is worth a submission, in seconds of the device.
const ENOUGH: f64 = 0.002;

/// Work that must not wait any longer. Drivers give up on a submission after seconds.
const TOO_MUCH: f64 = 0.05;

/// Bytes a second that a device is thought to move before it has shown what it does.
const MODEST: f64 = 10e9;

/// Work that is too short to tell the device's speed by.
const SHORT: Duration = Duration::from_millis(10);

/// Decides when to submit.
pub(super) struct Pace {
    /// Bytes a second.
    rate: f64,
    /// Bytes of the work that is not submitted yet.
    queued: f64,
    /// Bytes of all work since the device was idle, and when the first of it was queued.
    since_idle: f64,
    begun: Option<Instant>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            rate: MODEST,
            queued: 0.0,
            since_idle: 0.0,
            begun: None,
        }
    }

    /// Work that moves so many bytes was queued.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn queued(&mut self, bytes: u64, now: impl FnOnce() -> Instant) {
        self.begun.get_or_insert_with(now);
        self.queued += bytes as f64;
        self.since_idle += bytes as f64;
    }

    /// Whether it is worth while to submit what is queued.
    pub(super) fn is_enough(&self) -> bool {
        self.queued >= ENOUGH * self.rate
    }

    /// Whether what is queued must be submitted now.
    pub(super) fn is_too_much(&self) -> bool {
        self.queued >= TOO_MUCH * self.rate
    }

    /// All that was queued has been submitted.
    pub(super) fn submitted(&mut self) {
        self.queued = 0.0;
    }

    /// The device has done all that was submitted.
    pub(super) fn idle(&mut self, now: Instant) {
        let bytes = std::mem::take(&mut self.since_idle);
        if let Some(begun) = self.begun.take() {
            let elapsed = now - begun;
            if elapsed >= SHORT {
                self.rate = bytes / elapsed.as_secs_f64();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submissions_grow_with_the_speed_of_the_device() {
        let start = Instant::now();
        let mut pace = Pace::new();
        pace.queued(1 << 20, || start);
        assert!(!pace.is_enough());
        pace.queued(20_000_000, || start);
        assert!(pace.is_enough() && !pace.is_too_much());
        pace.queued(500_000_000, || start);
        assert!(pace.is_too_much());
        pace.submitted();
        assert!(!pace.is_enough());
        // Half a GB in a millisecond says little, in 20 it says 26 GB/s.
        pace.idle(start + Duration::from_millis(20));
        pace.queued(500_000_000, || start);
        assert!(pace.is_enough() && !pace.is_too_much());
        pace.submitted();
        pace.idle(start + Duration::from_millis(1));
        pace.queued(500_000_000, || start);
        assert!(pace.is_enough() && !pace.is_too_much());
    }
}
