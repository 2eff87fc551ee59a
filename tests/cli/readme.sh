#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readme.sh SOURCE-FOLDER BIN-FOLDER: run every block of README.md that is marked sh, in order, in
# one shell and one folder that holds what README.md takes for granted: table.npy and rows.npy. With
# the programs of this build; ./quickstart and ./test are not run from here, but must be there.
set -u -o pipefail
source_folder=$(realpath "$1")
bin=$(realpath "$2")
work=$(mktemp -d)
finish() {
    status=$?
    # What a block left running in the background.
    [ ! -s "$work/jobs" ] || xargs -r kill <"$work/jobs" 2>/dev/null
    rm -rf "$work"
    exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source_folder/README.md" \
    >"$work/all"
if [ ! -s "$work/all" ]; then
    echo "waived: README.md has no block of commands marked sh"
    exit 77
fi
for command in ./quickstart ./test; do
    [ -x "$source_folder/$command" ] || { echo "$command is not there"; exit 1; }
done
{
    echo 'set -eu -o pipefail'
    echo "trap 'jobs -p >\"$work/jobs\"' EXIT"
    grep -vE '^(\$ )?\./(quickstart|test)\b' "$work/all" | sed -E 's/^\$ //'
} >"$work/script"
mkdir "$work/folder"
cd "$work/folder" || exit 1
python3 -c '
import numpy as np
r = np.random.RandomState(1)
np.save("table.npy", (r.standard_normal((4000, 128)) * 0.02).astype("<f4"))
np.save("rows.npy", r.randint(0, 4000, 100))' || exit 1
unset LANEPACK_SOCKET XDG_RUNTIME_DIR
if ! PATH="$bin:$PATH" bash -x "$work/script" >"$work/log" 2>&1; then
    cat "$work/log"
    echo "the commands of README.md do not run through"
    exit 1
fi
