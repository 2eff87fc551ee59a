#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_exports.sh LIBRARY: liblanepack exports what client/lanepack.map lists, which is what the
# public header declares, and nothing else.
set -u -o pipefail
library=${1:?usage: check_exports.sh LIBRARY}
cd "$(dirname "$0")/../.." || exit 2

exported=$(nm -D --defined-only "$library" |
    awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
listed=$(sed -nE 's/^[[:space:]]*(lp_[a-z0-9_]+);.*/\1/p' client/lanepack.map | sort -u)
declared=$(tr '\n' ' ' <client/include/lanepack/lanepack.h |
    grep -oE '\bLP_API [^;(]*\b(lp_[a-z0-9_]+)\(' | sed -E 's/.*\b(lp_[a-z0-9_]+)\($/\1/' | sort -u)

rc=0
compare() {
    diff <(printf '%s\n' "$2") <(printf '%s\n' "$4") >/dev/null && return
    echo "only in $1:"
    comm -23 <(printf '%s\n' "$2") <(printf '%s\n' "$4") | sed 's/^/    /'
    echo "only in $3:"
    comm -13 <(printf '%s\n' "$2") <(printf '%s\n' "$4") | sed 's/^/    /'
    rc=1
}
compare 'the library' "$exported" client/lanepack.map "$listed"
compare client/lanepack.map "$listed" 'the public header' "$declared"
[ -n "$listed" ] || rc=1
exit $rc
