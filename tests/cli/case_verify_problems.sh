# SPDX-License-Identifier: Apache-2.0
# What verify finds ends with 5, naming the file; files that are none, or not there, with 1.
py 'a = bell(3000, 64); np.save("a.npy", a)
b = a.copy(); b[1234, 5] = np.nextafter(b[1234, 5], 9); np.save("b.npy", b)
np.save("short.npy", a[:2999]); np.save("f64.npy", a.astype("<f8"))
safetensors("other.safetensors", {"x": ("F32", a), "y": ("F32", a)})
safetensors("names.safetensors", {"x": ("F32", a), "z": ("F32", a)})'
lanepack pack -q a.npy a.lpk --json >/dev/null
lanepack pack -q other.safetensors two.lpk --json >/dev/null
run lanepack verify a.lpk --against b.npy
run_json 'd' lanepack verify a.lpk --against b.npy --json
run lanepack verify a.lpk --against short.npy
run lanepack verify a.lpk --against f64.npy
run lanepack verify a.lpk --against other.safetensors
run lanepack verify two.lpk --against names.safetensors
run lanepack verify a.lpk --against none.npy
run lanepack verify none.lpk
run lanepack verify a.npy
# One bit in each part of the file (signature, version, head, records, directory): each is found,
# and nothing is unpacked from it.
py 'whole = open("a.lpk", "rb").read()
for i, at in enumerate([0, 9, 100, 4096 + 50, len(whole) // 2, len(whole) - 20]):
    bad = bytearray(whole); bad[at] ^= 4
    open("flip%d.lpk" % i, "wb").write(bad)
for i, n in enumerate([0, 10, 64, len(whole) // 3, len(whole) - 1]):
    open("cut%d.lpk" % i, "wb").write(whole[:n])'
for file in flip*.lpk cut*.lpk; do
    lanepack verify -q "$file" >/dev/null 2>"$LP_CLI_WORK/text"
    status=$?
    grep -q "$file" "$LP_CLI_WORK/text" || cat "$LP_CLI_WORK/text"
    echo "$file: verify $status"
done
for file in flip4.lpk cut*.lpk; do
    lanepack unpack -q "$file" back.npy >/dev/null 2>&1
    echo "$file: unpack $?, inspect $(lanepack inspect "$file" >/dev/null 2>&1; echo $?)"
    [ ! -e back.npy ] || echo "back.npy was left"
done
