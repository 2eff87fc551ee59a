# SPDX-License-Identifier: Apache-2.0
# A .npy file into an .lpk and back, bit for bit, through each codec; everything without a daemon.
py 'np.save("a.npy", bell(3000, 64))
np.save("i.npy", np.arange(5000, dtype="<i8").reshape(50, 100))
np.save("f.npy", np.asfortranarray(bell(100, 64)))'
run lanepack pack a.npy a.lpk
run lanepack pack -q i.npy i.lpk --codec raw
run_json '[(t["name"], t["dtype"], t["shape"], t["codec"], t["logical_bytes"])
    for t in d["tensors"]], d["output"], 0 < d["tensors"][0]["bound_saving"] < 1' \
    lanepack pack a.npy i.npy f.npy all.lpk --json
run lanepack inspect i.lpk
run_json '[(t["name"], t["codec"], t["layout"], t["logical_bytes"],
    t["stored_bytes"] < t["logical_bytes"], t["wire_bytes"] <= t["logical_bytes"])
    for t in d["tensors"]]' \
    lanepack inspect a.lpk all.lpk --json
run lanepack verify a.lpk
run lanepack verify a.lpk --against a.npy
run_json 'd' lanepack verify all.lpk --json
run lanepack unpack a.lpk back.npy
cmp a.npy back.npy && echo same
run_json '[(t["name"], t["output"], t["dtype"], t["shape"]) for t in d["tensors"]]' \
    lanepack unpack i.lpk back.npy --json
cmp i.npy back.npy && echo same
for codec in raw ibp lane auto; do
    for layout in packed slotted; do
        lanepack pack -q --codec $codec --layout $layout a.npy c.lpk --json >/dev/null &&
            lanepack verify -q c.lpk --against a.npy >/dev/null &&
            lanepack unpack -q c.lpk c.npy >/dev/null && cmp a.npy c.npy && echo $codec $layout
    done
done
lanepack pack -q --record-elements 96 --align 32 a.npy c.lpk && lanepack unpack -q c.lpk c.npy &&
    cmp a.npy c.npy && echo records of 96
# Rows of 32 bytes: eight share a record, unless they are read one by one.
py 'np.save("short.npy", bell(4096, 8))'
for access in whole rows; do
    run_json '[(t["codec"], t["record_bytes"], "moves" in t["reason"]) for t in d["tensors"]]' \
        lanepack pack short.npy c.lpk --access $access --json
done
# Fortran order comes back in C order, the same numbers.
run lanepack unpack all.lpk folder
py 'f = np.load("folder/f.npy")
print(np.array_equal(f, np.load("f.npy")), f.flags.c_contiguous)'
run lanepack unpack all.lpk f2.npy --name f
cmp folder/f.npy f2.npy && echo same
run lanepack unpack all.lpk f2.npy --name g
run lanepack unpack all.lpk a.npy
run lanepack pack a.npy --record-rows 2 --record-elements 4 c.lpk
ls
