#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install_deps.sh SET...: the Debian packages that a fresh machine lacks.
#
#   build    what the product is built with
#   test     what the tests need on top of that
#   demo     what quickstart needs on top of build: a package that carries a real float table
#   generate what quickstart --generated needs instead
# Says what it will install before it does, and only does it as root or through sudo, with apt-get;
# elsewhere it names what is missing and ends with 1. With nothing missing it is silent and quick.
set -u -o pipefail

# Rows: SET PACKAGE KIND NAME. How to see that a package is there: a program on the path (cmd), a
# pkg-config module (pc), a module of Debian's own python3 (py), or an installed package (deb).
readonly PACKAGES='
build gcc cmd gcc
build g++ cmd g++
build cmake cmd cmake
build ninja-build cmd ninja
build pkg-config cmd pkg-config
build libuv1-dev pc libuv
build libjansson-dev pc jansson
build libxxhash-dev pc libxxhash
build libzip-dev pc libzip
test binutils cmd nm
test libcriterion-dev pc criterion
test python3-numpy py numpy
test shellcheck cmd shellcheck
test systemd cmd systemd-analyze
demo python3-jieba deb python3-jieba
generate python3 cmd python3
'

present() {
    case $1 in
    cmd) command -v "$2" >/dev/null ;;
    pc) pkg-config --exists "$2" 2>/dev/null ;;
    py) /usr/bin/python3 -c "import $2" 2>/dev/null ;;
    deb) dpkg-query -W -f '${Status}' "$2" 2>/dev/null | grep -q 'ok installed' ;;
    esac
}

missing=()
for wanted in "$@"; do
    case $wanted in
    build | test | demo | generate) ;;
    *)
        echo "usage: install_deps.sh build|test|demo|generate..." >&2
        exit 2
        ;;
    esac
    while read -r set package kind name; do
        [ "$set" = "$wanted" ] || continue
        present "$kind" "$name" || missing+=("$package")
    done <<<"$PACKAGES"
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
if ! type apt-get "${as_root[@]}" >/dev/null 2>&1; then
    echo "missing, please install: ${missing[*]}" >&2
    exit 1
fi
echo "installing with apt-get: ${missing[*]}"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
install() {
    "${as_root[@]}" apt-get update &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends "${missing[@]}"
}
if ! install >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    echo "apt-get could not install: ${missing[*]}" >&2
    exit 1
fi
