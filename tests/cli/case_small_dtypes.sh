# SPDX-License-Identifier: Apache-2.0
# The dtypes of .safetensors that no codec takes for floats: they go in, keep their names, and come
# out as they were, or with a sentence why .npy cannot hold them.
py 'def bits(*shape):
    return np.random.RandomState(3).randint(0, 256, shape).astype("u1")
parts = {"f4": ("F4", [300, 128], bits(300, 64)), "scale": ("F8_E8M0", [300, 4], bits(300, 4)),
    "f6": ("F6_E2M3", [300, 128], bits(300, 96)), "g6": ("F6_E3M2", [8], bits(6)),
    "e4": ("F8_E4M3FNUZ", [7, 9], bits(7, 9)), "e5": ("F8_E5M2FNUZ", [7, 9], bits(7, 9)),
    "c": ("C64", [6], bits(48))}
def write(path, parts):
    at, header, data = 0, {}, b""
    for name, (dtype, shape, array) in parts.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + array.size]}
        at += array.size
        data += array.tobytes()
        array.tofile(name + ".bin")
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
write("m.safetensors", parts)
write("odd.safetensors", {"odd": ("F4", [2, 3], bits(3))})'
run_json '[(t["name"], t["dtype"], t["shape"]) for t in d["tensors"]]' \
    lanepack pack m.safetensors m.lpk --json
run lanepack verify m.lpk --against m.safetensors
for name in f4 scale e4 e5 c f6; do
    run lanepack unpack m.lpk "$name.npy" --name "$name"
done
for name in f4 scale e4 e5 c; do
    tail -c +129 "$name.npy" | cmp - "$name.bin" && echo same
done
run lanepack pack odd.safetensors o.lpk
run lanepack pack f6.bin raw.lpk --dtype f6_e2m3_x4 --shape 300,32 --json -q >/dev/null
run lanepack verify raw.lpk --against f6.bin --dtype f6_e2m3_x4 --shape 300,32
start_daemon
lanepack put m.safetensors --json >/dev/null
run_json '(d["tensors"][0]["dtype"], d["tensors"][0]["shape"])' lanepack inspect f6 --json
run lanepack get f4 -o g.npy
tail -c +129 g.npy | cmp - f4.bin && echo same
run lanepack get f6 -o g6.npy
run lanepack shutdown
await_daemon
