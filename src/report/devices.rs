//! The list of `cubie devices`.

use crate::gpu::Adapter;
use crate::machine::{Machine, cpu_name};
use crate::number::{bytes, counted};

/// The CPU and every adapter, with what `--device` takes for each, features and limits.
pub fn list(machine: &Machine, adapters: &[Adapter]) -> String {
    let memory = machine
        .memory
        .map_or("of unknown memory".into(), |memory| bytes(memory.total));
    let mut text = format!(
        "cpu  {}\n     {}, {memory}\n     precisions f64, mixed, f32\n",
        cpu_name(),
        counted(machine.threads as u64, "thread"),
    );
    if adapters.is_empty() {
        text += "no GPU: no Vulkan, Metal or DX12 driver offers one\n";
    }
    adapters.iter().for_each(|one| text += &adapter(one));
    text
}

fn adapter(adapter: &Adapter) -> String {
    let precisions = if adapter.f64 {
        "f64, f32x2, mixed, f32"
    } else {
        "f32x2, mixed, f32"
    };
    let memory = adapter.memory.map_or("of unknown memory".into(), |size| {
        format!("{} of memory", bytes(size))
    });
    let has = |feature: bool, name: &str| format!("{}{name}", if feature { "" } else { "no " });
    let lines = [
        format!("{:<5}{}", adapter.index, adapter.name),
        format!(
            "{}, {}, {} {}",
            adapter.kind.name(),
            adapter.backend,
            adapter.driver,
            adapter.driver_info
        ),
        memory,
        format!("precisions {precisions}"),
        format!(
            "{}, {}",
            has(adapter.timestamps, "timestamps"),
            has(adapter.subgroup > 1, "subgroups")
        ),
        format!(
            "{} a binding, {} bindings, workgroups of {} threads with {}",
            bytes(adapter.max_binding),
            adapter.max_storage_buffers,
            adapter.max_workgroup,
            bytes(adapter.workgroup_memory.into())
        ),
    ];
    let mut text = lines.join("\n     ");
    text.push('\n');
    text
}
