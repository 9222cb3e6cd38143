#!/bin/sh
# Each path that README's section "The code" names exists, and so does each link of the documents.
#
#   test_paths.sh ROOT         the check
#   test_paths.sh --notices    sees that it notices a path that is gone, and a section that names none
#
# A path is a folder or a file below the root, in the map or in backticks. In the map, a bare name of a source stands
# below the folder that its line, or one above it, begins with.
# SPDX-License-Identifier: Apache-2.0
set -eu

# The paths of the section, one a line.
named_paths() {
    sed -n '/^## The code$/,/^## License$/p' "$1" | awk '
        /^    [a-z]+\// { folder = $1; if (folder !~ /\/$/) sub(/[^\/]*$/, "", folder); print $1; $1 = "" }
        /^```|^$|^\|/ { folder = "" }
        folder != "" {
            while (match($0, /[a-z_]+\.[ch]/)) { print folder substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) }
            next
        }
        { line = $0
          while (match(line, /`[^` ]+`/)) {
              path = substr(line, RSTART + 1, RLENGTH - 2); line = substr(line, RSTART + RLENGTH)
              if (path ~ /^(bench|docs|examples|plugins|proto|src|tests|tools)\// && path !~ /[<>*]/) print path
          } }'
}

# The files that a document links to, as paths from the root.
links() {
    grep -o '](\([A-Za-z0-9_./-]*\))' "$1" | sed 's/^](//; s/)$//' | sed "s|^|$(dirname "$1")/|"
}

check() {
    root=$1 bad=0
    cd "$root"
    named_paths README.md >"$folder/paths"
    [ "$(wc -l <"$folder/paths")" -ge 5 ] || { echo "README.md, The code: names hardly any path"; bad=1; }
    while read -r path; do
        [ -e "$path" ] || { echo "README.md, The code: there is no $path"; bad=1; }
    done <"$folder/paths"
    for document in *.md docs/*.md; do
        [ -e "$document" ] || continue
        for path in $(links "$document" || true); do
            [ -e "$path" ] || { echo "$document: there is no $path"; bad=1; }
        done
    done
    [ $bad = 0 ]
}

# A small tree whose README is read from standard input.
make_tree() {
    rm -rf "$folder/tree"
    mkdir -p "$folder/tree/src/core" "$folder/tree/docs"
    touch "$folder/tree/src/core/a.c" "$folder/tree/src/core/b.h" "$folder/tree/docs/more.md"
    cat >"$folder/tree/README.md"
}

good='# x

`src/gone.c` is not in the section

## The code

    src/core/     a.c does this
                  and b.h that
    docs/         words

| question | file |
|---|---|
| why | `src/core/a.c`, [more](docs/more.md), `src/<kind>` and `rr_join` |

## License'

# notices TEXT CHANGE: with this change of the good README the check must fail and print the text.
notices() {
    printf '%s\n' "$good" | sed "$2" | make_tree
    if (check "$folder/tree") >"$folder/said"; then
        echo "not noticed: $1"
        exit 1
    fi
    grep -qF "$1" "$folder/said" || { echo "wanted: $1; said:"; cat "$folder/said"; exit 1; }
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ "$1" = --notices ]; then
    printf '%s\n' "$good" | make_tree
    (check "$folder/tree")
    notices 'there is no src/core/c.c' 's/a.c does/c.c does/'
    notices 'there is no src/core/c.h' 's/b.h that/c.h that/'
    notices 'there is no src/hull/' 's|src/core/  |src/hull/  |'
    notices 'there is no src/core/z.c' 's|`src/core/a.c`|`src/core/z.c`|'
    notices 'README.md: there is no ./docs/less.md' 's|docs/more|docs/less|'
    notices 'hardly any path' 's/^## The code/## The house/'
    echo "each missing path is noticed"
else
    check "$1"
    echo "each path is there"
fi
