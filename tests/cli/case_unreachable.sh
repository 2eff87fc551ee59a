# SPDX-License-Identifier: Apache-2.0
# No daemon, one that does not answer, and one that speaks another version: 3, 3 and 4.
py 'np.save("a.npy", bell(30, 4))'
export LANEPACK_SOCKET="$LP_CLI_WORK/none"
run lanepack list
run_json 'd' lanepack list --json
run lanepack put a.npy
run lanepack get a -o b.npy
run lanepack inspect a
run lanepack rm a
run lanepack status --socket "$LP_CLI_WORK/other"
run lanepack shutdown
run lanepack bench gather a --against a.npy
run lanepack list --socket ''

# listen ANSWER: one connection, one answer to its first line; ANSWER '' never answers.
listen() {
    export LANEPACK_SOCKET="$LP_CLI_WORK/fake"
    rm -f "$LANEPACK_SOCKET" "$LP_CLI_WORK/listening"
    python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(1)
open(sys.argv[2], "w")
c = s.accept()[0]
c.recv(4096)
if sys.argv[3]:
    c.sendall(sys.argv[3].replace("\n", "").encode() + b"\n")
c.recv(4096)' "$LANEPACK_SOCKET" "$LP_CLI_WORK/listening" "$1" &
    while [ ! -e "$LP_CLI_WORK/listening" ]; do sleep 0.02; done
}
listen ''
run lanepack list --timeout 1
wait
text='you speak protocol 0 to 0, this daemon 3 to 4'
listen '{"jsonrpc":"2.0","id":1,"error":{"code":-43,"message":"'"$text"'"}}'
run lanepack list
wait
listen '{"jsonrpc":"2.0","id":1,"result":{"epoch":"00000000000000aa","proto":9,"server":"x",
"limits":{"message_bytes":1048576}}}'
run_json 'd' lanepack status --json
wait
listen 'hello yourself'
run lanepack list
wait
ls
