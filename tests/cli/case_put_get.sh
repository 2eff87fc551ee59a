# SPDX-License-Identifier: Apache-2.0
# The daily round with a daemon: put, list, inspect, get, rm, status, shutdown.
start_daemon
py 'np.save("a.npy", bell(3000, 64))
np.save("b.npy", np.arange(6000, dtype="<i4").reshape(60, 100))
np.save("rows.npy", np.array([7, 0, 2999, 7], dtype="<i8"))
np.save("rows32.npy", np.array([7, 0, 2999, 7], dtype="<u4"))
np.save("none.npy", np.array([], dtype="<i8"))'
run lanepack status
run_json 'd["ready"], d["objects"], d["pool"]["bytes"], d["pool"]["chunk"]' lanepack status --json
run lanepack list
run lanepack put b.npy --codec raw
run_json '[(t["name"], t["dtype"], t["shape"], t["codec"], t["logical_bytes"], t["version"] > 0)
    for t in d["tensors"]]' \
    lanepack put a.npy --json --verify
run lanepack put a.npy
run lanepack put a.npy --if-absent
run_json 'd["tensors"]' lanepack put a.npy --if-absent --json
run_json '[t["name"] for t in d["tensors"]]' lanepack put a.npy --replace --tag model-1 --json
run_json '[t["name"] for t in d["tensors"]]' lanepack put a.npy b.npy --prefix run/ --json
run_json '[t["name"] for t in d["tensors"]]' lanepack put a.npy --name again --as bf16 --json
run_json '[(t["name"], t["dtype"]) for t in d["tensors"]]' lanepack list --json
run_json '[t["name"] for t in d["tensors"]]' lanepack list run/ --json
run lanepack list b
run lanepack inspect b again
run_json '[(t["name"], t["stored_bytes"] < t["logical_bytes"], t.get("how"))
    for t in d["tensors"]]' lanepack inspect a run/a b --json
# The daemon's tensor is as the packed file of the same data.
lanepack pack a.npy a.lpk >/dev/null
run_json 'd["tensors"][0]["how"] == d["tensors"][1]["how"]' lanepack inspect a a.lpk --json
# Rows of 32 bytes that are read one by one are left raw.
py 'np.save("short.npy", bell(4096, 8))'
run_json '[(t["codec"], t["record_bytes"]) for t in d["tensors"]]' \
    lanepack put short.npy --access rows --verify --json
lanepack rm short >/dev/null
run lanepack get a -o back.npy
cmp a.npy back.npy && echo same
run lanepack get a --rows rows.npy -o back.npy
py 'print(np.array_equal(np.load("back.npy"), np.load("a.npy")[[7, 0, 2999, 7]]))'
run_json 'd["name"], d["output"], d["dtype"], d["shape"]' \
    lanepack get run/a --rows rows32.npy -o back.npy --json
py 'print(np.array_equal(np.load("back.npy"), np.load("a.npy")[[7, 0, 2999, 7]]))'
run lanepack get a --rows none.npy -o back.npy
# Nothing to read: of many rows, and of wide ones.
for shape in 2305843009213693952,0 0,576460752303423488; do
    lanepack put a.npy --name none --replace --dtype u8 --shape "$shape" >/dev/null
    run lanepack get none -o back.npy
done
lanepack rm none >/dev/null
run lanepack bench gather a --against a.npy --repeat 1
run_json '[(r["name"], r["rows"], r["row_bytes"], r["equal"]) for r in d["results"]]' \
    lanepack bench gather --against b.npy --json --repeat 1
run lanepack rm again run/a
run_json 'd' lanepack rm run/b --json
run lanepack rm again
run_json 'd' lanepack rm again b --json
run_json '[t["name"] for t in d["tensors"]]' lanepack list --json
run lanepack shutdown
await_daemon
