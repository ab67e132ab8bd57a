//! Work on its way to the device: dispatches are recorded one after the other, and handed over
//! when there are enough. Parameters of all of them go up in one write.

use std::collections::HashMap;
use std::time::Instant;

use crate::meter::Op;

use super::Arithmetic;
use super::clock::Clock;
use super::kernels::Kernel;
use super::memory::Buffer;
use super::pace::Pace;
use super::pipelines::{PARAMS, Pipelines, zero_word_layout};

/// Dispatches of one submission at most.
const DISPATCHES: u64 = 4096;

/// Workgroups that one dimension of a dispatch holds.
const MAX_GROUPS: u32 = 65_535;

/// A dispatch of at least so many workgroups that no dimension is too long for.
pub(super) fn in_two_dimensions(groups: u32) -> (u32, u32) {
    (groups.min(MAX_GROUPS), groups.div_ceil(MAX_GROUPS))
}

/// What a bind group was made of: the kernel and the buffers' ids.
type Key = (Arithmetic, Kernel, Vec<u64>);

/// The queue of commands of one device.
pub(super) struct Commands {
    device: wgpu::Device,
    queue: wgpu::Queue,
    // The pass records into the encoder, and must end before it.
    pass: Option<wgpu::ComputePass<'static>>,
    encoder: Option<wgpu::CommandEncoder>,
    groups: HashMap<Key, wgpu::BindGroup>,
    zero_word: wgpu::BindGroup,
    params: wgpu::Buffer,
    /// Parameters of the dispatches since the last submission, each in a stride of its own.
    pending: Vec<u8>,
    stride: u64,
    op: Option<Op>,
    pub(super) clock: Clock,
    pub(super) pace: Pace,
}

impl Commands {
    pub(super) fn new(device: &wgpu::Device, queue: &wgpu::Queue, timestamps: bool) -> Self {
        let alignment = u64::from(device.limits().min_uniform_buffer_offset_alignment);
        let stride = PARAMS.next_multiple_of(alignment);
        let uniform = |label, size| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        // New buffers hold zeros.
        let zero_word = uniform("zero_word", 16);
        let zero_word = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("zero_word"),
            layout: &zero_word_layout(device),
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: zero_word.as_entire_binding(),
            }],
        });
        Self {
            device: device.clone(),
            queue: queue.clone(),
            pass: None,
            encoder: None,
            groups: HashMap::new(),
            zero_word,
            params: uniform("params", stride * DISPATCHES),
            pending: Vec::new(),
            stride,
            op: None,
            clock: Clock::new(device, queue, timestamps),
            pace: Pace::new(),
        }
    }

    /// Bytes of device memory that the queue takes.
    pub(super) fn allocated(&self) -> u64 {
        self.params.size()
    }

    /// Forgets the bind groups of buffers that are gone.
    pub(super) fn forget(&mut self, gone: &[u64]) {
        if !gone.is_empty() {
            self.groups
                .retain(|(_, _, ids), _| ids.iter().all(|id| !gone.contains(id)));
        }
    }

    /// Queues `kernel` over `threads` threads; it moves `bytes` bytes.
    pub(super) fn dispatch(
        &mut self,
        pipelines: &Pipelines,
        kernel: Kernel,
        buffers: &[&Buffer],
        params: &[u32],
        threads: usize,
        bytes: u64,
    ) {
        let groups = threads.div_ceil(pipelines.workgroup as usize);
        let groups = u32::try_from(groups).expect("rows are numbered with 32 bits");
        if groups == 0 {
            return;
        }
        let (x, y) = in_two_dimensions(groups);
        let arithmetic = pipelines.arithmetic;
        let key = (
            arithmetic,
            kernel,
            buffers.iter().map(|buffer| buffer.id).collect(),
        );
        if !self.groups.contains_key(&key) {
            let group = self.bind(&pipelines.get(kernel).layout, buffers);
            self.groups.insert(key.clone(), group);
        }
        let offset = self.push_params(params);
        self.clock.count(self.op, bytes);
        self.begin_pass();
        let pass = self.pass.as_mut().expect("begun above");
        pass.set_pipeline(&pipelines.get(kernel).pipeline);
        pass.set_bind_group(0, &self.groups[&key], &[offset]);
        if arithmetic == Arithmetic::F32x2 {
            pass.set_bind_group(1, &self.zero_word, &[]);
        }
        pass.dispatch_workgroups(x, y, 1);
        self.pace.queued(bytes, Instant::now);
        if self.pace.is_too_much() {
            self.submit();
        }
    }

    fn bind(&self, layout: &wgpu::BindGroupLayout, buffers: &[&Buffer]) -> wgpu::BindGroup {
        let storage = buffers.iter().map(|buffer| buffer.raw.as_entire_binding());
        let params = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.params,
            offset: 0,
            size: wgpu::BufferSize::new(PARAMS),
        });
        let entries: Vec<_> = (0..)
            .zip(storage.chain([params]))
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout,
            entries: &entries,
        })
    }

    /// Stores a dispatch's parameters; returns where they will stand.
    fn push_params(&mut self, params: &[u32]) -> u32 {
        if self.pending.len() as u64 == self.stride * DISPATCHES {
            self.submit();
        }
        let offset = self.pending.len();
        self.pending.extend_from_slice(bytemuck::cast_slice(params));
        let stride = usize::try_from(self.stride).expect("an alignment");
        self.pending.resize(offset + stride, 0);
        u32::try_from(offset).expect("at most a few MiB")
    }

    fn begin_pass(&mut self) {
        if self.pass.is_some() {
            return;
        }
        let timestamps = self.clock.begin_pass(&self.device, self.op);
        let pass = self
            .encoder()
            .begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: None,
                timestamp_writes: timestamps.as_ref().map(|(queries, first)| {
                    wgpu::ComputePassTimestampWrites {
                        query_set: queries,
                        beginning_of_pass_write_index: Some(*first),
                        end_of_pass_write_index: Some(first + 1),
                    }
                }),
            });
        self.pass = Some(pass.forget_lifetime());
    }

    /// The encoder, with no pass open.
    pub(super) fn encoder(&mut self) -> &mut wgpu::CommandEncoder {
        self.pass = None;
        self.encoder
            .get_or_insert_with(|| self.device.create_command_encoder(&Default::default()))
    }

    /// From here on time and bytes count for `op`.
    pub(super) fn enter(&mut self, op: Op) {
        if self.op == Some(op) {
            return;
        }
        self.pass = None;
        if self.clock.is_calibrating() {
            self.submit();
            // An error is noted by the device, and found by the next call that waits.
            self.device.poll(wgpu::PollType::wait_indefinitely()).ok();
            self.clock.lap(self.op);
        }
        self.op = Some(op);
    }

    /// Hands the queued work to the device, if that is worth while.
    pub(super) fn submit_if_enough(&mut self) {
        if self.pace.is_enough() {
            self.submit();
        }
    }

    /// Hands the queued work, if there is any, to the device; the result can be waited for.
    pub(super) fn submit(&mut self) -> Option<wgpu::SubmissionIndex> {
        self.pass = None;
        let encoder = self.encoder.take()?;
        self.queue.write_buffer(&self.params, 0, &self.pending);
        self.pending.clear();
        self.pace.submitted();
        Some(self.queue.submit([encoder.finish()]))
    }

    /// The operation that time and bytes count for.
    pub(super) fn op(&self) -> Option<Op> {
        self.op
    }
}
