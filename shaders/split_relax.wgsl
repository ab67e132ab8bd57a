// x_i = (r_i − Σ_j a_ij x_j) / a_ii  over some parts of the rows i of one colour, which do not
// couple to each other. Over L and U it is a textbook sweep; over L the forward sweep from x = 0;
// over U, with t = r − L x for r, the backward sweep after it. HPCG: ComputeSYMGS. Where a sweep is
// the last to visit these rows, partial_g = Σ b_i x_i over those that workgroup g takes.

struct Params {
    // Rows to work on: k = first .. first + count, counted from the panel's first row.
    first: u32,
    count: u32,
    // The row of the level that is the panel's first.
    panel: u32,
    // The parts: from `begin` on, before `end`.
    begin: u32,
    end: u32,
    // Where among the partial sums these begin, or NONE.
    partial: u32,
}

@group(0) @binding(0) var<storage, read> values: array<real>;
@group(0) @binding(1) var<storage, read> cols: array<u32>;
@group(0) @binding(2) var<storage, read> marks: array<u32>;
@group(0) @binding(3) var<storage, read> diagonal: array<real>;
@group(0) @binding(4) var<storage, read> r: array<real>;
@group(0) @binding(5) var<storage, read_write> x: array<real>;
@group(0) @binding(6) var<storage, read> b: array<real>;
@group(0) @binding(7) var<storage, read_write> partial: array<real>;
@group(0) @binding(8) var<uniform> params: Params;

const NONE: u32 = 0xffffffffu;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    var sum = ZERO;
    let threads = groups.x * groups.y * WORKGROUP;
    for (var t = thread(group, groups, lane); t < params.count; t += threads) {
        let k = params.first + t;
        let i = params.panel + k;
        let x_i = div(subtract(k, params.begin, params.end, r[i]), diagonal[i]);
        x[i] = x_i;
        if (params.partial != NONE) { sum = madd(b[i], x_i, sum); }
    }
    if (params.partial == NONE) { return; }
    let total = reduce(lane, sum);
    if (lane == 0u) {
        partial[params.partial + group.x] = total;
    }
}
