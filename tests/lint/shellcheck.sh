#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every shell script of the tree passes shellcheck; skipped where it is not installed.
set -u -o pipefail

cd "$(dirname "$0")/../.." || exit 2
command -v shellcheck >/dev/null || {
    echo "waived: no shellcheck"
    exit 77
}
find . \( -path ./build -o -path ./shared -o -name .git \) -prune -o -type f -print0 |
    xargs -0 grep -lE '^#!.*\b(ba)?sh$' | tr '\n' '\0' | xargs -0 -r shellcheck -S warning
