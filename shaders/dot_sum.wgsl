// x·y = Σ_g partial_g, by one workgroup and a fixed tree: the second stage of dot.

struct Params {
    count: u32,
    // Where among the scalars the result goes.
    result: u32,
}

@group(0) @binding(0) var<storage, read> partial: array<real>;
@group(0) @binding(1) var<storage, read_write> scalars: array<real>;
@group(0) @binding(2) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) lane: u32) {
    var sum = ZERO;
    for (var g = lane; g < params.count; g += WORKGROUP) {
        sum = add(sum, partial[g]);
    }
    let total = reduce(lane, sum);
    if (lane == 0u) {
        scalars[params.result] = total;
    }
}
