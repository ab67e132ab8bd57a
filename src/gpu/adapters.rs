//! Which GPUs there are, what they can do, and which one is meant by a name.

use crate::params::DeviceChoice;

use super::GpuError;

/// The sort of hardware behind an adapter, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A GPU with its own memory.
    Discrete,
    /// A GPU that shares the host's memory.
    Integrated,
    /// A GPU seen through a virtual machine.
    Virtual,
    /// The driver does not tell.
    Unknown,
    /// A program that plays a GPU on the CPU; taken only when named.
    Software,
}

impl Kind {
    /// Its name in lists and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Unknown => "unknown",
            Self::Software => "software",
        }
    }
}

/// A GPU seen through one driver interface.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// Its place in the list of [`adapters`].
    pub index: usize,
    /// Its name.
    pub name: String,
    /// The driver's name; empty if it does not tell.
    pub driver: String,
    /// The driver's version and whatever else it tells.
    pub driver_info: String,
    /// The interface: Vulkan, Metal or DX12.
    pub backend: &'static str,
    /// The sort of hardware.
    pub kind: Kind,
    /// Whether shaders compute in f64.
    pub f64: bool,
    /// Whether the device times its kernels itself.
    pub timestamps: bool,
    /// Threads of every subgroup at least, a power of two; 1 where shaders have no subgroups.
    pub subgroup: u32,
    /// Bytes of the largest buffer that a kernel may see.
    pub max_binding: u64,
    /// Threads of the workgroups of our kernels, a power of two.
    pub workgroup: u32,
    /// Threads of the largest workgroup.
    pub max_workgroup: u32,
    /// Bytes of memory shared in a workgroup.
    pub workgroup_memory: u32,
    /// Buffers that a kernel may see at once.
    pub max_storage_buffers: u32,
    /// Bytes of device memory, where the driver tells (Vulkan).
    pub memory: Option<u64>,
    pub(super) raw: wgpu::Adapter,
}

/// All adapters, in the order in which the drivers list them.
///
/// The environment variable `WGPU_BACKEND` (vulkan, metal, dx12) restricts the interfaces.
pub fn adapters() -> Vec<Adapter> {
    let mut description = wgpu::InstanceDescriptor::new_without_display_handle().with_env();
    // Refuse what would not fit before drivers start to swap or fall over.
    description.memory_budget_thresholds.for_resource_creation = Some(97);
    let instance = wgpu::Instance::new(description);
    pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()))
        .into_iter()
        .enumerate()
        .map(|(index, raw)| describe(index, raw))
        .collect()
}

fn describe(index: usize, raw: wgpu::Adapter) -> Adapter {
    let (info, features, limits) = (raw.get_info(), raw.features(), raw.limits());
    Adapter {
        index,
        name: info.name,
        driver: info.driver,
        driver_info: info.driver_info,
        backend: match info.backend {
            wgpu::Backend::Vulkan => "Vulkan",
            wgpu::Backend::Metal => "Metal",
            wgpu::Backend::Dx12 => "DX12",
            other => other.to_str(),
        },
        kind: match info.device_type {
            wgpu::DeviceType::DiscreteGpu => Kind::Discrete,
            wgpu::DeviceType::IntegratedGpu => Kind::Integrated,
            wgpu::DeviceType::VirtualGpu => Kind::Virtual,
            wgpu::DeviceType::Cpu => Kind::Software,
            wgpu::DeviceType::Other => Kind::Unknown,
        },
        f64: features.contains(wgpu::Features::SHADER_F64),
        timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
        subgroup: if features.contains(wgpu::Features::SUBGROUP) {
            info.subgroup_min_size
        } else {
            1
        },
        max_binding: limits
            .max_storage_buffer_binding_size
            .min(limits.max_buffer_size),
        // Software runs the threads of a workgroup one after the other.
        workgroup: match info.device_type {
            wgpu::DeviceType::Cpu => 64,
            _ => 256,
        },
        max_workgroup: limits.max_compute_invocations_per_workgroup,
        workgroup_memory: limits.max_compute_workgroup_storage_size,
        max_storage_buffers: limits.max_storage_buffers_per_shader_stage,
        memory: memory(&raw),
        raw,
    }
}

/// Bytes of the device's own memory, which wgpu itself does not tell.
#[cfg(not(target_vendor = "apple"))]
fn memory(adapter: &wgpu::Adapter) -> Option<u64> {
    const DEVICE_LOCAL: u32 = 1; // VK_MEMORY_HEAP_DEVICE_LOCAL_BIT
    // SAFETY: the handles are only asked for properties, and live as long as `vulkan`.
    let properties = unsafe {
        let vulkan = adapter.as_hal::<wgpu::hal::api::Vulkan>()?;
        let instance = vulkan.shared_instance().raw_instance();
        instance.get_physical_device_memory_properties(vulkan.raw_physical_device())
    };
    let heaps = &properties.memory_heaps[..properties.memory_heap_count as usize];
    heaps
        .iter()
        .filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0)
        .map(|heap| heap.size)
        .max()
}

#[cfg(target_vendor = "apple")]
fn memory(_: &wgpu::Adapter) -> Option<u64> {
    None
}

/// The adapter that is meant, or `None` for the CPU.
///
/// `auto` and `gpu` take the first of the best kind that is no software; `auto` gives the CPU
/// where there is none. If the same card shows up twice, it is taken under Vulkan. Of several equal
/// ones `turn` takes one after the other.
///
/// # Errors
/// [`GpuError::NoDevice`], with the list of those that exist.
pub fn choose<'a>(
    adapters: &'a [Adapter],
    choice: &DeviceChoice,
    turn: usize,
) -> Result<Option<&'a Adapter>, GpuError> {
    let best = |fits: &dyn Fn(&Adapter) -> bool| {
        let key = |adapter: &&Adapter| (adapter.kind, adapter.backend != "Vulkan");
        let fitting = || adapters.iter().filter(|adapter| fits(adapter));
        let best = fitting().map(|adapter| key(&adapter)).min()?;
        let equals: Vec<&Adapter> = fitting().filter(|adapter| key(adapter) == best).collect();
        Some(equals[turn % equals.len()])
    };
    let found = match choice {
        DeviceChoice::Cpu => return Ok(None),
        DeviceChoice::Auto | DeviceChoice::Gpu => best(&|adapter| adapter.kind < Kind::Unknown),
        DeviceChoice::Index(index) => adapters.get(*index),
        DeviceChoice::Name(part) => {
            let part = part.to_lowercase();
            best(&|adapter| adapter.name.to_lowercase().contains(&part))
        }
    };
    if found.is_none() && *choice != DeviceChoice::Auto {
        return Err(GpuError::NoDevice {
            wanted: choice.to_string(),
            existing: list(adapters),
        });
    }
    Ok(found)
}

/// The adapters in words, for an error.
fn list(adapters: &[Adapter]) -> String {
    if adapters.is_empty() {
        return "no Vulkan, Metal or DX12 driver offers one; install your GPU's driver, \
                or use --device cpu"
            .to_owned();
    }
    let names: Vec<String> = adapters
        .iter()
        .map(|a| format!("{}: {} ({}, {})", a.index, a.name, a.kind.name(), a.backend))
        .collect();
    let only_software = adapters.iter().all(|a| a.kind == Kind::Software);
    let advice = if only_software {
        "; a software one is taken only by its number or name"
    } else {
        ""
    };
    format!("those that exist are {}{advice}", names.join("; "))
}
