#!/bin/sh
# The core decides; it does not allocate, read a clock, print, or touch the world. This reads the symbols that its
# library takes from elsewhere, and fails on any that is neither ours nor on a short list of pure ones.
# SPDX-License-Identifier: Apache-2.0
#
#   test_purity.sh NM ARCHIVE            the check
#   test_purity.sh --notices NM CC AR    sees that the check notices each forbidden kind
set -eu

# What the core may take from the C library: bytes, and nothing that allocates, waits, or depends on the locale.
pure='mem(cpy|move|set|cmp|chr|rchr|mem)|str(len|cmp|ncmp|chr|rchr|nlen)|bsearch|abs|__(assert_fail|stack_chk_fail)'
# What compilers and sanitizers put in by themselves.
compiler='__(asan|ubsan|tsan|msan|lsan|sanitizer|gcov|llvm|sancov)_.*|__(u?div|u?mod|mul|mulo|ash|lsh|u?divmod)(t|d)i[345].*'
compiler="$compiler|__(mem(cpy|move|set)|str.*)_chk|_GLOBAL_OFFSET_TABLE_|__start_.*|__stop_.*|_?_?tls_.*|__sanitizer.*"

check() {
    nm=$1 archive=$2
    [ -s "$archive" ] || { echo "$archive: no library"; return 1; }
    defined=$("$nm" --defined-only "$archive" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u)
    impure=$("$nm" -u "$archive" 2>/dev/null | awk '$1 == "U" || $1 == "w" { print $2 }' | sed 's/@.*//' | sort -u |
        grep -Ev "^(rr_[a-z0-9_]+|$pure|$compiler)\$" || true)
    for symbol in $impure; do
        echo "$defined" | grep -qx "$symbol" || { echo "$archive: the core must not use $symbol"; bad=1; }
    done
    [ -z "${bad:-}" ]
}

# One object for each forbidden symbol, put into a library of its own.
notices() {
    nm=$1 cc=$2 ar=$3
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    make_library "memcpy" && check "$nm" "$folder/lib.a" || { echo "memcpy is pure"; return 1; }
    for symbol in malloc free calloc realloc aligned_alloc time clock_gettime gettimeofday nanosleep printf fprintf \
        snprintf vsnprintf sprintf puts fopen fwrite open read write socket connect send getenv setlocale strtod \
        qsort rand pthread_mutex_lock exit stderr errno_location __errno_location localtime strdup; do
        make_library "$symbol"
        if check "$nm" "$folder/lib.a" >/dev/null; then
            echo "$symbol in the core was not noticed"
            return 1
        fi
    done
}

make_library() {
    rm -f "$folder/lib.a"
    printf 'void %s(void);\nvoid rr_probe(void);\nvoid rr_probe(void) { %s(); }\n' "$1" "$1" >"$folder/probe.c"
    "$cc" -w -fno-builtin -c "$folder/probe.c" -o "$folder/probe.o"
    "$ar" rc "$folder/lib.a" "$folder/probe.o"
}

if [ "$1" = --notices ]; then
    shift
    notices "$@"
    echo "each forbidden symbol is noticed"
else
    check "$@"
    echo "$2 is pure"
fi
