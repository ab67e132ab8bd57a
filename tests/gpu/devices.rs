//! Devices: which there are, what they hold, and what they refuse.

use cubie::gpu::{Arithmetic, Gpu, GpuError, Kind, choose};
use cubie::params::{DeviceChoice, Format};
use cubie::solver::Orderings;
use cubie::{Backend, Error, Precision};
use cubie_host::{Order, Ranks};

use super::*;

#[test]
fn what_cannot_be_done_is_said() {
    let problem = problem([16; 3]);
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        let natural = Orderings::new(&Order::Natural, &problem);
        let mut gpu = Gpu::new(&device, Arithmetic::F32, Format::Split).unwrap();
        let refused = gpu.matrix(&natural.view(&problem.levels)[0]);
        assert!(matches!(refused, Err(Error::Gpu(GpuError::Order))));

        let too_long = usize::try_from(device.limit() / 4 + 1).unwrap();
        let error = gpu.vector(too_long).err().expect("longer than the limit");
        let message = error.to_string();
        assert!(message.contains(&device.limit().to_string()), "{message}");
        assert!(message.contains("at most"), "{message}");

        let f64 = device.arithmetics().contains(&Arithmetic::F64);
        assert_eq!(f64, adapter.f64);
        let run = cubie::device::Device::Gpu {
            device,
            format: Format::Split,
        };
        assert_eq!(
            run.precision(Some(Precision::F64), &Ranks::serial())
                .is_ok(),
            f64
        );
        if !f64 {
            let error = run
                .precision(Some(Precision::F64), &Ranks::serial())
                .unwrap_err()
                .to_string();
            assert!(error.contains("it can in f32x2, mixed, f32"), "{error}");
        }
        assert!(adapter.open(Some(1000)).is_err(), "a limit of 1000 bytes");
    }
}

#[test]
fn devices_are_found_by_number_and_name() {
    let all = devices();
    let last = all.last().unwrap();
    let by_index = choose(&all, &DeviceChoice::Index(last.index), 0).unwrap();
    assert_eq!(by_index.map(|a| a.index), Some(last.index));
    let part = all[0].name[..5].to_uppercase();
    let by_name = choose(&all, &DeviceChoice::Name(part), 0).unwrap().unwrap();
    assert_eq!(by_name.name[..5], all[0].name[..5]);
    assert!(choose(&all, &DeviceChoice::Cpu, 0).unwrap().is_none());
    let error = choose(&all, &DeviceChoice::Index(99), 0)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("99") && error.contains(&all[0].name),
        "{error}"
    );
    let error = choose(&[], &DeviceChoice::Gpu, 0).unwrap_err().to_string();
    assert!(error.contains("install"), "{error}");
}

#[test]
fn vectors_of_many_workgroups() {
    // More than one dimension of a dispatch can hold, with a rest.
    let n = 65_535 * 256 + 1000;
    let values: Vec<f64> = (0..n).map(|i| (i % 1013) as f64).collect();
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        let mut gpu = Gpu::new(&device, Arithmetic::F32, Format::Split).unwrap();
        let x = upload(&mut gpu, &values);
        let mut y = gpu.vector(n).unwrap();
        gpu.copy(&x, &mut y);
        assert!(gpu.read(&y).unwrap() == values, "a copy of {n} elements");
        gpu.zero(&mut y);
        assert!(gpu.read(&y).unwrap().iter().all(|&y| y == 0.0), "{n} zeros");
    }
}

#[test]
fn memory_runs_out_with_an_error() {
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        let mut gpu = Gpu::new(&device, Arithmetic::F32, Format::Split).unwrap();
        let Some(memory) = adapter.memory else {
            eprintln!("its driver does not tell how much memory it has");
            continue;
        };
        let len = usize::try_from(device.limit() / 4).unwrap();
        let mut vectors = Vec::new();
        let error = (0..=memory / device.limit()).find_map(|_| match gpu.vector(len) {
            Ok(vector) => {
                vectors.push(vector);
                None
            }
            Err(error) => Some(error),
        });
        match error {
            Some(error) => {
                let error = error.to_string();
                assert!(error.contains("no memory left"), "{error}");
            }
            // lavapipe 22 hands out more than it says it has.
            None => assert_eq!(adapter.kind, Kind::Software, "no limit to memory"),
        }
    }
}

#[test]
fn memory_is_given_back() {
    for adapter in devices() {
        let device = adapter.open(None).unwrap();
        let mut gpu = Gpu::new(&device, Arithmetic::F32, Format::Split).unwrap();
        let before = gpu.allocated();
        let vector = gpu.vector(1000).unwrap();
        assert_eq!(gpu.allocated(), before + 4000);
        drop(vector);
        assert_eq!(gpu.allocated(), before);
    }
}
