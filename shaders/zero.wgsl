// x_i = 0  from i = first on. HPCG: ZeroVector.

struct Params {
    n: u32,
    first: u32,
}

@group(0) @binding(0) var<storage, read_write> x: array<real>;
@group(0) @binding(1) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = thread(group, groups, lane);
    if (i >= params.n) { return; }
    x[params.first + i] = ZERO;
}
