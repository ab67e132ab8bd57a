//! The kernels compiled for one device in one arithmetic.

use super::device::Device;
use super::kernels::Kernel;
use super::{Arithmetic, GpuError};

/// Bytes of a kernel's parameters: up to sixteen words.
pub(super) const PARAMS: u64 = 64;

/// A kernel ready to run.
pub(super) struct Pipeline {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
}

/// All kernels of one arithmetic.
pub(super) struct Pipelines {
    pub(super) arithmetic: Arithmetic,
    /// Threads of a workgroup.
    pub(super) workgroup: u32,
    all: Vec<Pipeline>,
}

impl Pipelines {
    /// Compiles all kernels.
    pub(super) fn new(device: &Device, arithmetic: Arithmetic) -> Result<Self, GpuError> {
        let adapter = device.adapter();
        let workgroup = adapter.workgroup;
        // All of a workgroup's subgroups must be full.
        let subgroup = adapter.subgroup.min(workgroup);
        let all = device.checked(|raw| {
            Kernel::ALL
                .map(|kernel| compile(raw, kernel, arithmetic, workgroup, subgroup))
                .into()
        })?;
        Ok(Self {
            arithmetic,
            workgroup,
            all,
        })
    }

    pub(super) fn get(&self, kernel: Kernel) -> &Pipeline {
        &self.all[kernel as usize]
    }
}

fn compile(
    device: &wgpu::Device,
    kernel: Kernel,
    arithmetic: Arithmetic,
    workgroup: u32,
    subgroup: u32,
) -> Pipeline {
    let source = wgpu::ShaderModuleDescriptor {
        label: Some(kernel.name()),
        source: wgpu::ShaderSource::Wgsl(kernel.source(arithmetic, subgroup).into()),
    };
    // A counter that ends endless loops costs SpMV a third of its time on SwiftShader.
    let checks = wgpu::ShaderRuntimeChecks {
        force_loop_bounding: false,
        ..wgpu::ShaderRuntimeChecks::checked()
    };
    // SAFETY: memory accesses stay checked, and no loop in our shaders is endless: all count up
    // to, or halve down from, a number that is fixed before.
    let module = unsafe { device.create_shader_module_trusted(source, checks) };
    let storage = kernel
        .writes()
        .iter()
        .map(|&write| wgpu::BufferBindingType::Storage { read_only: !write });
    let entries: Vec<_> = (0..)
        .zip(storage.chain([wgpu::BufferBindingType::Uniform]))
        .map(|(binding, ty)| buffer_entry(binding, ty))
        .collect();
    let layout = bind_group_layout(device, &entries);
    let zero_word = zero_word_layout(device);
    let layouts = [Some(&layout), Some(&zero_word)];
    let groups = if arithmetic == Arithmetic::F32x2 {
        2
    } else {
        1
    };
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(kernel.name()),
        bind_group_layouts: &layouts[..groups],
        immediate_size: 0,
    });
    // Kernels of one thread have no workgroup size to set.
    let constants = [("WORKGROUP", f64::from(workgroup))];
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(kernel.name()),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &constants,
            zero_initialize_workgroup_memory: false,
        },
        cache: None,
    });
    Pipeline { pipeline, layout }
}

/// The second bind group of the kernels that compute in pairs: the word that holds 0.
pub(super) fn zero_word_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let entry = wgpu::BindGroupLayoutEntry {
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        ..buffer_entry(0, wgpu::BufferBindingType::Uniform)
    };
    bind_group_layout(device, &[entry])
}

fn bind_group_layout(
    device: &wgpu::Device,
    entries: &[wgpu::BindGroupLayoutEntry],
) -> wgpu::BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: None,
        entries,
    })
}

/// Storage buffers are bound whole, parameters at an offset that changes with every dispatch.
fn buffer_entry(binding: u32, ty: wgpu::BufferBindingType) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: ty == wgpu::BufferBindingType::Uniform,
            min_binding_size: None,
        },
        count: None,
    }
}
