// x += alpha p,  r −= alpha Ap,  and partial_g = Σ r_i² over the elements i that workgroup g takes.
// HPCG: two ComputeWAXPBY, and ComputeDotProduct of r and r.

struct Params {
    n: u32,
    // Where among the scalars alpha stands, and whether its negative is meant.
    alpha: u32,
    alpha_negative: u32,
}

@group(0) @binding(0) var<storage, read> scalars: array<real>;
@group(0) @binding(1) var<storage, read> p: array<real>;
@group(0) @binding(2) var<storage, read> Ap: array<real>;
@group(0) @binding(3) var<storage, read_write> x: array<real>;
@group(0) @binding(4) var<storage, read_write> r: array<real>;
@group(0) @binding(5) var<storage, read_write> partial: array<real>;
@group(0) @binding(6) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    var alpha = scalars[params.alpha];
    if (params.alpha_negative != 0u) { alpha = neg(alpha); }
    var sum = ZERO;
    for (var i = thread(group, groups, lane); i < params.n; i += groups.x * WORKGROUP) {
        x[i] = madd(alpha, p[i], x[i]);
        let r_i = madd(neg(alpha), Ap[i], r[i]);
        r[i] = r_i;
        sum = madd(r_i, r_i, sum);
    }
    let total = reduce(lane, sum);
    if (lane == 0u) {
        partial[group.x] = total;
    }
}
