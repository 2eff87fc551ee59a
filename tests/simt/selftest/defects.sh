#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which mode sees which seeded defect of demo_kernel.cuh; fails unless every defect is seen by some
# mode of the fiber executor and the right kernel is clean in all.
#
#   defects.sh PLAIN ASAN TSAN [PTX_PROGRAM PTX_FILE]     demo_fiber in three builds, demo_ptx
#
# Words in the table: rule = the executor stopped the kernel, wrong = the result differs, fill = the
# result depends on what shared memory held, asan, ubsan, race = a sanitizer said so, crash = a
# signal, - = not seen.
set -u
plain=$1 asan=$2 tsan=$3 ptx=${4:-} ptx_file=${5:-}
values=20003
names=("right" "collective in a divergent branch" "mask omits the caller" "misaligned cp.async"
  "uninitialised shared memory" "no wait for cp.async" "no syncwarp after the wait"
  "shuffle source outside the mask" "128-bit store past the end" "misaligned 128-bit store"
  "warps race on a plain counter" "no syncwarp before reuse" "lanes exit early"
  "two different barriers" "no barrier before the total")
export LANEPACK_SIMT_EXIT_ON_FAILURE=1 ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=exitcode=66

verdict() {
  local out rc
  out=$(timeout 120 "$@" 2>&1)
  rc=$?
  case $out in
    *"simt: "*|*"ptx: "*) echo rule ;;
    *"ThreadSanitizer: data race"*) echo race ;;
    *AddressSanitizer*) echo asan ;;
    *"runtime error"*) echo ubsan ;;
    *) case $rc in 0) echo - ;; 1) echo wrong ;; *) echo "crash$rc" ;; esac ;;
  esac
}

result_with_fill() {
  LANEPACK_SIMT_FILL=$1 "$plain" $values "$2" 2>/dev/null | sed 's/, [0-9.]* MB.*//'
}

printf '%-36s %-8s %-8s %-9s %-6s %-6s %-6s %s\n' defect forward reverse random fill asan tsan ptx
missed=0
for d in $(seq 0 14); do
  forward=$(LANEPACK_SIMT_ORDER=forward verdict "$plain" $values "$d")
  reverse=$(LANEPACK_SIMT_ORDER=reverse verdict "$plain" $values "$d")
  hits=0 kind=-
  for seed in 1 2 3 4 5 6 7 8; do
    v=$(LANEPACK_SIMT_ORDER=random LANEPACK_SIMT_SEED=$seed verdict "$plain" $values "$d")
    [ "$v" = - ] || { hits=$((hits + 1)) kind=$v; }
  done
  [ $hits = 0 ] || kind="$kind:$hits/8"
  fill=-
  [ "$(result_with_fill 0 "$d")" = "$(result_with_fill 0xff "$d")" ] || fill=fill
  a=$(verdict "$asan" $values "$d") t=$(verdict "$tsan" $values "$d") p=none
  [ -z "$ptx" ] || p=$(verdict "$ptx" "$ptx_file" $values "$d")
  printf '%-36s %-8s %-8s %-9s %-6s %-6s %-6s %s\n' "$d ${names[$d]}" "$forward" "$reverse" \
    "$kind" "$fill" "$a" "$t" "$p"
  if [ "$forward$reverse$kind$fill$a$t" = ------ ]; then
    [ "$d" = 0 ] || { missed=$((missed + 1)); echo "  NOT SEEN by any mode"; }
  elif [ "$d" = 0 ]; then
    missed=$((missed + 1))
    echo "  the right kernel is reported"
  fi
done
echo "$((14 - missed)) of 14 defects seen"
[ $missed = 0 ]
