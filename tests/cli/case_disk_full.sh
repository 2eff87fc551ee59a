# SPDX-License-Identifier: Apache-2.0
# A disk that fills up while packing, unpacking or getting: an error, nothing left behind, and what
# was there before is untouched.
mkdir small
if ! mount -t tmpfs -o size=512k tmpfs small 2>/dev/null; then
    echo "waived: no small disk can be mounted here"
    exit 77
fi
trap 'umount small' EXIT
py 'np.save("a.npy", bell(4000, 64)); np.save("little.npy", bell(100, 64))'
lanepack pack -q little.npy small/keep.lpk --json >/dev/null
cp small/keep.lpk keep.lpk
lanepack pack -q a.npy a.lpk --json >/dev/null
run lanepack pack a.npy small/a.lpk
run_json 'd' lanepack pack a.npy small/keep.lpk --json
cmp small/keep.lpk keep.lpk && echo kept
run lanepack unpack a.lpk small/a.npy
ls small
start_daemon
lanepack put a.npy --json >/dev/null
run lanepack get a -o small/a.npy
ls small
# The target of standard output, too, can be full.
if [ -w /dev/full ]; then
    lanepack list >/dev/full 2>"$LP_CLI_WORK/2"
    echo "exit $?"
    sed 's/^/! /' "$LP_CLI_WORK/2"
fi
lanepack shutdown >/dev/null
await_daemon
