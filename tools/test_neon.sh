#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_neon.sh FOLDER: cross-compile base, codec and the tests of the CPU tiers for aarch64 into
# FOLDER, and run them under emulation: NEON against scalar, and the golden files through both.
# Exit code 77 where there is no cross compiler or no emulator.
set -eu

folder=${1:?usage: test_neon.sh FOLDER}
root=$(cd "$(dirname "$0")/.." && pwd)
cc=${LP_ARM64_CC:-aarch64-linux-gnu-gcc}
emulator=${LP_ARM64_RUN:-qemu-aarch64}

if ! command -v "$cc" >/dev/null || ! command -v "$emulator" >/dev/null; then
    echo "waived: no cross compiler for aarch64, or no emulator (gcc-aarch64-linux-gnu, qemu-user)"
    exit 77
fi

# libxxhash is used as a header, so no library of that architecture is needed.
xxhash_folder=$(pkg-config --variable=includedir libxxhash 2>/dev/null || echo /usr/include)
mkdir -p "$folder/include"
cp "$xxhash_folder/xxhash.h" "$folder/include/"

cd "$root"
flags="-std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -Wno-maybe-uninitialized
    -I. -Itests/plain -isystem $folder/include"
objects=
for source in base/*.c codec/*.c tests/lib/samples.c tests/lib/lpk_memory.c tests/lib/packed.c \
    tests/lib/fence.c tests/plain/main.c tests/variants/*.c tests/golden/test_golden.c; do
    case $source in
    codec/ops_avx*) continue ;;
    esac
    object=$folder/$(echo "$source" | tr / _).o
    # shellcheck disable=SC2086 # flags are words
    "$cc" $flags -c "$source" -o "$object"
    objects="$objects $object"
done

common=$(for object in $objects; do
    case $object in
    *_variants_* | *_plain_* | *_golden_* | *_fence*) ;;
    *) echo "$object" ;;
    esac
done)
# shellcheck disable=SC2086
"$cc" -static "$folder"/tests_variants_*.o "$folder"/tests_plain_main.c.o \
    "$folder"/tests_lib_fence.c.o $common -lm -lpthread -o "$folder/variants"
# shellcheck disable=SC2086
"$cc" -static "$folder"/tests_golden_test_golden.c.o $common -lm -lpthread -o "$folder/golden"

"$emulator" "$folder/golden" tests/golden
"$emulator" "$folder/variants"
