// sum = a + b, product = a b, quotient = a / b, madd = a b + c, element by element: whether a
// device and its compiler do the arithmetic that the solver relies on.

struct Params {
    n: u32,
}

@group(0) @binding(0) var<storage, read> a: array<real>;
@group(0) @binding(1) var<storage, read> b: array<real>;
@group(0) @binding(2) var<storage, read> c: array<real>;
// The four results one after the other, n elements each.
@group(0) @binding(3) var<storage, read_write> results: array<real>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = thread(group, groups, lane);
    if (i >= params.n) { return; }
    results[i] = add(a[i], b[i]);
    results[params.n + i] = mul(a[i], b[i]);
    results[2u * params.n + i] = div(a[i], b[i]);
    results[3u * params.n + i] = madd(a[i], b[i], c[i]);
}
