# SPDX-License-Identifier: Apache-2.0
# All tensors of a .safetensors file, BF16 and FP8 among them; names with a slash; raw binary with
# an offset, and f32 rounded to bf16 while it is read.
py 'w = bell(500, 64)
bf16 = (w.view("<u4") >> 16).astype("<u2")
safetensors("m.safetensors", {"model/w": ("F32", w), "model/b": ("BF16", bf16),
    "q": ("F8_E4M3", bell(64, 64).view("u1")), "ids": ("I32", np.arange(100, dtype="<i4"))})
open("raw.bin", "wb").write(b"x" * 29 + w.tobytes())
np.save("w.npy", w); bf16.tofile("bf16.bin")'
run_json '[(t["name"], t["dtype"], t["shape"]) for t in d["tensors"]]' \
    lanepack pack m.safetensors m.lpk --json
run lanepack verify m.lpk --against m.safetensors
run lanepack unpack m.lpk folder
ls folder
py 'print(np.array_equal(np.load("folder/model_w.npy"), np.load("w.npy")))
print(np.array_equal(np.load("folder/model_b.npy").view("<u2"),
    np.fromfile("bf16.bin", "<u2").reshape(500, 64)))'
run lanepack pack -q raw.bin raw.lpk --dtype f32 --shape 500,64 --offset 29
run lanepack verify raw.lpk --against w.npy
run lanepack verify raw.lpk --against raw.bin --dtype f32 --shape 500,64 --offset 29
run lanepack unpack raw.lpk back.npy
cmp w.npy back.npy && echo same
run lanepack pack raw.bin raw2.lpk --dtype f32 --shape 501,64 --offset 29
run_json '[t["dtype"] for t in d["tensors"]]' \
    lanepack pack w.npy b.lpk --as bf16 --json
run lanepack verify b.lpk --against w.npy --as bf16
run lanepack verify b.lpk --against w.npy
# Two names that would be one file.
py 'safetensors("two.safetensors", {"a/b": ("F32", bell(4, 4)), "a_b": ("F32", bell(4, 4))})'
lanepack pack -q two.safetensors two.lpk --json >/dev/null
run lanepack unpack two.lpk two
run lanepack unpack two.lpk two.npy --name a/b
ls
