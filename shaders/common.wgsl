// What every kernel shares: which thread works on what, and where a row's entries stand.

override WORKGROUP: u32 = 256u;

// The number of this thread; workgroups are counted in two dimensions, since one holds 65,535.
fn thread(group: vec3<u32>, groups: vec3<u32>, lane: u32) -> u32 {
    return (group.y * groups.x + group.x) * WORKGROUP + lane;
}

// ELLPACK by slices of SLICE rows: entry j of all rows of a slice together, so that neighbouring
// threads read neighbouring memory. Entry j of row k stands at first_entry(k) + j * SLICE.
fn first_entry(k: u32) -> u32 {
    return k / SLICE * (SLICE * WIDTH) + k % SLICE;
}
