// y_i = Σ_j a_ij x_j  for the rows i of one panel. HPCG: ComputeSPMV.

struct Params {
    // Rows to compute: k = first .. first + count, counted from the panel's first row.
    first: u32,
    count: u32,
    // The row of the level that is the panel's first.
    panel: u32,
}

@group(0) @binding(0) var<storage, read> values: array<real>;
@group(0) @binding(1) var<storage, read> cols: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<real>;
@group(0) @binding(3) var<storage, read_write> y: array<real>;
@group(0) @binding(4) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let t = thread(group, groups, lane);
    if (t >= params.count) { return; }
    let k = params.first + t;
    let start = first_entry(k);
    var sum = ZERO;
    for (var j = 0u; j < WIDTH; j++) {
        let at = start + j * SLICE;
        sum = madd(values[at], x[cols[at]], sum);
    }
    y[params.panel + k] = sum;
}
