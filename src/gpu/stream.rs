//! STREAM on a GPU: `shaders/stream.wgsl`, each kernel in a pass of its own with a timestamp
//! before and after it.

use std::time::Instant;

use super::commands::in_two_dimensions;
use super::device::Device;
use super::memory::Buffer;
use super::{Arithmetic, GpuError};
use crate::real::Real;
use crate::stream::check::{Expected, INITIAL};
use crate::stream::{Kernel, Measured, SCALAR};

/// Workgroups of a sum; each leaves a partial sum.
const PARTIALS: u32 = 1024;
/// Bytes of a timestamp.
const TIMESTAMP: u64 = 8;

/// Measures on arrays of `n` elements in `T`.
///
/// # Errors
/// If the arrays do not fit, or the device fails.
pub(crate) fn measure<T: Real>(
    device: &Device,
    n: usize,
    times: usize,
) -> Result<Measured, GpuError> {
    let stream = Stream::new::<T>(device, n)?;
    let mut expected = Expected::<T>::new();
    let mut seconds = vec![Vec::with_capacity(times); Kernel::PLAIN.len()];
    let mut sums = [0.0; 2];
    for _ in 0..times {
        for (k, &kernel) in Kernel::PLAIN.iter().enumerate() {
            seconds[k].push(stream.run(k, kernel)?);
            match kernel {
                Kernel::Triad => expected.pass(),
                Kernel::Dot => sums[0] = stream.sum::<T>()?,
                Kernel::Read => sums[1] = stream.sum::<T>()?,
                _ => {}
            }
        }
    }
    let mut errors = [0.0; 3];
    for ((error, array), expected) in errors.iter_mut().zip(&stream.arrays).zip(expected.values) {
        *error = stream.average_error::<T>(array, expected.to_f64())?;
    }
    let workgroup = device.adapter().workgroup as usize;
    let terms = n.div_ceil(PARTIALS as usize * workgroup) + workgroup;
    let rows = Kernel::PLAIN.iter().zip(&seconds);
    Ok(Measured {
        rows: rows
            .map(|(kernel, seconds)| kernel.row(n * size_of::<T>(), seconds))
            .collect(),
        check: expected.check(errors, sums, n, terms),
    })
}

/// The name of a kernel in the shader.
fn entry_point(kernel: Kernel) -> &'static str {
    match kernel {
        Kernel::Copy => "copy",
        Kernel::Scale => "scale",
        Kernel::Add => "add_arrays",
        Kernel::Triad => "triad",
        Kernel::Dot => "dot",
        Kernel::Read => "read_array",
        _ => unreachable!("WGSL has no stores past the caches"),
    }
}

struct Stream<'a> {
    device: &'a Device,
    n: usize,
    arrays: [Buffer; 3],
    partial: Buffer,
    group: wgpu::BindGroup,
    pipelines: Vec<wgpu::ComputePipeline>,
    /// The query set and the buffer that it is copied to, where the device has timestamps.
    clock: Option<(wgpu::QuerySet, Buffer)>,
}

