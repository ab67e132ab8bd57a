// Σ over the workgroup by a fixed tree: the same bits every time. For kernels that end in a sum.

var<workgroup> sums: array<real, WORKGROUP>;

// The sum of all threads' values, in thread 0. All threads of the workgroup must call it.
fn reduce(lane: u32, value: real) -> real {
    sums[lane] = value;
    workgroupBarrier();
    for (var step = WORKGROUP / 2u; step > 0u; step /= 2u) {
        if (lane < step) {
            sums[lane] = add(sums[lane], sums[lane + step]);
        }
        workgroupBarrier();
    }
    return sums[0];
}
