// STREAM's kernels: c = a, b = q c, c = a + b, a = b + q c, and the partial sums of Σ a b and Σ a.

struct Params {
    n: u32,
    q: f32,
}

@group(0) @binding(0) var<storage, read_write> a: array<real>;
@group(0) @binding(1) var<storage, read_write> b: array<real>;
@group(0) @binding(2) var<storage, read_write> c: array<real>;
@group(0) @binding(3) var<storage, read_write> partial: array<real>;
@group(0) @binding(4) var<uniform> params: Params;

var<workgroup> sums: array<real, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn copy(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = thread(group, groups, lane);
    if (i >= params.n) { return; }
    c[i] = a[i];
}

@compute @workgroup_size(WORKGROUP)
fn scale(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = thread(group, groups, lane);
    if (i >= params.n) { return; }
    b[i] = mul(from_f32(params.q), c[i]);
}

@compute @workgroup_size(WORKGROUP)
fn add_arrays(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = thread(group, groups, lane);
    if (i >= params.n) { return; }
    c[i] = add(a[i], b[i]);
}

@compute @workgroup_size(WORKGROUP)
fn triad(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = thread(group, groups, lane);
    if (i >= params.n) { return; }
    a[i] = madd(from_f32(params.q), c[i], b[i]);
}

@compute @workgroup_size(WORKGROUP)
fn dot(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    var sum = ZERO;
    for (var i = thread(group, groups, lane); i < params.n; i += groups.x * WORKGROUP) {
        sum = madd(a[i], b[i], sum);
    }
    tree(sum, group.x, lane);
}

@compute @workgroup_size(WORKGROUP)
fn read_array(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    var sum = ZERO;
    for (var i = thread(group, groups, lane); i < params.n; i += groups.x * WORKGROUP) {
        sum = add(sum, a[i]);
    }
    tree(sum, group.x, lane);
}

// Adds up the sums of a workgroup's threads; the host adds the workgroups'.
fn tree(sum: real, group: u32, lane: u32) {
    sums[lane] = sum;
    workgroupBarrier();
    for (var step = WORKGROUP / 2u; step > 0u; step /= 2u) {
        if (lane < step) {
            sums[lane] = add(sums[lane], sums[lane + step]);
        }
        workgroupBarrier();
    }
    if (lane == 0u) {
        partial[group] = sums[0];
    }
}
