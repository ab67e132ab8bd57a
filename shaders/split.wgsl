// The split format, A = L + D + U in the order of the sweep. Of a slice of SLICE rows first stand
// the entries of L, then those of U, then I: again those of U at injected columns, with the coarse
// row as column. Entry j of all rows of a slice stands together, as in ELLPACK. D is a vector.

// The parts; a part ends where the next begins.
const LOWER: u32 = 0u;
const UPPER: u32 = 1u;
const INJECTED: u32 = 2u;
const END: u32 = 3u;

// Where a part of row k begins, or the one before ends.
fn mark(k: u32, part: u32) -> u32 {
    return marks[k / SLICE * END + part];
}

// sum − Σ_j a_kj x_j over the entries of row k from one part on and before another.
fn subtract(k: u32, begin: u32, end: u32, sum: real) -> real {
    var rest = sum;
    let stop = mark(k, end);
    for (var at = mark(k, begin) + k % SLICE; at < stop; at += SLICE) {
        rest = madd(neg(values[at]), x[cols[at]], rest);
    }
    return rest;
}

// Whether row k belongs to a portion of the rows: all of them (0); those of slices without entries in
// L, which need no halo since all of it is in L (1); or the others (2).
fn is_in(k: u32, portion: u32) -> bool {
    return portion == 0u || (mark(k, LOWER) == mark(k, UPPER)) == (portion == 1u);
}
