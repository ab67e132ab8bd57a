// x_i += xc_k  with i = f2c_k. HPCG: ComputeProlongation.

struct Params {
    n: u32,
}

@group(0) @binding(0) var<storage, read> f2c: array<u32>;
@group(0) @binding(1) var<storage, read> xc: array<real>;
@group(0) @binding(2) var<storage, read_write> x: array<real>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let k = thread(group, groups, lane);
    if (k >= params.n) { return; }
    let i = f2c[k];
    x[i] = add(x[i], xc[k]);
}
