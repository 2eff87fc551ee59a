#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# update_docs.sh DATA_FOLDER [LANEPACK_BENCH]: measure, and put the figures into docs/BENCHMARKS.md
# and docs/codec-savings.svg. Takes minutes, on a machine with nothing else to do. Ends as the
# bench does: with 1 when a bar is missed, the figures being written all the same.
set -eu -o pipefail
[ $# -ge 1 ] || {
    sed -n '3,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
data=$1
root=$(cd "$(dirname "$0")/.." && pwd)
bench=${2-$root/build/bars/bin/lanepack-bench}
page=$root/docs/BENCHMARKS.md
tables=$(mktemp)
trap 'rm -f "$tables" "$tables.page"' EXIT

status=0
"$bench" codec --data "$data" --bars --markdown "$tables" --svg "$root/docs/codec-savings.svg" ||
    status=$?
[ -s "$tables" ] || exit 1
awk -v tables="$tables" '
    /^<!-- begin: / { print; print ""; while ((getline line < tables) > 0) print line; skip = 1 }
    /^<!-- end -->/ { print ""; skip = 0 }
    !skip { if (!/^<!-- begin: /) print }
' "$page" >"$tables.page"
cat "$tables.page" >"$page"
exit $status
