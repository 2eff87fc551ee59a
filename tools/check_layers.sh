#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_layers.sh [TREE]: who may include whom.
#
# Reads every C, C++ and CUDA file of TREE (default: the repository), resolves each include and
# fails on a pair that the tables below do not allow, on a project include that leads nowhere, and
# on a cycle of includes within a folder. docs/ARCHITECTURE.md shows the same table; a new arrow
# changes both first. Ends with 0 when all is well, 1 with a line per finding, 2 on bad usage.
set -u -o pipefail

# Who may include what of ours. First column: a folder, or one file, which is then looked at beside
# its folder's row. Others: folders, single files, "public" (client/include) or "*" (anything).
readonly OURS='
base
proto                    base
codec                    base
store                    base codec proto/shm_layout.h
config                   base
cuda                     base codec/format.h
daemon                   base proto codec store config
client                   public base proto codec
client/link_local.c      store
client/backend_cuda.c    cuda/gpu.h cuda/gpu_launch.h
client/gpu_table.h       cuda/gpu_launch.h
cli                      public base codec store/load.h store/lpk_file.h store/outfile.h
cli                      store/save_npy.h
tools                    base/errors.def config/options.def proto/methods.def cli/verbs.def
tests                    *
bench                    *
'

# Taken away again from the row of a folder.
readonly NOT='
daemon                   store/load.h store/load_impl.h store/load_zip.h
daemon                   store/lpk_file.h store/save_npy.h store/outfile.h
'

# Libraries and corners of the system that only some may include; headers not named here are free.
# First column: a header, or a prefix that ends in *; others: folders or files.
readonly LIBRARIES='
jansson.h                proto config daemon client cli store/load_safetensors.c tests bench
uv.h                     daemon tests bench
xxhash.h                 codec tests bench
zip.h                    store/load_zip.c tests bench
cuda.h                   tests bench
cuda*                    cuda/gpu_port.h tests bench
criterion/*              tests
sys/socket.h             base daemon client tests bench
sys/un.h                 base daemon client tests bench
netinet/*                daemon tests bench
pthread.h                base codec/ops.c store cuda daemon client cli tests bench
'

# The public header compiles anywhere because it needs only these.
readonly PUBLIC='stddef.h stdint.h'

if [ $# -gt 1 ]; then
    echo "usage: check_layers.sh [TREE]" >&2
    exit 2
fi
tree=${1:-$(dirname "$0")/..}
cd "$tree" || exit 2

list_files() {
    find . \( -path ./build -o -path ./shared -o -name .git \) -prune -o -type f -printf '%P\n' |
        LC_ALL=C sort
}

# One line per include: FILE <tab> LINE <tab> " or < <tab> TARGET
list_includes() {
    list_files | grep -E '\.(c|h|cc|cpp|hpp|cu|cuh|def|in)$' | tr '\n' '\0' |
        xargs -0 -r grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' |
        sed -E -e 's/^([^:]+):([0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*/\1\t\2\t/' \
            -e 's/(["<])([^">]+)[">].*$/\1\t\2/'
}

edges=$(mktemp) || exit 2
trap 'rm -f "$edges"' EXIT

findings=$(awk -F '\t' -v ours="$OURS" -v not="$NOT" -v libraries="$LIBRARIES" \
    -v public="$PUBLIC" -v edges="$edges" '
    function table(text, rows,    lines, n, i, words, m, j) {
        n = split(text, lines, "\n")
        for (i = 1; i <= n; i++) {
            m = split(lines[i], words, " ")
            for (j = 1; j <= m; j++)
                rows[words[1]] = rows[words[1]] " " (j > 1 ? words[j] : "")
            if (m > 0)
                rows[words[1]] = rows[words[1]] " "
        }
    }
    function has(row, word) { return index(row, " " word " ") > 0 }
    function folder(path) {
        if (path ~ /^client\/include\//)
            return "public"
        return index(path, "/") ? substr(path, 1, index(path, "/") - 1) : "."
    }
    function own_dir(path) { sub(/[^\/]*$/, "", path); return path }
    function say(text) { print $1 ":" $2 ": " text }

    # Where the include leads: a path of ours, "" for the system, "?" for nowhere.
    function resolve(file, form, target,    dir) {
        if (target ~ /^lanepack\//)
            return ("client/include/" target) in exists ? "client/include/" target : "?"
        if (form == "<")
            return ""
        if (target in exists)
            return target
        # Tests and benches may name a neighbour alone, or one in the folder above theirs;
        # everything else is written from the root.
        if (folder(file) !~ /^(tests|bench)$/)
            return "?"
        dir = own_dir(file)
        if ((dir target) in exists)
            return dir target
        sub(/[^\/]*\/$/, "", dir)
        return (dir target) in exists ? dir target : "?"
    }
    function allowed_ours(file, target,    from, to, row) {
        from = folder(file); to = folder(target)
        if (from == to && from != "public")
            return 1
        if (has(not_rows[from], target))
            return 0
        row = our_rows[from] our_rows[file]
        return has(row, to) || has(row, target) || has(row, "*")
    }
    function check_ours(file, target) {
        if (!(folder(file) in our_rows) && folder(file) != "public")
            say("folder " folder(file) " is not in the include table")
        else if (!allowed_ours(file, target))
            say(folder(file) " may not include " target)
        else if (folder(file) == folder(target))
            print file, target > edges
    }
    function check_system(file, target,    name, prefix, found) {
        if (folder(file) == "public" && !has(" " public " ", target))
            say("the public header may not include <" target ">")
        if (target in library_rows)
            found = library_rows[target]
        else
            for (name in library_rows) {
                prefix = name
                if (sub(/\*$/, "", prefix) && index(target, prefix) == 1)
                    found = library_rows[name]
            }
        if (found != "" && !has(found, folder(file)) && !has(found, file))
            say(folder(file) " may not include <" target ">")
    }
    BEGIN {
        table(ours, our_rows); table(not, not_rows); table(libraries, library_rows)
        OFS = "\t"
    }
    FILENAME == "-" && NF == 1 { exists[$1] = 1; next }
    {
        to = resolve($1, $3, $4)
        if (to == "?")
            say("\"" $4 "\" leads nowhere; includes are written from the root")
        else if (to == "")
            check_system($1, $4)
        else
            check_ours($1, to)
    }' - < <(list_files; list_includes))

# tsort names the files of each loop on its standard error.
cycles=$(tr '\t' '\n' <"$edges" | tsort 2>&1 >/dev/null | sed 's/^tsort: //')
loops=$(awk -F '\t' '$1 == $2 { print $1 ": includes itself" }' "$edges")

for part in "$findings" "$cycles" "$loops"; do
    [ -n "$part" ] && printf '%s\n' "$part"
done
[ -z "$findings$cycles$loops" ]
