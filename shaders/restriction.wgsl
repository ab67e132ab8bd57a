// rc_k = (r − Axf)_i  with i = f2c_k. HPCG: ComputeRestriction.

struct Params {
    n: u32,
}

@group(0) @binding(0) var<storage, read> f2c: array<u32>;
@group(0) @binding(1) var<storage, read> r: array<real>;
@group(0) @binding(2) var<storage, read> Axf: array<real>;
@group(0) @binding(3) var<storage, read_write> rc: array<real>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let k = thread(group, groups, lane);
    if (k >= params.n) { return; }
    let i = f2c[k];
    rc[k] = sub(r[i], Axf[i]);
}
