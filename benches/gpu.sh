#!/bin/sh
# Measures a GPU in one table, in under 8 minutes: benches/gpu.sh [SIDE] [--device NAME] ...
# SIDE is 256 unless given, and the device the best GPU; see benches/gpu.rs for what is done.
set -eu
cd "$(dirname "$0")/.."
case "${1-}" in
    "" | -*) set -- 256 "$@" ;;
esac
case " $* " in
    *" --device"[\ =]*) ;;
    *) set -- "$@" --device gpu ;;
esac
exec cargo bench --quiet --bench gpu -- "$@"
