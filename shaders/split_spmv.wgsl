// y_i = Σ_j a_ij x_j  for the rows i of one panel, and partial_g = Σ x_i y_i over those that
// workgroup g takes. HPCG: ComputeSPMV, and ComputeDotProduct of p and Ap. Since all of the halo is
// in L, y = (D + U) x can come first, and L x be added once the halo is there: the same bits.

struct Params {
    // Rows to work on: k = first .. first + count, counted from the panel's first row.
    first: u32,
    count: u32,
    // The row of the level that is the panel's first.
    panel: u32,
    // Where among the partial sums this panel's begin.
    partial: u32,
    // How much of the product: all of it, (D + U) x, or L x, which is added to y.
    product: u32,
}

const UPPER_AND_DIAGONAL: u32 = 1u;
const LOWER_ADDED: u32 = 2u;

@group(0) @binding(0) var<storage, read> values: array<real>;
@group(0) @binding(1) var<storage, read> cols: array<u32>;
@group(0) @binding(2) var<storage, read> marks: array<u32>;
@group(0) @binding(3) var<storage, read> diagonal: array<real>;
@group(0) @binding(4) var<storage, read> x: array<real>;
@group(0) @binding(5) var<storage, read_write> y: array<real>;
@group(0) @binding(6) var<storage, read_write> partial: array<real>;
@group(0) @binding(7) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    var sum = ZERO;
    for (var t = thread(group, groups, lane); t < params.count; t += groups.x * WORKGROUP) {
        let k = params.first + t;
        let i = params.panel + k;
        var rest = ZERO;
        if (params.product == LOWER_ADDED) {
            rest = neg(y[i]);
        } else {
            rest = subtract(k, UPPER, INJECTED, neg(mul(diagonal[i], x[i])));
        }
        if (params.product != UPPER_AND_DIAGONAL) {
            rest = subtract(k, LOWER, UPPER, rest);
        }
        let y_i = neg(rest);
        y[i] = y_i;
        sum = madd(x[i], y_i, sum);
    }
    let total = reduce(lane, sum);
    if (lane == 0u) {
        partial[params.partial + group.x] = total;
    }
}