impl<'a> Stream<'a> {
    fn new<T: Real>(device: &'a Device, n: usize) -> Result<Self, GpuError> {
        let arithmetic = if size_of::<T>() == 8 {
            Arithmetic::F64
        } else {
            Arithmetic::F32
        };
        let size = arithmetic.bytes();
        let [a, b, c] = INITIAL.map(|value| {
            let array = device.storage("an array", n, size)?;
            let piece = arithmetic.encode(&vec![value; n.min(PIECE)]).into_owned();
            for first in (0..n).step_by(PIECE) {
                let bytes = (n - first).min(PIECE) * size_of::<T>();
                device.write_at(&array, first as u64 * size, &piece[..bytes]);
            }
            Ok(array)
        });
        let arrays = [a?, b?, c?];
        let partial = device.storage("the partial sums", PARTIALS as usize, size)?;
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let params = device.buffer("params", 16, usage, false)?;
        let words = u32::try_from(n).expect("a buffer holds fewer");
        let mut bytes = words.to_ne_bytes().to_vec();
        bytes.extend(f32::from_f64(SCALAR).to_ne_bytes());
        device.write(&params, &bytes);

        let (layout, pipelines) =
            device.checked(|raw| compile(raw, arithmetic, device.adapter().workgroup))?;
        let buffers = [&arrays[0], &arrays[1], &arrays[2], &partial, &params];
        let entries: Vec<_> = (0..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.raw.as_entire_binding(),
            })
            .collect();
        let group = device.checked(|raw| {
            raw.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("stream"),
                layout: &layout,
                entries: &entries,
            })
        })?;
        Ok(Self {
            clock: device
                .adapter()
                .timestamps
                .then(|| clock(device))
                .transpose()?,
            device,
            n,
            arrays,
            partial,
            group,
            pipelines,
        })
    }

    /// Runs a kernel; returns its seconds.
    fn run(&self, index: usize, kernel: Kernel) -> Result<f64, GpuError> {
        let workgroup = self.device.adapter().workgroup as usize;
        let groups = u32::try_from(self.n.div_ceil(workgroup)).expect("fits a buffer");
        let (x, y) = match kernel {
            Kernel::Dot | Kernel::Read => (PARTIALS, 1),
            _ => in_two_dimensions(groups),
        };
        let raw = self.device.raw();
        let mut encoder = raw.create_command_encoder(&Default::default());
        let timestamps = self.clock.as_ref();
        let writes = timestamps.map(|(queries, _)| wgpu::ComputePassTimestampWrites {
            query_set: queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        });
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some(entry_point(kernel)),
                timestamp_writes: writes,
            });
            pass.set_pipeline(&self.pipelines[index]);
            pass.set_bind_group(0, &self.group, &[]);
            pass.dispatch_workgroups(x, y, 1);
        }
        if let Some((queries, resolved)) = timestamps {
            encoder.resolve_query_set(queries, 0..2, &resolved.raw, 0);
        }
        let commands = encoder.finish();
        self.device.wait()?;
        let start = Instant::now();
        self.device.queue().submit([commands]);
        self.device.wait()?;
        let elapsed = start.elapsed().as_secs_f64();
        let Some((_, resolved)) = timestamps else {
            return Ok(elapsed);
        };
        let decode = |bytes: &[u8]| -> Vec<u64> { bytemuck::pod_collect_to_vec(bytes) };
        let ticks = self
            .device
            .read(&[(&resolved.raw, 0, 2 * TIMESTAMP)], decode)?;
        let period = f64::from(self.device.queue().get_timestamp_period()) * 1e-9;
        Ok(ticks[1].saturating_sub(ticks[0]) as f64 * period)
    }

    /// The sum of the partial sums.
    fn sum<T: Real>(&self) -> Result<f64, GpuError> {
        let bytes = u64::from(PARTIALS) * size_of::<T>() as u64;
        self.device.read(&[(&self.partial.raw, 0, bytes)], |bytes| {
            let partial: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
            partial.into_iter().map(Real::to_f64).sum()
        })
    }

    /// The mean of |value − expected| / |expected|, a piece of the array at a time.
    fn average_error<T: Real>(&self, array: &Buffer, expected: f64) -> Result<f64, GpuError> {
        let mut sum = 0.0;
        for first in (0..self.n).step_by(PIECE) {
            let bytes = (self.n - first).min(PIECE) * size_of::<T>();
            let piece = (&array.raw, (first * size_of::<T>()) as u64, bytes as u64);
            sum += self.device.read(&[piece], |bytes| {
                let values: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
                let errors = values.into_iter().map(|v| (v.to_f64() - expected).abs());
                errors.sum::<f64>()
            })?;
        }
        Ok(sum / expected.abs() / self.n as f64)
    }
}

/// Elements that travel between host and device at a time.
const PIECE: usize = 1 << 20;

fn clock(device: &Device) -> Result<(wgpu::QuerySet, Buffer), GpuError> {
    let queries = device.checked(|raw| {
        raw.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("timestamps"),
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        })
    })?;
    let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
    let resolved = device.buffer("timestamps", 2 * TIMESTAMP, usage, false)?;
    Ok((queries, resolved))
}

/// The shader in `arithmetic`: the arithmetic, what all kernels share, and the kernels.
pub fn source(arithmetic: Arithmetic) -> String {
    format!(
        "const WIDTH: u32 = 1u;\nconst SLICE: u32 = 1u;\n{}\n{}\n{}",
        arithmetic.source(),
        include_str!("../../shaders/common.wgsl"),
        include_str!("../../shaders/stream.wgsl"),
    )
}

/// A pipeline for each of [`Kernel::PLAIN`], with the layout that they share.
fn compile(
    device: &wgpu::Device,
    arithmetic: Arithmetic,
    workgroup: u32,
) -> (wgpu::BindGroupLayout, Vec<wgpu::ComputePipeline>) {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("stream"),
        source: wgpu::ShaderSource::Wgsl(source(arithmetic).into()),
    });
    let storage = wgpu::BufferBindingType::Storage { read_only: false };
    let kinds = [
        storage,
        storage,
        storage,
        storage,
        wgpu::BufferBindingType::Uniform,
    ];
    let entries: Vec<_> = (0..)
        .zip(kinds)
        .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty,
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("stream"),
        entries: &entries,
    });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("stream"),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let constants = [("WORKGROUP", f64::from(workgroup))];
    let pipeline = |&kernel: &Kernel| {
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry_point(kernel)),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(entry_point(kernel)),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                zero_initialize_workgroup_memory: false,
            },
            cache: None,
        })
    };
    let pipelines = Kernel::PLAIN.iter().map(pipeline).collect();
    (layout, pipelines)
}
