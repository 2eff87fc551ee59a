#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh SOURCE-FOLDER: ./quickstart --generated must run through and say so. It builds,
# which takes its time, so it is asked for by LANEPACK_TEST_QUICKSTART=1.
set -u -o pipefail
if [ "${LANEPACK_TEST_QUICKSTART-}" != 1 ]; then
    echo "waived: LANEPACK_TEST_QUICKSTART is not 1"
    exit 77
fi
cd "$1" || exit 1
output=$(./quickstart --generated 2>&1)
status=$?
if [ $status -ne 0 ]; then
    echo "$output"
    echo "./quickstart --generated ended with $status"
    exit 1
fi
for wanted in 'no real data' 'generated.f32 .* lane ' 'generated.bf16 .* lane ' \
    'every bit equal' 'the daemon ended cleanly'; do
    if ! grep -qE "$wanted" <<<"$output"; then
        echo "$output"
        echo "it does not say: $wanted"
        exit 1
    fi
done
