//! What the device's memory gives: b = a over vectors that no cache holds (STREAM: Copy).

use std::time::{Duration, Instant};

use super::backend::Gpu;
use super::commands::Commands;
use super::kernels::Kernel;
use super::{Device, GpuError};
use crate::params::Format;

/// Bytes of each of the two vectors, where a buffer may be so large.
const SIZE: u64 = 512 << 20;

/// Time that a measurement takes at least.
const LEAST: Duration = Duration::from_millis(20);

/// Measurements of each way to copy, of which the best counts.
const ROUNDS: usize = 5;

impl Device {
    /// Bytes a second that a copy reads and writes, by a kernel or by the driver, whichever is
    /// faster.
    ///
    /// # Errors
    /// If there is no room for two vectors of 512 MiB or the largest that a buffer holds, or the
    /// device fails.
    pub fn copy_bandwidth(&self) -> Result<f64, GpuError> {
        let arithmetic = self.double();
        let gpu = Gpu::new(self, arithmetic, Format::Split)?;
        let size = SIZE.min(self.limit());
        let len = usize::try_from(size / arithmetic.bytes()).expect("at most SIZE");
        let (a, b) = (gpu.zeros(len)?, gpu.zeros(len)?);
        let bytes = len as u64 * arithmetic.bytes();
        let by_kernel = || gpu.each(Kernel::Copy, &[&a.buffer, &b.buffer], len, 2 * len, 0);
        let by_driver = || {
            self.commands(|commands| {
                let (from, to) = (&a.buffer.raw, &b.buffer.raw);
                commands
                    .encoder()
                    .copy_buffer_to_buffer(from, 0, to, 0, bytes);
            });
        };
        let kernel = self.fastest(&by_kernel)?;
        let driver = self.fastest(&by_driver)?;
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let moved = 2.0 * bytes as f64;
        Ok(moved / kernel.min(driver))
    }

    /// Seconds that `work` takes at best.
    fn fastest(&self, work: &impl Fn()) -> Result<f64, GpuError> {
        let time = |times: u32| {
            let start = Instant::now();
            (0..times).for_each(|_| work());
            self.commands(Commands::submit);
            self.wait()?;
            Ok(start.elapsed())
        };
        // The driver compiles at the first time.
        time(1)?;
        let mut times = 1;
        while time(times)? < LEAST {
            times *= 2;
        }
        let rounds = (0..ROUNDS).map(|_| time(times));
        let seconds = rounds.map(|time| Ok(time?.as_secs_f64() / f64::from(times)));
        seconds
            .reduce(|a, b| Ok(f64::min(a?, b?)))
            .expect("ROUNDS > 0")
    }
}
