//! The model of memory against what runs allocate.

use std::sync::atomic::AtomicBool;

use cubie::params::{DeviceChoice, Format};
use cubie::progress::Silent;
use cubie::results::DeviceKind;
use cubie::{Params, Precision, benchmark, model};
use cubie_host::{Grid, Order};

#[test]
fn a_run_on_the_cpu_needs_what_the_model_says() {
    for precision in [Precision::F64, Precision::Mixed] {
        let params = Params {
            grid: Grid::uniform([1; 3], [32, 32, 24]),
            seconds: 0,
            device: DeviceChoice::Cpu,
            precision: Some(precision),
            order: Order::COLOR8,
            format: Format::Ell28,
            threads: 1,
            binding_limit: None,
            device_memory: None,
            notices: Vec::new(),
        };
        let results = benchmark::run(&params, &mut Silent, &AtomicBool::new(false)).unwrap();
        let geometry = params.grid.geometry(0).unwrap();
        let need = model::need(&geometry, DeviceKind::Cpu, precision);
        let ratio = results.memory.host as f64 / need.host as f64;
        // Slices of the coarse levels' small colours are padded, which the model leaves out.
        assert!((0.99..1.03).contains(&ratio), "{precision}: {ratio}");
    }
}
