#!/bin/sh
# Measures a GPU in one table, in under 8 minutes: benches/gpu.sh [SIDE] [--device NAME] ...
# SIDE is 256 unless given; see benches/gpu.rs for what is done.
set -eu
cd "$(dirname "$0")/.."
exec cargo bench --quiet --bench gpu -- "$@"
