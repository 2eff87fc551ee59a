# SPDX-License-Identifier: Apache-2.0
# Mistakes in the command line end with 2 and say what is known; help and version with 0.
run lanepack
run lanepack --help
run lanepack version
run lanepack --version
run_json 'sorted(d)' lanepack version --json
for verb in put get list inspect rm status shutdown pack unpack verify bench version; do
    lanepack "$verb" --help >"$LP_CLI_WORK/help" || echo "$verb --help ended with $?"
    head -n 1 "$LP_CLI_WORK/help"
    lanepack "$verb" -h | cmp - "$LP_CLI_WORK/help" || echo "-h says otherwise"
done
run lanepack pack --help
run lanepack frobnicate
run lanepack put
run lanepack get
run lanepack get a b
run lanepack get name
run lanepack list --rows x
run lanepack list -x
run lanepack list a --json=1
run lanepack get name -o
run lanepack unpack a.lpk
run lanepack pack a.npy
run lanepack pack a.npy b.npy
run lanepack pack --codec zip a.npy b.lpk
run lanepack pack --layout loose a.npy b.lpk
run lanepack pack --access often a.npy b.lpk
run lanepack pack --align x a.npy b.lpk
run lanepack pack --align 64 a.npy b.lpk
run lanepack pack --record-rows -1 a.npy b.lpk
run lanepack pack --as f16 a.npy b.lpk
run lanepack pack --dtype f32 a.bin b.lpk
run lanepack pack --offset 3 a.bin b.lpk
run lanepack pack --dtype c64 --shape 3 a.bin b.lpk
run lanepack pack --dtype f32 --shape 3,,4 a.bin b.lpk
run lanepack pack --dtype f32 --shape 1,2,3,4,5,6,7,8,9 a.bin b.lpk
run lanepack pack --dtype f32 --shape 3 --offset 0x10 a.bin b.lpk
run lanepack put --name n a.npy b.npy
run lanepack list --timeout soon
run lanepack list --timeout 86401
run lanepack bench speed
run lanepack bench gather
run lanepack bench codec
run lanepack bench codec a.npy --repeat 1000
ls
