// x_i = (t_i − Σ_U a_ij (x_j + c_j)) / a_ii  with t_i = r_i − Σ_L a_ij x_j  for row i of the level,
// the panel's k: Gauss–Seidel after a coarse correction c. The last backward sweep left
// −Σ_U a_ij x_j in work, where t_i is kept for the next; c is xc at injected columns, 0 elsewhere.
fn correct(k: u32, i: u32) {
    let t = subtract(k, LOWER, UPPER, r[i]);
    var rest = add(t, work[i]);
    let stop = mark(k, END);
    for (var at = mark(k, INJECTED) + k % SLICE; at < stop; at += SLICE) {
        rest = madd(neg(values[at]), xc[cols[at]], rest);
    }
    x[i] = div(rest, diagonal[i]);
    work[i] = t;
}
