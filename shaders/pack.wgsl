// out_k = x_i  with i = rows_k: the elements that other ranks need. HPCG: ExchangeHalo.

struct Params {
    n: u32,
}

@group(0) @binding(0) var<storage, read> rows: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read_write> out: array<real>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let k = thread(group, groups, lane);
    if (k >= params.n) { return; }
    out[k] = x[rows[k]];
}
