// The forward sweep after a coarse correction, for the rows i of one colour: `correct`, as
// split_corrected.wgsl tells. HPCG: ComputeProlongation and ComputeSYMGS.

struct Params {
    // Rows to work on: k = first .. first + count, counted from the panel's first row.
    first: u32,
    count: u32,
    // The row of the level that is the panel's first.
    panel: u32,
    // Which of them.
    portion: u32,
}

@group(0) @binding(0) var<storage, read> values: array<real>;
@group(0) @binding(1) var<storage, read> cols: array<u32>;
@group(0) @binding(2) var<storage, read> marks: array<u32>;
@group(0) @binding(3) var<storage, read> diagonal: array<real>;
@group(0) @binding(4) var<storage, read> xc: array<real>;
@group(0) @binding(5) var<storage, read> r: array<real>;
@group(0) @binding(6) var<storage, read_write> x: array<real>;
@group(0) @binding(7) var<storage, read_write> work: array<real>;
@group(0) @binding(8) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let t = thread(group, groups, lane);
    if (t >= params.count) { return; }
    let k = params.first + t;
    if (!is_in(k, params.portion)) { return; }
    correct(k, params.panel + k);
}
