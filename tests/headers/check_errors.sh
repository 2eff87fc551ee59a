#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_errors.sh: the codes of the public header are those of errors.def, none more, none less.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 2

table=$(sed -nE 's/^X\((LP_E[A-Z0-9]+), *(-[0-9]+),.*/\1 \2/p' base/errors.def | sort)
header=$(sed -nE 's/^ *(LP_E[A-Z0-9]+) *= *(-[0-9]+),?.*/\1 \2/p' \
    client/include/lanepack/lanepack.h | sort)
[ -n "$table" ] || {
    echo "no rows found in base/errors.def"
    exit 1
}
diff <(printf '%s\n' "$table") <(printf '%s\n' "$header")
