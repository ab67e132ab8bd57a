// a_ii = diagonal_i  for the rows i of one panel. HPCG: ReplaceMatrixDiagonal.

struct Params {
    // Rows to change: k = first .. first + count, counted from the panel's first row.
    first: u32,
    count: u32,
    // The row of the level that is the panel's first.
    panel: u32,
}

@group(0) @binding(0) var<storage, read_write> values: array<real>;
@group(0) @binding(1) var<storage, read> cols: array<u32>;
@group(0) @binding(2) var<storage, read> diagonal: array<real>;
@group(0) @binding(3) var<uniform> params: Params;

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
    // Padding has the row's own column too, but stands after the diagonal.
    for (var j = 0u; j < WIDTH; j++) {
        let at = start + j * SLICE;
        if (cols[at] == i) {
            values[at] = diagonal[i];
            return;
        }
    }
}
