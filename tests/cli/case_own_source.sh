# SPDX-License-Identifier: Apache-2.0
# A result never takes the place of the file that it is made from, under whatever name it is given.
py 'np.save("a.npy", bell(4000, 64)); np.save("rows.npy", np.arange(3, dtype="<i8"))'
lanepack pack -q a.npy a.lpk >/dev/null
cp a.npy a.lpk rows.npy "$LP_CLI_WORK"
ln -s a.npy link.html
ln a.npy hard.html
ln -s a.lpk link.npy
mkdir folder
run lanepack analyze rows.npy a.npy --html a.npy
run lanepack analyze a.npy --html link.html
run lanepack analyze a.npy --html hard.html --json
run lanepack unpack -q a.lpk a.lpk
run lanepack unpack -q a.lpk link.npy
run lanepack pack -q a.lpk a.lpk --dtype u8 --shape 100
start_daemon
run lanepack put a.npy --json >/dev/null
run lanepack get a --rows rows.npy -o rows.npy
run lanepack get a --rows rows.npy -o folder/../rows.npy
lanepack shutdown >/dev/null
await_daemon
for file in a.npy a.lpk rows.npy; do
    cmp "$file" "$LP_CLI_WORK/$file" && echo "$file: same"
done
ls
