//! Every shader in every arithmetic, without a device: it validates, and is translated for the
//! drivers that are not here to run on.

use cubie::gpu::{Arithmetic, Kernel};
use naga::back::{hlsl, msl, pipeline_constants::process_overrides, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

/// A shader that has passed validation.
struct Shader {
    name: String,
    module: naga::Module,
    info: ModuleInfo,
}

fn shader(kernel: Kernel, arithmetic: Arithmetic, subgroup: u32) -> Shader {
    let name = format!(
        "{} in {} with subgroups of {subgroup}",
        kernel.name(),
        arithmetic.name()
    );
    let source = kernel.source(arithmetic, subgroup);
    let module = naga::front::wgsl::parse_str(&source)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&source)));
    let capabilities = match arithmetic {
        Arithmetic::F64 => Capabilities::FLOAT64,
        Arithmetic::F32 | Arithmetic::F32x2 => Capabilities::empty(),
    };
    let subgroups = match subgroup {
        1 => Capabilities::empty(),
        _ => Capabilities::SUBGROUP,
    };
    let info = Validator::new(ValidationFlags::all(), capabilities | subgroups)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(&source)));
    let entry = Some((naga::ShaderStage::Compute, "main"));
    let (module, info) = process_overrides(&module, &info, entry, &Default::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let (module, info) = (module.into_owned(), info.into_owned());
    Shader { name, module, info }
}

fn each(arithmetics: &[Arithmetic], translate: impl Fn(&Shader) -> String, mark: &str) {
    for &arithmetic in arithmetics {
        for (kernel, subgroup) in Kernel::ALL.into_iter().flat_map(|k| [(k, 1), (k, 32)]) {
            let shader = shader(kernel, arithmetic, subgroup);
            let translated = translate(&shader);
            assert!(
                translated.contains(mark),
                "{}: no '{mark}' in\n{translated}",
                shader.name
            );
        }
    }
}

#[test]
fn all_become_spirv() {
    let translate = |shader: &Shader| {
        let words = spv::write_vec(&shader.module, &shader.info, &spv::Options::default(), None)
            .unwrap_or_else(|error| panic!("{}: {error}", shader.name));
        format!("magic {:x}", words[0])
    };
    each(&Arithmetic::ALL, translate, "magic 7230203");
}

#[test]
fn those_without_f64_become_metal() {
    let translate = |shader: &Shader| {
        let options = msl::Options {
            lang_version: (2, 4),
            fake_missing_bindings: true,
            ..Default::default()
        };
        let pipeline = msl::PipelineOptions::default();
        let written = msl::write_string(&shader.module, &shader.info, &options, &pipeline);
        written
            .unwrap_or_else(|error| panic!("{}: {error}", shader.name))
            .0
    };
    each(
        &[Arithmetic::F32, Arithmetic::F32x2],
        translate,
        "kernel void main_",
    );
}

#[test]
fn those_without_f64_become_hlsl() {
    let translate = |shader: &Shader| {
        let options = hlsl::Options {
            fake_missing_bindings: true,
            special_constants_binding: Some(hlsl::BindTarget::default()),
            ..Default::default()
        };
        let pipeline = hlsl::PipelineOptions::default();
        let mut text = String::new();
        hlsl::Writer::new(&mut text, &options, &pipeline)
            .write(&shader.module, &shader.info, None)
            .unwrap_or_else(|error| panic!("{}: {error}", shader.name));
        text
    };
    each(
        &[Arithmetic::F32, Arithmetic::F32x2],
        translate,
        "[numthreads(",
    );
}
