// A level that one workgroup smooths alone: it visits all colours one after the other, each after
// a barrier, where a large level takes a dispatch for each.

struct Params {
    // Number of colours.
    colors: u32,
    // Whether to keep −U x.
    keep: u32,
    // The first row of each colour, and the number of rows.
    starts: array<vec4<u32>, 3>,
}

fn start(color: u32) -> u32 {
    return params.starts[color / 4u][color % 4u];
}
