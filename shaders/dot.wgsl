// partial_g = Σ x_i y_i  over the elements i that workgroup g takes; dot_sum adds them up.
// Elements, threads and the tree are fixed by n alone: the same bits every time. HPCG: ComputeDotProduct.

struct Params {
    n: u32,
}

@group(0) @binding(0) var<storage, read> x: array<real>;
@group(0) @binding(1) var<storage, read> y: array<real>;
@group(0) @binding(2) var<storage, read_write> partial: array<real>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    var sum = ZERO;
    for (var i = thread(group, groups, lane); i < params.n; i += groups.x * WORKGROUP) {
        sum = madd(x[i], y[i], sum);
    }
    let total = reduce(lane, sum);
    if (lane == 0u) {
        partial[group.x] = total;
    }
}
