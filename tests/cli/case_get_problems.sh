# SPDX-License-Identifier: Apache-2.0
# What can't be got or put says why, leaves no file, and stores nothing.
start_daemon
py 'np.save("a.npy", bell(3000, 64)); np.save("s.npy", np.float32(3).reshape(()))
np.save("bad.npy", np.array([0, 3000, 1], dtype="<i8"))
np.save("neg.npy", np.array([0, 1, -1], dtype="<i4"))
np.save("float.npy", np.array([0.0])); np.save("two.npy", np.zeros((2, 2), dtype="<i8"))
np.save("big.npy", np.zeros((4, 4), dtype=">f4")); np.save("complex.npy", np.zeros(4, dtype="<c16"))
safetensors("m.safetensors", {"x": ("F32", bell(4, 4)), "y": ("F32", bell(4, 4))})'
lanepack put a.npy s.npy --json >/dev/null
run lanepack get none -o back.npy
run_json 'd' lanepack get none -o back.npy --json
run lanepack get a --rows bad.npy -o back.npy
run lanepack get a --rows neg.npy -o back.npy
run lanepack get a --rows float.npy -o back.npy
run lanepack get a --rows two.npy -o back.npy
run lanepack get a --rows missing.npy -o back.npy
run lanepack get s --rows neg.npy -o back.npy
run lanepack get a -o nowhere/back.npy
run lanepack inspect none
run lanepack put big.npy
run lanepack put complex.npy
run lanepack put missing.npy
run lanepack put m.safetensors --name one
run lanepack put a.npy --name "$(printf 'x%.0s' {1..513})"
run lanepack put a.npy --name 'a
b'
run lanepack put a.npy --name ''
run lanepack put a.npy --name x --align 5
run lanepack bench gather a --against s.npy --repeat 1
run lanepack bench gather s --against a.npy
run lanepack bench gather none --against m.safetensors
run lanepack bench codec missing.npy
run_json '[t["name"] for t in d["tensors"]]' lanepack list --json
run lanepack get s -o s2.npy
cmp s.npy s2.npy && echo same
ls
lanepack shutdown >/dev/null
await_daemon
