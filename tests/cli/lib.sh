# SPDX-License-Identifier: Apache-2.0
# What cases share; sourced by run.sh. The folder of a case is empty at its start.
# shellcheck shell=bash

# run COMMAND...: show it, what it prints on both outputs, and how it ends.
run() {
    local status
    echo "\$ $*"
    "$@" >"$LP_CLI_WORK/1" 2>"$LP_CLI_WORK/2" </dev/null
    status=$?
    cat "$LP_CLI_WORK/1"
    sed 's/^/! /' "$LP_CLI_WORK/2"
    echo "exit $status"
}

# run_json EXPRESSION COMMAND...: the same, but what it prints must be JSON, d in the expression,
# which is printed in its place. An error is expected on standard error, in the same form.
run_json() {
    local status expression=$1
    shift
    echo "\$ $*"
    "$@" >"$LP_CLI_WORK/1" 2>"$LP_CLI_WORK/2" </dev/null
    status=$?
    if [ -s "$LP_CLI_WORK/2" ]; then
        [ -s "$LP_CLI_WORK/1" ] && echo "both outputs were written to"
        cp "$LP_CLI_WORK/2" "$LP_CLI_WORK/1"
        expression='d["error"]["name"]'
    fi
    python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$LP_CLI_WORK/1" "$expression"
    echo "exit $status"
}

# py CODE: with numpy as np and two helpers, in the folder of the case.
py() {
    python3 -c '
import json, struct, sys
import numpy as np

def bell(rows, columns, dtype="<f4", seed=1):
    """Numbers of a bell curve, the same everywhere."""
    return np.random.RandomState(seed).standard_normal((rows, columns)).astype(dtype)

def safetensors(path, tensors):
    """tensors: name to (dtype of the format, array)."""
    at, header, data = 0, {}, b""
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        data += raw
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)

'"$1"
}

# start_daemon [FLAG...]: a private one, which every lanepack of this case then uses.
start_daemon() {
    export LANEPACK_SOCKET="$LP_CLI_WORK/s"
    lanepackd --control-socket="$LANEPACK_SOCKET" --pool-size=64MiB --pool-chunk=8MiB \
        --pool-reserve=0 --control-group= "$@" >"$LP_CLI_WORK/daemon.log" 2>&1 &
    echo $! >"$LP_CLI_WORK/daemon.pid"
    local tries
    for ((tries = 0; tries < 400; tries++)); do
        if lanepack status --json 2>/dev/null | grep -q '"ready": true'; then
            return
        fi
        sleep 0.05
    done
    cat "$LP_CLI_WORK/daemon.log" >&2
    echo "the daemon is not ready"
    exit 1
}

# It must end by itself, with 0.
await_daemon() {
    wait "$(cat "$LP_CLI_WORK/daemon.pid")"
    echo "the daemon ended with $?"
    rm "$LP_CLI_WORK/daemon.pid"
}
