#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# count_selftest.sh: ./test counts each outcome once, and a torn record is an error.
set -u -o pipefail

awk_file=$(cd "$(dirname "$0")/../../tools" && pwd)/count_tests.awk
record='<testsuite name="x" tests="6" skipped="1">
<testcase name="unit.good" status="run"><system-out>[SKIP] a::b: no GPU
[====] Synthesis: Tested: 12 | Passing: 12 | Failing: 0 | Crashing: 0
</system-out></testcase>
<testcase name="unit.bad" status="fail"><failure message="Failed"/>
<system-out>[====] Synthesis: Tested: 5 | Passing: 2 | Failing: 1 | Crashing: 2
</system-out>
</testcase>
<testcase name="unit.dies" status="fail"><system-out>
[====] Synthesis: Tested: 4 | Passing: 4 | Failing: 0 | Crashing: 0
</system-out>
</testcase>
<testcase name="simt.one" status="run"><system-out>Passing: 99</system-out>
</testcase>
<testcase name="cli.gpu" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>waived: no &lt;GPU&gt;
</system-out>
</testcase>
<testcase name="cli.slow" status="fail"><system-out></system-out>
</testcase>
</testsuite>'
expected=$'skipped\tunit.good: a::b: no GPU
failed\tunit.bad
failed\tunit.dies
skipped\tcli.gpu (waived: no <GPU>)
failed\tcli.slow
counts\t19\t5\t2'

failed=0
actual=$(awk -f "$awk_file" <<<"$record") || failed=1
if [ "$actual" != "$expected" ]; then
    diff <(printf '%s\n' "$expected") <(printf '%s\n' "$actual")
    failed=1
fi
if awk -f "$awk_file" <<<"${record%</testsuite>}" >/dev/null; then
    echo 'a torn record was accepted'
    failed=1
fi
exit $failed
