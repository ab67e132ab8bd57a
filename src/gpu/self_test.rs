//! Whether a device does the arithmetic of pairs right, which compilers may break (see
//! `shaders/real/f32x2.wgsl`); runs before each use of f32x2 on a device.

use super::backend::Gpu;
use super::{GpuError, f32x2};
use crate::Backend;

/// Numbers tested.
const N: usize = 4096;

impl Gpu {
    /// Compares a + b, a b, a / b and a b + c with the truth in double precision.
    ///
    /// # Errors
    /// [`GpuError::SelfTest`] with the first result that is wrong.
    pub(super) fn self_test(&mut self) -> Result<(), GpuError> {
        let [a, b, c] = operands();
        let mut on_device = [self.zeros(N)?, self.zeros(N)?, self.zeros(N)?];
        for (vector, values) in on_device.iter_mut().zip([&a, &b, &c]) {
            self.write(vector, values);
        }
        let results = self.zeros(4 * N)?;
        self.self_test_kernel(on_device.each_ref(), &results);
        let results = self.fetch(&results)?;
        for i in 0..N {
            let (a, b, c) = (a[i], b[i], c[i]);
            // What the kernel computes, the truth, and the bound in units of EPSILON.
            let checks = [
                (format!("{a:e} + {b:e}"), a + b, 2.0 * (a + b).abs()),
                (format!("{a:e} * {b:e}"), a * b, 4.0 * (a * b).abs()),
                (format!("{a:e} / {b:e}"), a / b, 8.0 * (a / b).abs()),
                (
                    format!("{a:e} * {b:e} + {c:e}"),
                    a.mul_add(b, c),
                    4.0 * (a * b).abs() + 2.0 * a.mul_add(b, c).abs(),
                ),
            ];
            for (k, (what, truth, bound)) in checks.into_iter().enumerate() {
                let got = results[k * N + i];
                let error = (got - truth).abs();
                if error.is_nan() || error > bound * f32x2::EPSILON {
                    return Err(GpuError::SelfTest {
                        device: self.device().adapter().name.clone(),
                        what: format!("{what} gave {got:e}"),
                    });
                }
            }
        }
        Ok(())
    }
}

/// Pairs with digits in both halves: of similar and of different sizes, and nearly cancelling.
fn operands() -> [Vec<f64>; 3] {
    let mut state = 1u64;
    let mut random = || {
        // Knuth's linear congruential generator.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as f64 / 2f64.powi(32)
    };
    let mut number = |exponents: f64| {
        let digits = 1.0 + random() + random() * 2f64.powi(-32);
        let sign = if random() < 0.5 { -1.0 } else { 1.0 };
        let x = sign * digits * (exponents * (random() - 0.5)).round().exp2();
        f32x2::to_f64(f32x2::from_f64(x))
    };
    let mut operands = [const { Vec::new() }; 3];
    for i in 0..N {
        let a = number(40.0);
        let b = match i % 4 {
            0 => number(40.0),
            1 => -a * (1.0 + (number(2.0) * 2f64.powi(-20))),
            2 => -a * (1.0 + (number(2.0) * 2f64.powi(-44))),
            _ => a * number(2.0),
        };
        let b = f32x2::to_f64(f32x2::from_f64(b));
        let c = if i % 2 == 0 { number(40.0) } else { -a * b };
        operands[0].push(a);
        operands[1].push(b);
        operands[2].push(f32x2::to_f64(f32x2::from_f64(c)));
    }
    operands
}
