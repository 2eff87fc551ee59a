#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# transcript.sh LANEPACKD DOCUMENT: the conversation printed in DOCUMENT ("> " lines are sent, "< "
# lines come back) is held with a fresh daemon through nc, and must come out the same but for what
# is different each time. With RECORD=1 in the environment it prints what DOCUMENT should say.
set -eu -o pipefail

daemon=$1
document=$2
command -v nc >/dev/null || {
    echo "waived: nc is not here"
    exit 77
}
work=$(mktemp -d)
"$daemon" --control-socket="$work/s" --pool-size=64MiB --pool-reserve=0 --control-group= \
    --log-level=warn &
pid=$!
trap 'kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT

talk() {
    nc -N -U "$work/s"
}

hello='{"jsonrpc":"2.0","id":1,"method":"hello","params":{"proto":[0,0]}}'
for _ in $(seq 400); do
    # Answers fail until the socket is there, and say ready when the pool is resident.
    if [ -S "$work/s" ] && talk <<<"$hello" | grep -q '"ready":true'; then
        break
    fi
    sleep 0.05
done

volatile='epoch|pid|uptime_s|prefault_seconds|prefault_bytes_per_s|locked|lock_note|have|source'
volatile="$volatile|cpu_tier|page|requests"
mask() {
    sed -E 's/"('"$volatile"')":("[^"]*"|[0-9.e+-]+)/"\1":*/g'
}

grep '^> ' "$document" | cut -c3- >"$work/sent"
(grep '^< ' "$document" || true) | cut -c3- >"$work/wanted"
[ -s "$work/sent" ] || {
    echo "no transcript in $document"
    exit 1
}
talk <"$work/sent" >"$work/got"
if [ "${RECORD:-0}" = 1 ]; then
    paste -d '\n' <(sed 's/^/> /' "$work/sent") <(sed 's/^/< /' "$work/got")
    exit 0
fi
diff -u <(mask <"$work/wanted") <(mask <"$work/got")
# The last line of the transcript ends the daemon.
wait "$pid"
