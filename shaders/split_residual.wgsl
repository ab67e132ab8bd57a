// rc_k = r_i − Σ_j a_ij x_j  with i = f2c_k, for the injected rows i of one panel and no others.
// HPCG: ComputeSPMV and ComputeRestriction.

struct Params {
    // Rows to work on: k = first .. first + count, counted from the panel's first row.
    first: u32,
    count: u32,
    // The row of the level that is the panel's first.
    panel: u32,
    // The row of the level that `coarse` begins with.
    injected: u32,
    // Which rows.
    portion: u32,
}

@group(0) @binding(0) var<storage, read> values: array<real>;
@group(0) @binding(1) var<storage, read> cols: array<u32>;
@group(0) @binding(2) var<storage, read> marks: array<u32>;
@group(0) @binding(3) var<storage, read> diagonal: array<real>;
// The coarse row of each row, or NONE.
@group(0) @binding(4) var<storage, read> coarse: array<u32>;
@group(0) @binding(5) var<storage, read> r: array<real>;
@group(0) @binding(6) var<storage, read> x: array<real>;
@group(0) @binding(7) var<storage, read_write> rc: array<real>;
@group(0) @binding(8) var<uniform> params: Params;

const NONE: u32 = 0xffffffffu;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let t = thread(group, groups, lane);
    if (t >= params.count) { return; }
    let k = params.first + t;
    if (!is_in(k, params.portion)) { return; }
    let i = params.panel + k;
    let c = coarse[i - params.injected];
    if (c == NONE) { return; }
    rc[c] = subtract(k, LOWER, INJECTED, madd(neg(diagonal[i]), x[i], r[i]));
}
