// x_i = (r_i − Σ_{j≠i} a_ij x_j) / a_ii  for rows i of one colour, which do not couple to each
// other: a part of a Gauss–Seidel sweep. HPCG: ComputeSYMGS.

struct Params {
    // Rows to smooth: k = first .. first + count, counted from the panel's first row.
    first: u32,
    count: u32,
    // The row of the level that is the panel's first.
    panel: u32,
}

@group(0) @binding(0) var<storage, read> values: array<real>;
@group(0) @binding(1) var<storage, read> cols: array<u32>;
@group(0) @binding(2) var<storage, read> diagonal: array<real>;
@group(0) @binding(3) var<storage, read> r: array<real>;
@group(0) @binding(4) var<storage, read_write> x: array<real>;
@group(0) @binding(5) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let t = thread(group, groups, lane);
    if (t >= params.count) { return; }
    let k = params.first + t;
    let i = params.panel + k;
    let start = first_entry(k);
    var sum = r[i];
    for (var j = 0u; j < WIDTH; j++) {
        let at = start + j * SLICE;
        // Padding has the row's own column too.
        if (cols[at] != i) {
            sum = madd(neg(values[at]), x[cols[at]], sum);
        }
    }
    x[i] = div(sum, diagonal[i]);
}
