#!/usr/bin/env bash
# Every check of this repository, on a machine with nothing but Rust: what is missing is installed
# first. Debian and its relatives; elsewhere install the two drivers below by hand.
#
#   tests/run.sh            format, lints, documentation, tests
#   tests/run.sh ARGS       the same, with arguments for cargo test, such as --test devices
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }
fail() {
    printf 'tests/run.sh: %s\n' "$*" >&2
    exit 1
}

# Two programs that play a GPU, one with f64 and one without it and with strict limits:
# Mesa's lavapipe, and the SwiftShader that comes with Chromium.
lavapipe() { first /usr/share/vulkan/icd.d 'lvp_icd*.json'; }
swiftshader() { first /usr/lib/chromium vk_swiftshader_icd.json; }
first() { [ ! -d "$1" ] || find "$1" -name "$2" -print -quit; }

missing=()
[ -n "$(lavapipe)" ] || missing+=(mesa-vulkan-drivers)
[ -n "$(swiftshader)" ] || missing+=(chromium-common)
# The browser itself, to look at pages.
command -v chromium >/dev/null || missing+=(chromium)
command -v cc >/dev/null || missing+=(gcc libc6-dev)
ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
"$ldconfig" -p | grep 'libvulkan\.so\.1' >/dev/null || missing+=(libvulkan1)
# Two MPIs side by side, and libclang to translate their headers.
command -v mpicc.openmpi >/dev/null || missing+=(libopenmpi-dev)
command -v mpirun.openmpi >/dev/null || missing+=(openmpi-bin)
command -v mpicc.mpich >/dev/null || missing+=(libmpich-dev)
command -v mpirun.mpich >/dev/null || missing+=(mpich)
# Its library for C++, which drivers bring along, is not enough.
[ -n "$(find /usr/lib \( -name 'libclang.so*' -o -name 'libclang-[0-9]*.so*' \) -print -quit)" ] || missing+=(libclang-dev)

if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    command -v apt-get >/dev/null || fail "install by hand what Debian calls: ${missing[*]}"
    apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq)
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "run this as root once, or install: ${missing[*]}"
        apt=(sudo "${apt[@]}")
    fi
    "${apt[@]}" update
    "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >/dev/null
fi

[ -n "$(lavapipe)" ] || fail "mesa-vulkan-drivers is installed, but its lvp_icd*.json is not where Vulkan looks"
[ -n "$(swiftshader)" ] || fail "chromium-common is installed, but vk_swiftshader_icd.json is not in its directory"
# No other driver: the tests shall do the same on every machine.
VK_ICD_FILENAMES=$(lavapipe):$(swiftshader)
export VK_ICD_FILENAMES
unset VK_DRIVER_FILES VK_ADD_DRIVER_FILES WGPU_BACKEND
# Drivers complain on stderr where there is no such directory.
XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR
trap 'rm -rf "$XDG_RUNTIME_DIR"' EXIT
export CARGO_TERM_PROGRESS_WHEN=never
echo "Vulkan drivers: $VK_ICD_FILENAMES"

# Whoever only has cargo may test; CI must have the rest too.
component() {
    if cargo "$1" --version >/dev/null 2>&1; then
        return 0
    fi
    [ -z "${CI:-}" ] || fail "cargo $1 is missing: rustup component add $2"
    say "skipped: cargo $1 is missing (rustup component add $2)"
    return 1
}

if component fmt rustfmt; then
    say "format"
    cargo fmt --all --check
fi
if component clippy clippy; then
    say "lints"
    cargo clippy --quiet --release --workspace --all-targets --locked -- -D warnings
fi

say "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --quiet --release --workspace --no-deps --locked

say "the program"
cargo build --quiet --release --locked
cubie=${CARGO_TARGET_DIR:-target}/release/cubie
for gpu in llvmpipe SwiftShader; do
    "$cubie" validate --device "$gpu" --precision f32x2 >/dev/null ||
        fail "no working adapter called $gpu among: $VK_ICD_FILENAMES"
    echo "$gpu works"
done

say "tests"
# All suites run even if one fails, and the last line sums them up.
log=$XDG_RUNTIME_DIR/tests.log
status=0
run_tests() { cargo test --release --locked --no-fail-fast "$@" 2>&1 | tee -a "$log" || status=$?; }
run_tests --workspace "$@"
if [ $# -eq 0 ]; then
    say "many processes: Open MPI with OpenSHMEM"
    MPICC=mpicc.openmpi MPIRUN=mpirun.openmpi run_tests --workspace --features shmem --test mpi -- --test-threads 1
    say "many processes: MPICH"
    # The bindings do not notice that the MPI is another one.
    cargo clean --quiet --release -p mpi -p mpi-sys
    MPICC=mpicc.mpich MPIRUN=mpirun.mpich run_tests --workspace --features mpi --test mpi -- --test-threads 1
fi
awk '/^test result:/ { passed += $4; failed += $6 }
     END { printf "%d passed, %d failed\n", passed, failed; exit !passed || failed > 0 }' "$log" || status=1
exit "$status"
