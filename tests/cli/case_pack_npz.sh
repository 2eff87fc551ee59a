# SPDX-License-Identifier: Apache-2.0
# An .npz of numpy's, packed and stored; and what is no archive of arrays.
py 'w = bell(300, 64)
np.savez_compressed("packed.npz", **{"model/w": w, "turned": np.asfortranarray(w),
    "ids": np.arange(100), "c": w[:2].view("<c8")})
np.savez("stored.npz", w=w)
np.savez("object.npz", w=w, words=np.array(["a", None]))
np.save("w.npy", w)'
run_json '[(t["name"], t["dtype"], t["shape"]) for t in d["tensors"]]' \
    lanepack pack packed.npz p.lpk --json
run lanepack verify p.lpk --against packed.npz
run lanepack unpack p.lpk folder
cmp w.npy folder/model_w.npy && cmp w.npy folder/turned.npy && echo same
py 'print(np.load("folder/c.npy").dtype)'
run_json '[t["dtype"] for t in d["tensors"]]' lanepack pack stored.npz s.lpk --as bf16 --json
run lanepack verify s.lpk --against stored.npz --as bf16
run lanepack pack object.npz o.lpk
py 'import zipfile
with zipfile.ZipFile("model.pt", "w") as f:
    f.writestr("archive/data.pkl", "x")
raw = bytearray(open("stored.npz", "rb").read())
raw[300] ^= 1
open("turned_bit.npz", "wb").write(raw)
open("cut.npz", "wb").write(raw[:-40])'
run lanepack pack model.pt o.lpk
run lanepack pack turned_bit.npz o.lpk
run lanepack pack cut.npz o.lpk
start_daemon
run lanepack put packed.npz
run lanepack get model/w -o w2.npy
cmp w.npy w2.npy && echo same
run lanepack shutdown
await_daemon
ls
