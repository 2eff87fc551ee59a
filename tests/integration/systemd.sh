#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# systemd.sh LANEPACKD FOLDER: the units verify, are hardened, and user and folder can be made.
# Each tool that is absent waives its part, aloud; ends with 77 when all are.
set -eu -o pipefail

daemon=$1
units=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ran=0

fail() {
    echo "$1" >&2
    exit 1
}

have() {
    if command -v "$1" >/dev/null; then
        ran=$((ran + 1))
        return 0
    fi
    echo "waived: $1 is not here"
    return 1
}

if have systemd-analyze; then
    sed "s|/usr/bin/lanepackd|$daemon|" "$units/lanepackd.service" >"$work/lanepackd.service"
    cp "$units/lanepackd.socket" "$work/"
    # An unknown key is only a warning there, and ends with 0.
    systemd-analyze verify --man=no "$work/lanepackd.service" "$work/lanepackd.socket" \
        >"$work/verify" 2>&1 || fail "$(cat "$work/verify")"
    if grep -E 'lanepackd\.(service|socket).*(Unknown|Failed to parse|Invalid)' "$work/verify"; then
        fail "systemd does not understand a line"
    fi
    # Tenths of a point; the unit has 0.5 under systemd 252.
    systemd-analyze security --offline=true --threshold=10 "$work/lanepackd.service" \
        >"$work/security" 2>&1 || fail "$(tail -n 3 "$work/security")"
fi

if have systemd-sysusers; then
    mkdir -p "$work/root/etc"
    systemd-sysusers --root="$work/root" "$units/lanepackd.sysusers.conf"
    grep -q '^lanepack:' "$work/root/etc/passwd" || fail "no user was made"
    grep -q '^lanepack:' "$work/root/etc/group" || fail "no group was made"

    if have systemd-tmpfiles; then
        systemd-tmpfiles --root="$work/root" --create "$units/lanepackd.tmpfiles.conf"
        mode=$(stat -c %a "$work/root/run/lanepack")
        [ "$mode" = 755 ] || fail "/run/lanepack has mode $mode"
    fi
fi

# Each directive that is not an everyday one stands under a comment.
for directive in LimitMEMLOCK LimitNOFILE OOMScoreAdjust PrivateNetwork MemoryDenyWriteExecute \
    CapabilityBoundingSet RuntimeDirectory SystemCallFilter; do
    grep -B3 "^$directive=" "$units/lanepackd.service" | grep -q '^#' ||
        fail "$directive says no reason"
done

if [ "$ran" -eq 0 ]; then
    exit 77
fi
