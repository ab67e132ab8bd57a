// A symmetric Gauss–Seidel step from x = 0 on a small level: for each colour forward
// a_ii x_i = r_i − Σ_L a_ij x_j, then for each backward x_i −= Σ_U a_ij x_j / a_ii, and
// work_i = −Σ_U a_ij x_j is kept. HPCG: ComputeSYMGS.

@group(0) @binding(0) var<storage, read> values: array<real>;
@group(0) @binding(1) var<storage, read> cols: array<u32>;
@group(0) @binding(2) var<storage, read> marks: array<u32>;
@group(0) @binding(3) var<storage, read> diagonal: array<real>;
@group(0) @binding(4) var<storage, read> r: array<real>;
@group(0) @binding(5) var<storage, read_write> x: array<real>;
@group(0) @binding(6) var<storage, read_write> work: array<real>;
@group(0) @binding(7) var<uniform> params: Params;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) lane: u32) {
    for (var c = 0u; c < params.colors; c++) {
        for (var i = start(c) + lane; i < start(c + 1u); i += WORKGROUP) {
            x[i] = div(subtract(i, LOWER, UPPER, r[i]), diagonal[i]);
        }
        storageBarrier();
    }
    // Nothing comes after the last colour: its x stands.
    for (var left = params.colors - 1u; left > 0u; left--) {
        let c = left - 1u;
        for (var i = start(c) + lane; i < start(c + 1u); i += WORKGROUP) {
            let rest = subtract(i, UPPER, INJECTED, ZERO);
            x[i] = add(x[i], div(rest, diagonal[i]));
            if (params.keep != 0u) {
                work[i] = rest;
            }
        }
        storageBarrier();
    }
}
