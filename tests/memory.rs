//! The model of memory against what runs allocate.

use std::sync::atomic::AtomicBool;

use cubie::device::Device;
use cubie::params::{DeviceChoice, Format};
use cubie::progress::Silent;
use cubie::results::DeviceKind;
use cubie::{Params, Precision, benchmark, model};
use cubie_host::{Grid, Order, Ranks};

#[test]
fn a_run_on_the_cpu_needs_what_the_model_says() {
    for format in [Format::Ell28, Format::Split] {
        for precision in [Precision::F64, Precision::Mixed] {
            let params = Params {
                grid: Grid::uniform([1; 3], [48, 48, 40]),
                seconds: 0,
                device: DeviceChoice::Cpu,
                hybrid: None,
                precision: Some(precision),
                order: Order::COLOR8,
                format: Some(format),
                threads: 1,
                binding_limit: None,
                device_memory: None,
                notices: Vec::new(),
            };
            let results = benchmark::run(
                &params,
                &Device::open(&params, 0).unwrap(),
                &Ranks::serial(),
                &mut Silent,
                &AtomicBool::new(false),
            )
            .unwrap();
            let geometry = params.grid.geometry(0).unwrap();
            let need = model::need(&geometry, DeviceKind::Cpu, precision, format);
            let ratio = results.memory.host as f64 / need.host as f64;
            // What the rim of a small box leaves out or pads is not modelled.
            assert!(
                (0.97..1.03).contains(&ratio),
                "{format} {precision}: {ratio}"
            );
        }
    }
}
