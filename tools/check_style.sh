#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_style.sh [TREE]: what docs/STYLE.md asks for and a script can see.
#
#   sources    at most 100 columns, no tabs, no space at the end of a line, an SPDX line on top
#   C family   no // comments (they mean unfinished); heap calls only in base/alloc.c (tests and
#              benches may: they also free what other libraries hand out)
#   any text   no word that says a thing is unfinished, no folder of one machine
#   names      no two source files of one name, so that "conn.c:120" in a log is enough
# Ends with 0 when all is well, 1 with a line per finding, 2 on bad usage.
set -u -o pipefail

if [ $# -gt 1 ]; then
    echo "usage: check_style.sh [TREE]" >&2
    exit 2
fi
tree=${1:-$(dirname "$0")/..}
cd "$tree" || exit 2
export LC_ALL=C.UTF-8

readonly C_FAMILY='\.(c|h|cc|cpp|hpp|cu|cuh|def)$'
readonly PROGRAMS='(^|/)CMakeLists\.txt$|^(test|quickstart|\.ci/run)$'
readonly SOURCE="\.(sh|py|cmake)$|$C_FAMILY|$PROGRAMS"
readonly TEXT="\.(md|txt|json|in|map|service|socket|conf)$|$SOURCE"

files=$(find . \( -path ./build -o -path ./shared -o -name .git -o -name __pycache__ \) -prune \
    -o -type f -printf '%P\n' | sort)

# of PATTERN: the files whose path matches, each ended by a zero byte.
of() {
    printf '%s\n' "$files" | grep -E "$1" | tr '\n' '\0'
}

# grep_in FILES-PATTERN REGEX TEXT: one finding per matching line.
grep_in() {
    of "$1" | xargs -0 -r grep -HnE -e "$2" | sed -E "s|^([^:]+:[0-9]+):.*|\1: $3|"
}

check_lines() {
    grep_in "$SOURCE" '^.{101}' 'longer than 100 columns'
    grep_in "$SOURCE" '[[:space:]]$' 'space at the end of the line'
    grep_in "$C_FAMILY" $'\t' 'tab'
    grep_in "$TEXT" '\b(TO[D]O|FIX[M]E|X[X]X|HAC[K])\b' 'unfinished by its own words'
    grep_in "$TEXT" '(^|[^[:alnum:]_.])/(wor[k]|roo[t]|farm)/' 'a folder of one machine'
}

check_spdx() {
    of "$SOURCE" | xargs -0 -r awk '
        FNR == 1 { if (NR > 1 && !seen) print last ":1: no SPDX line"; seen = 0; last = FILENAME }
        FNR <= 2 && /SPDX-License-Identifier: Apache-2\.0/ { seen = 1 }
        END { if (NR > 0 && !seen) print last ":1: no SPDX line" }'
    of "$SOURCE" | xargs -0 -r -I{} find {} -empty -printf '%p:1: empty file\n'
}

# Comments and literals are taken out line by line; what remains is code.
check_code() {
    of "$C_FAMILY" | xargs -0 -r awk '
        function code(line,    out, at) {
            out = ""
            while (line != "") {
                if (in_comment) {
                    at = index(line, "*/")
                    if (at == 0)
                        return out
                    line = substr(line, at + 2)
                    in_comment = 0
                } else if (match(line, /"|\047|\/\*|\/\//)) {
                    out = out substr(line, 1, RSTART - 1)
                    line = substr(line, RSTART)
                    if (substr(line, 1, 2) == "/*") {
                        in_comment = 1
                        line = substr(line, 3)
                    } else if (substr(line, 1, 2) == "//") {
                        print FILENAME ":" FNR ": // comment"
                        return out
                    } else if (match(line, /^("([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047)/)) {
                        out = out "_"
                        line = substr(line, RLENGTH + 1)
                    } else {
                        line = substr(line, 2)
                    }
                } else {
                    return out line
                }
            }
            return out
        }
        BEGIN {
            heap = "[^A-Za-z0-9_.>](malloc|calloc|realloc|reallocarray|free|strdup|strndup" \
                   "|asprintf|vasprintf|aligned_alloc|posix_memalign|getline|getdelim)[ ]*\\("
        }
        FNR == 1 { in_comment = 0 }
        {
            text = " " code($0)
            if (FILENAME != "base/alloc.c" && FILENAME !~ /^(tests|bench)\// &&
                text ~ heap)
                print FILENAME ":" FNR ": heap call outside base/alloc.c"
        }'
}

check_names() {
    printf '%s\n' "$files" | grep -E "$SOURCE" |
        grep -vE '(^|/)(CMakeLists\.txt|README\.md|__init__\.py|main\.c|[^/]*\.cmake)$' |
        awk -F / '{
            if ($NF in first)
                print $0 ":1: same name as " first[$NF]
            else
                first[$NF] = $0
        }'
}

findings=$(check_lines; check_spdx; check_code; check_names)
[ -z "$findings" ] || { printf '%s\n' "$findings"; exit 1; }
