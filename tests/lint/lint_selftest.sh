#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint_selftest.sh layers|style: the checks of tools/ find what they are there to find.
# Each case makes a small tree with one fault and expects the check to fail and to name it.
set -u -o pipefail

tools=$(cd "$(dirname "$0")/../../tools" && pwd) || exit 2
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
failed=0

# put PATH LINE...: a file of these lines, with the SPDX line that style asks for.
put() {
    local path=$tree/$1
    shift
    mkdir -p "$(dirname "$path")"
    { echo '/* SPDX-License-Identifier: Apache-2.0 */' && printf '%s\n' "$@"; } >"$path"
}

fresh() {
    rm -rf "${tree:?}"/*
    put base/error.h 'int lp_error_set(void);'
    put store/load.h 'int lp_load(void);'
    put store/store.h '#include "base/error.h"' 'int lp_store(void);'
    put daemon/conn.c '#include "store/store.h"' '#include <uv.h>' 'int lp_conn(void);'
}

# expect CHECK good|TEXT: it accepts the tree, or refuses it and says TEXT.
expect() {
    local output rc
    output=$("$tools/check_$1.sh" "$tree" 2>&1)
    rc=$?
    if [ "$2" = good ] && [ $rc -eq 0 ] && [ -z "$output" ]; then
        return
    fi
    if [ "$2" != good ] && [ $rc -eq 1 ] && grep -qF -- "$2" <<<"$output"; then
        return
    fi
    echo "expected from check_$1: $2; rc $rc and:"
    echo "$output"
    failed=1
}

layers() {
    fresh
    expect layers good
    put base/log.h '#include "store/store.h"'
    expect layers 'base/log.h:2: base may not include store/store.h'
    fresh
    put daemon/jobs.c '#  include "store/load.h"'
    expect layers 'daemon may not include store/load.h'
    fresh
    put store/pool.c '#include <uv.h>'
    expect layers 'store may not include <uv.h>'
    fresh
    put store/pool.c '#include <sys/socket.h>'
    expect layers 'store may not include <sys/socket.h>'
    fresh
    put store/pool.c '#include "store/chunk.h"'
    expect layers 'store/pool.c:2: "store/chunk.h" leads nowhere'
    fresh
    put store/pool.c '#include "load.h"'
    expect layers '"load.h" leads nowhere; includes are written from the root'
    fresh
    put store/a.h '#include "store/b.h"'
    put store/b.h '#include "store/c.h"'
    put store/c.h '#include "store/a.h"'
    expect layers 'input contains a loop'
    fresh
    put store/a.h '#include "store/a.h"'
    expect layers 'store/a.h: includes itself'
    fresh
    put client/gather.c '#include "store/store.h"'
    put client/link_local.c '#include "store/store.h"'
    expect layers 'client/gather.c:2: client may not include store/store.h'
    fresh
    put client/link_local.c '#include "store/store.h"'
    expect layers good
    put client/include/lanepack/lanepack.h '#include <stdio.h>'
    expect layers 'the public header may not include <stdio.h>'
    fresh
    put stray/a.c '#include "base/error.h"'
    expect layers 'folder stray is not in the include table'
    fresh
    put tests/unit/test_store.c '#include "store/load.h"' '#include <criterion/criterion.h>'
    put tests/unit/near.h 'int near;'
    put tests/unit/test_near.c '#include "near.h"'
    expect layers good
}

style() {
    local wide
    wide=$(printf 'x%.0s' {1..101})
    fresh
    put base/text.c '/* http://a */ const char *s = "//"; /* two' '// lines */ char c = '\''"'\'';'
    expect style good
    put base/text.c 'int a; // later'
    expect style 'base/text.c:2: // comment'
    fresh
    put base/text.c "int $wide;"
    expect style 'base/text.c:2: longer than 100 columns'
    fresh
    put base/text.c 'int a; '
    expect style 'base/text.c:2: space at the end'
    fresh
    put base/text.c 'char *p = malloc(3);'
    expect style 'base/text.c:2: heap call outside base/alloc.c'
    fresh
    put base/text.c 'x->free(p); lp_mem_free(p); /* free(p) */ s = "free(p)";'
    put base/alloc.c 'void *p = malloc(3);'
    expect style good
    put base/text.c "/* TO""DO */"
    expect style 'base/text.c:2: unfinished by its own words'
    fresh
    put base/text.c "char *p = \"/ro""ot/x\";"
    expect style 'base/text.c:2: a folder of one machine'
    fresh
    put base/store.h 'int other;'
    expect style 'store/store.h:1: same name as base/store.h'
    fresh
    echo 'int a;' >"$tree/base/text.c"
    expect style 'base/text.c:1: no SPDX line'
    fresh
    : >"$tree/base/text.c"
    expect style 'base/text.c:1: empty file'
    fresh
    put base/text.c 'int a;' && echo 'int b;' >"$tree/base/zz.c"
    expect style 'base/zz.c:1: no SPDX line'
}

case ${1-} in
layers | style) "$1" ;;
*)
    echo "usage: lint_selftest.sh layers|style" >&2
    exit 2
    ;;
esac
exit $failed
