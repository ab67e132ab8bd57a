// The split format, A = L + D + U in the order of the sweep. Of a slice of SLICE rows first stand
// the entries of L, then those of U, then I: again those of U at injected columns, with the coarse
// row as column. A slot, that is an entry of each row of the slice, stands together, as in ELLPACK.
// D is a vector.
//
// The columns of a slice stand in its own words, in the same order. If they are near, first come the
// least columns of all slots of L and U, filled up to a multiple of ALIGNED words; then, two to a
// word, the distances from these; then the columns of I as they are.

// What is marked of a slice: where a part begins, which ends where the next begins, and where its
// columns stand, with NEAR added if they are.
const LOWER: u32 = 0u;
const UPPER: u32 = 1u;
const INJECTED: u32 = 2u;
const COLUMNS: u32 = 3u;
const END: u32 = 4u;

const NEAR: u32 = 0x80000000u;
const ALIGNED: u32 = 32u;

// Where a part of row k begins, or the one before ends.
fn mark(k: u32, part: u32) -> u32 {
    return marks[k / SLICE * END + part];
}

// Where the columns of a slice stand.
struct Columns {
    near: bool,
    // Those of all slots, or the least of each.
    first: u32,
    // The distances from these.
    offsets: u32,
}

fn columns(k: u32) -> Columns {
    let marked = mark(k, COLUMNS);
    let first = marked & ~NEAR;
    let slots = (mark(k, INJECTED) - mark(k, LOWER)) / SLICE;
    let offsets = first + (slots + ALIGNED - 1u) / ALIGNED * ALIGNED;
    return Columns((marked & NEAR) != 0u, first, offsets);
}

// The column of an entry of L or U, counted from the slice's first.
fn column(columns: Columns, entry: u32) -> u32 {
    if (!columns.near) { return cols[columns.first + entry]; }
    let pair = cols[columns.offsets + entry / 2u];
    return cols[columns.first + entry / SLICE] + ((pair >> (entry % 2u * 16u)) & 0xffffu);
}

// sum − Σ_j a_kj x_j over the entries of row k in L, U or both: from one part on, before another.
fn subtract(k: u32, begin: u32, end: u32, sum: real) -> real {
    let columns = columns(k);
    let first = mark(k, LOWER);
    let stop = mark(k, end);
    var rest = sum;
    for (var at = mark(k, begin) + k % SLICE; at < stop; at += SLICE) {
        rest = madd(neg(values[at]), x[column(columns, at - first)], rest);
    }
    return rest;
}

// Whether row k belongs to a portion of the rows: all of them (0); those of slices without entries in
// L, which need no halo since all of it is in L (1); or the others (2).
fn is_in(k: u32, portion: u32) -> bool {
    return portion == 0u || (mark(k, LOWER) == mark(k, UPPER)) == (portion == 1u);
}
