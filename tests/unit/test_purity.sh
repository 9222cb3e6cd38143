#!/bin/sh
# The core decides; it does not allocate, read a clock, print, or touch the world. This reads the symbols that its
# library takes from elsewhere, and fails on any that is neither ours nor on a short list of pure ones.
# SPDX-License-Identifier: Apache-2.0
#
#   test_purity.sh NM ARCHIVE            the check
#   test_purity.sh --notices NM CC AR    sees that the check notices each forbidden kind
set -eu

# What the core may take from the C library: bytes, and nothing that allocates, waits, or depends on the locale. (clang
# makes bcmp of a memcmp whose order nobody asks for.)
pure='mem(cpy|move|set|cmp|chr|rchr|mem)|str(len|cmp|ncmp|chr|rchr|nlen)|bsearch|abs|bcmp|__(assert_fail|stack_chk_fail)'
# Ours, from the base, that reach the heap or print.
impure_ours='rr_(buf_.*|fail|error_.*|log.*)'
# What compilers and sanitizers put in by themselves.
compiler='__(asan|ubsan|tsan|msan|lsan|sanitizer|gcov|llvm|sancov)_.*|__(u?div|u?mod|mul|mulo|ash|lsh|u?divmod)(t|d)i[345].*'
compiler="$compiler|__(mem(cpy|move|set)|str.*)_chk|_GLOBAL_OFFSET_TABLE_"

# The symbols that the library takes from elsewhere and must not, one a line.
forbidden() {
    nm=$1 archive=$2
    "$nm" --defined-only "$archive" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$folder/defined"
    "$nm" -u "$archive" 2>/dev/null | awk '$1 == "U" || $1 == "w" { print $2 }' | sed 's/@.*//' | sort -u |
        grep -vxFf "$folder/defined" >"$folder/taken" || true
    grep -E "^$impure_ours\$" "$folder/taken" || true
    grep -Ev "^(rr_[a-z0-9_]+|$pure|$compiler)\$" "$folder/taken" || true
}

check() {
    [ -s "$2" ] || { echo "$2: no library"; return 1; }
    forbidden "$@" >"$folder/bad"
    sed "s|^|$2: the core must not use |" "$folder/bad"
    [ ! -s "$folder/bad" ]
}

# A library that uses one of each kind, and one that uses only what is pure.
notices() {
    nm=$1 cc=$2 ar=$3
    bad='malloc free calloc realloc aligned_alloc time clock_gettime gettimeofday nanosleep printf fprintf snprintf
        vsnprintf sprintf puts fopen fwrite open read write socket connect send getenv setlocale strtod qsort rand
        pthread_mutex_lock exit __errno_location localtime strdup rr_buf_put rr_fail'
    make_library memcpy memcmp strlen rr_must_failed
    check "$nm" "$folder/lib.a"
    make_library $bad
    check "$nm" "$folder/lib.a" >/dev/null && { echo "a library of forbidden symbols passed"; return 1; }
    for symbol in $bad; do
        grep -qx "$symbol" "$folder/bad" || { echo "$symbol in the core was not noticed"; return 1; }
    done
}

make_library() {
    rm -f "$folder/lib.a"
    {
        for symbol; do echo "void $symbol(void);"; done
        echo "void rr_probe(void); void rr_probe(void) {"
        for symbol; do echo "$symbol();"; done
        echo "}"
    } >"$folder/probe.c"
    "$cc" -w -fno-builtin -c "$folder/probe.c" -o "$folder/probe.o"
    "$ar" rc "$folder/lib.a" "$folder/probe.o"
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ "$1" = --notices ]; then
    shift
    notices "$@"
    echo "each forbidden symbol is noticed"
else
    check "$@"
    echo "$2 is pure"
fi
