// x_i = (t_i − Σ_U a_ij (x_j + c_j)) / a_ii  with t_i = r_i − Σ_L a_ij x_j  for row i of the level,
// the panel's k: Gauss–Seidel after a coarse correction c. The last backward sweep left
// −Σ_U a_ij x_j in work, where t_i is kept for the next; c is xc at injected columns, 0 elsewhere.
fn correct(k: u32, i: u32) {
    let t = subtract(k, LOWER, UPPER, r[i]);
    var rest = add(t, work[i]);
    let first = mark(k, INJECTED);
    let stop = mark(k, END);
    let columns = injected_columns(k);
    for (var at = first + k % SLICE; at < stop; at += SLICE) {
        rest = madd(neg(values[at]), xc[cols[columns + at - first]], rest);
    }
    x[i] = div(rest, diagonal[i]);
    work[i] = t;
}

// Where the columns of I stand.
fn injected_columns(k: u32) -> u32 {
    let columns = columns(k);
    let before = mark(k, INJECTED) - mark(k, LOWER);
    return select(columns.first + before, columns.offsets + before / 2u, columns.near);
}
