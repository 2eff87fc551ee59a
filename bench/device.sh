#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# device.sh [RESULT.json]: what only a machine with a GPU can tell.
#
# Builds device_check (release preset), compares every kernel with the host decoder on the device,
# then measures: registration, zero-copy gathers of packed and of raw rows, a plain copy. Sectors as
# the device counts them come from Nsight Compute (ncu) where it is installed and allowed to count;
# else the host's count stands alone, and says so. Under 6 minutes with the build.
# Results go to RESULT.json, build/release/device.json by default.
# Ends with 0, 1 when something differs or fails, or 77 with "waived: no GPU (why)".
set -u -o pipefail

cd "$(dirname "$0")/.." || exit 1
readonly BUILD=build/release
result=${1:-$BUILD/device.json}

waive() {
    echo "waived: no GPU ($1)"
    exit 77
}

# Before building anything: is there a driver at all?
have_driver() {
    [ -n "${LANEPACK_LIBCUDA:-}" ] && return 0
    ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1 ' && return 0
    local dir
    local IFS=:
    for dir in ${LD_LIBRARY_PATH:-}; do
        [ -e "$dir/libcuda.so.1" ] && return 0
    done
    return 1
}

build() {
    cmake --preset release >"$BUILD.log" 2>&1 &&
        cmake --build "$BUILD" --target device_check >>"$BUILD.log" 2>&1 && return 0
    tail -n 20 "$BUILD.log" >&2
    return 1
}

# Sectors that the last-level cache read from host memory during one small run, summed over kernels;
# nothing where ncu is missing or may not count.
device_sectors() {
    local ncu
    ncu=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2>/dev/null) || return 1
    timeout 90 "$ncu" --csv --metrics lts__t_sectors_aperture_sysmem_op_read.sum \
        "$BUILD/bin/device_check" --small 2>/dev/null |
        awk -F'","' '/lts__t_sectors_aperture_sysmem_op_read/ {
            gsub(/[",]/, "", $NF); sum += $NF; n++ } END { if (n == 0) exit 1; print sum }'
}

have_driver || waive "no libcuda.so.1 on this machine"
mkdir -p build
build || exit 1

"$BUILD/bin/device_check" --json "$result" || exit $?
if sectors=$(device_sectors); then
    echo "sectors read from host memory in the small run, by the device's counters: $sectors"
    counted=$sectors
    why='"counted by Nsight Compute over device_check --small"'
else
    echo "sectors: the host's count only; the device's counters cannot be read here"
    counted=null
    why='"modelled: no ncu, or no permission to count"'
fi
# The report is ours, and ends with a brace on its own line.
sed -i '$ s/}$//' "$result" &&
    printf ',\n  "device_sectors_small_run": %s,\n  "device_sectors_source": %s\n}\n' \
        "$counted" "$why" >>"$result"
echo "results: $result"
