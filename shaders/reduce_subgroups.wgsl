// Σ over the workgroup by the tree of reduce.wgsl, and so with its bits: but the last steps, where no
// more values are left than every subgroup has threads, go from thread to thread without barriers.

var<workgroup> sums: array<real, WORKGROUP>;

// The sum of all threads' values. All threads of the workgroup must call it.
fn reduce(lane: u32, value: real) -> real {
    sums[lane] = value;
    workgroupBarrier();
    for (var step = WORKGROUP / 2u; step >= SUBGROUP; step /= 2u) {
        if (lane < step) {
            sums[lane] = add(sums[lane], sums[lane + step]);
        }
        workgroupBarrier();
    }
    // Every subgroup does this for itself: which threads it has does not matter.
    var sum = sums[subgroupExclusiveAdd(1u) % SUBGROUP];
    for (var step = SUBGROUP / 2u; step > 0u; step /= 2u) {
        sum = add(sum, subgroupShuffleDown(sum, step));
    }
    return subgroupBroadcastFirst(sum);
}
