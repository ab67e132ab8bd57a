#!/bin/sh
# Compares the bytes that the CPU backend counts for an iteration with the cache lines that
# cachegrind sees coming from memory: benches/traffic.sh [SIDE [CACHE_MIB [--format FORMAT]]]
#
# The simulated last-level cache must hold a vector of the finest level (8 SIDE³ bytes) several
# times and the matrix not at all, as on a real box; a line is 64 bytes. Cachegrind counts a line
# that is written as one read and does not count its way back, and knows no prefetch. Needs valgrind.
set -eu
cd "$(dirname "$0")/.."
side=${1:-64}
cache=${2:-4}
shift $(($# < 2 ? $# : 2))
few=2
more=12

program=$(cargo bench --no-run --message-format=json --bench traffic 2>/dev/null |
    sed -n 's/.*"name":"traffic".*"executable":"\([^"]*\)".*/\1/p')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The bytes that the program counts for $1 iterations, and the lines of 64 bytes that came.
count() {
    valgrind --tool=cachegrind --cache-sim=yes --LL=$((cache << 20)),16,64 \
        --cachegrind-out-file="$scratch/out" --log-file="$scratch/log" "$program" "$side" "$@" >"$scratch/bytes"
    lines=$(sed -n 's/.*LLd misses: *\([0-9,]*\).*/\1/p' "$scratch/log" | tr -d ,)
    echo "$(cut -d' ' -f1 "$scratch/bytes") $lines"
}

{
    count $few "$@"
    count $more "$@"
} | awk -v rows=$((side * side * side)) -v iterations=$((more - few)) -v side="$side" -v cache="$cache" '
    NR == 1 { bytes = $1; lines = $2 }
    NR == 2 {
        counted = ($1 - bytes) / iterations / rows
        seen = ($2 - lines) * 64 / iterations / rows
        printf "%d³, last-level cache of %d MiB, an iteration: %.0f bytes a row counted, %.0f seen by cachegrind, ratio %.3f\n",
            side, cache, counted, seen, seen / counted
    }'
