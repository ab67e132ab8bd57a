// w = alpha x + beta w. HPCG: ComputeWAXPBY with y = w.

struct Params {
    n: u32,
    // Where among the scalars alpha and beta stand, and whether their negatives are meant.
    alpha: u32,
    alpha_negative: u32,
    beta: u32,
    beta_negative: u32,
}

@group(0) @binding(0) var<storage, read> scalars: array<real>;
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read_write> w: array<real>;
@group(0) @binding(3) var<uniform> params: Params;

fn scalar(slot: u32, negative: u32) -> real {
    if (negative != 0u) { return neg(scalars[slot]); }
    return scalars[slot];
}

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = thread(group, groups, lane);
    if (i >= params.n) { return; }
    let alpha = scalar(params.alpha, params.alpha_negative);
    let beta = scalar(params.beta, params.beta_negative);
    w[i] = madd(alpha, x[i], mul(beta, w[i]));
}
