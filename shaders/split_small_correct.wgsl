// A symmetric Gauss–Seidel step after a coarse correction xc on a small level, from −U x in work:
// for each colour forward as split_correct does, then for each backward
// a_ii x_i = t_i − Σ_U a_ij x_j. HPCG: ComputeProlongation and ComputeSYMGS.

@group(0) @binding(0) var<storage, read> values: array<real>;
@group(0) @binding(1) var<storage, read> cols: array<u32>;
@group(0) @binding(2) var<storage, read> marks: array<u32>;
@group(0) @binding(3) var<storage, read> diagonal: array<real>;
@group(0) @binding(4) var<storage, read> xc: array<real>;
@group(0) @binding(5) var<storage, read> r: array<real>;
@group(0) @binding(6) var<storage, read_write> x: array<real>;
@group(0) @binding(7) var<storage, read_write> work: array<real>;
@group(0) @binding(8) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) lane: u32) {
    let last = params.colors - 1u;
    for (var c = 0u; c < last; c++) {
        for (var i = start(c) + lane; i < start(c + 1u); i += WORKGROUP) {
            correct(i, i);
        }
        storageBarrier();
    }
    // Nothing comes after the last colour: its x stands.
    for (var i = start(last) + lane; i < start(last + 1u); i += WORKGROUP) {
        x[i] = div(subtract(i, LOWER, UPPER, r[i]), diagonal[i]);
    }
    storageBarrier();
    for (var left = last; left > 0u; left--) {
        let c = left - 1u;
        for (var i = start(c) + lane; i < start(c + 1u); i += WORKGROUP) {
            x[i] = div(subtract(i, UPPER, INJECTED, work[i]), diagonal[i]);
        }
        storageBarrier();
    }
}
