#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--write] CASE.sh BIN-FOLDER: run a case in a folder of its own and compare what it prints
# with CASE.stdout.exact, what changes from run to run (paths, pids, speeds, packed sizes) masked.
# A case that ends with 77 is waived and says why. --write makes the file anew.
set -u -o pipefail
write=no
if [ "$1" = --write ]; then
    write=yes
    shift
fi
case_file=$(realpath "$1")
bin=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
exact=${case_file%.sh}.stdout.exact

work=$(mktemp -d)
finish() {
    status=$?
    if [ -s "$work/daemon.pid" ]; then
        kill "$(cat "$work/daemon.pid")" 2>/dev/null
    fi
    ! mountpoint -q "$work/dir/small" || umount "$work/dir/small"
    rm -rf "$work"
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir "$work/dir"
export PATH="$bin:$PATH" LP_CLI_WORK="$work" LC_ALL=C
unset LANEPACK_SOCKET XDG_RUNTIME_DIR
# shellcheck disable=SC1090,SC1091  # which case is an argument
(cd "$work/dir" && . "$here/lib.sh" && . "$case_file") >"$work/raw" 2>"$work/stderr"
status=$?
if [ $status -eq 77 ]; then
    cat "$work/raw"
    exit 77
fi
mask() {
    sed -E -e "s#$work/dir#DIR#g" -e "s#$work#WORK#g" \
        -e 's/-?[0-9]+\.[0-9] %/N %/g' -e 's/ +N %/ N %/g' \
        -e 's/\b(pid|up) [0-9]+/\1 N/g' -e 's/epoch [0-9a-f]{16}/epoch HEX/' \
        -e 's/codecs on (scalar|avx2|avx512|neon)/codecs on TIER/' \
        -e 's/[0-9]+\.[0-9]+ GB\/s/N GB\/s/g' \
        -e 's/(ibp|lane)( +(packed|slotted) +[0-9.]+ [KM]?i?B) +[0-9.]+ [KM]?i?B/\1\2 N/' \
        -e 's/\((one thread), [a-z0-9]+\)/(\1, TIER)/'
}
mask <"$work/raw" >"$work/out"
if [ $status -ne 0 ]; then
    cat "$work/out" "$work/stderr"
    echo "the case ended with $status"
    exit 1
fi
if [ $write = yes ]; then
    cp "$work/out" "$exact"
elif ! diff -u "$exact" "$work/out"; then
    cat "$work/stderr"
    exit 1
fi
