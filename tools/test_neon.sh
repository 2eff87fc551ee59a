#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_neon.sh FOLDER: cross-compile base, codec and the tests of the CPU tiers for aarch64 into
# FOLDER, and run them under emulation: NEON against scalar, and the golden files through both. They
# run as on the first CPUs of the architecture, so that no instruction of a later one goes
# unnoticed, and as on one with all that came since. With LP_ARM64_RUN that command runs them, once.
# Ends with 77 where there is no cross compiler or no emulator, 2 on bad usage, and with what the
# compiler or a test ended with where one fails.
set -u -o pipefail

if [ $# -ne 1 ]; then
    echo "usage: test_neon.sh FOLDER" >&2
    exit 2
fi
mkdir -p "$1/include" || exit 2
folder=$(cd "$1" && pwd) || exit 2
cd "$(dirname "$0")/.." || exit 2
cc=${LP_ARM64_CC:-aarch64-linux-gnu-gcc}
emulator=${LP_ARM64_RUN:-qemu-aarch64}
cpus=(cortex-a57 max)

if ! command -v "$cc" >/dev/null || ! command -v "$emulator" >/dev/null; then
    echo "waived: no cross compiler for aarch64, or no emulator (gcc-aarch64-linux-gnu, qemu-user)"
    exit 77
fi

# libxxhash is used as a header, so no library of that architecture is needed.
xxhash_folder=$(pkg-config --variable=includedir libxxhash 2>/dev/null || echo /usr/include)
cp "$xxhash_folder/xxhash.h" "$folder/include/" || exit

flags=(-std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -Wno-maybe-uninitialized
    -I. -Itests/plain -isystem "$folder/include")
library=()
variants=()
golden=()
for source in base/*.c codec/*.c tests/lib/samples.c tests/lib/lpk_memory.c tests/lib/packed.c \
    tests/lib/counts_data.c tests/lib/fence.c tests/plain/main.c tests/variants/*.c \
    tests/golden/test_golden.c; do
    object=$folder/${source//\//_}.o
    case $source in
    codec/ops_avx*) continue ;;
    tests/variants/* | tests/plain/* | tests/lib/fence.c) variants+=("$object") ;;
    tests/golden/*) golden+=("$object") ;;
    *) library+=("$object") ;;
    esac
    "$cc" "${flags[@]}" -c "$source" -o "$object" || exit
done

link() {
    "$cc" -static "${@:2}" "${library[@]}" -lm -lpthread -o "$folder/$1" || exit
}
link variants "${variants[@]}"
link golden "${golden[@]}"

run_all() {
    "$@" "$folder/golden" tests/golden || exit
    "$@" "$folder/variants" || exit
}
if [ -n "${LP_ARM64_RUN:-}" ]; then
    run_all "$emulator"
else
    for cpu in "${cpus[@]}"; do
        echo "as on CPU $cpu:"
        run_all "$emulator" -cpu "$cpu"
    done
fi
