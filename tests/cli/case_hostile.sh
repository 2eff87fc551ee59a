# SPDX-License-Identifier: Apache-2.0
# What a hostile file or environment gets: names with orders for the terminal are masked, damage in
# what a codec keeps as it is stays no secret, a limit of file sizes is an error and no signal.
py 'safetensors("orders.safetensors", {"a\x1b[2J\nb": ("F32", bell(4, 8))})
np.save("a.npy", bell(4000, 64))'
run lanepack pack orders.safetensors orders.lpk
run_json 'd' lanepack pack orders.safetensors orders.lpk --json
lanepack pack -q a.npy a.lpk >/dev/null
py 'b = bytearray(open("a.lpk", "rb").read())
b[len(b) // 2] ^= 1
open("a.lpk", "wb").write(b)'
run lanepack unpack -q a.lpk back.npy
(ulimit -f 64 && run lanepack pack -q a.npy b.lpk)
ls
