#!/bin/bash
# librr as it is installed: every header stands for itself, and a program from outside that knows nothing but rr/rr.h and
# `pkg-config rr` runs with the shared and the static library, in memory and on a Redis server of its own.
#
#   test_embed.sh CMAKE BUILD_FOLDER COMPILER [SANITIZERS]
# SPDX-License-Identifier: Apache-2.0
set -eu
PATH=$PATH:/usr/sbin
cmake=$1 build=$2 compiler=$3 sanitizers=${4:-}
source=$(cd "$(dirname "$0")" && pwd)
command -v redis-server >/dev/null && command -v redis-cli >/dev/null || exit 77

folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill "$server"; wait "$server" || :; }; rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    echo "$*"
    exit 1
}

"$cmake" --install "$build" --prefix "$folder/installed" >install.log || { cat install.log; exit 1; }
rr_pc=$(find installed -name rr.pc)
[ -n "$rr_pc" ] || fail "no rr.pc is installed"
PKG_CONFIG_PATH=$folder/$(dirname "$rr_pc")
libraries=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH
[ "reconciler $(pkg-config --modversion rr)" = "$(installed/bin/reconciler --version)" ] ||
    fail "rr.pc says $(pkg-config --modversion rr), the program says $(installed/bin/reconciler --version)"

# As its own project builds: its warnings are its own business, but none may come from our headers.
read -ra flags <<<"-std=c11 -Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags rr)"
[ -z "$sanitizers" ] || flags+=("-fsanitize=$sanitizers")

for header in installed/include/rr/*.h; do
    echo "#include <rr/$(basename "$header")>" >alone.c
    "$compiler" "${flags[@]}" -fsyntax-only alone.c || fail "$(basename "$header") does not stand for itself"
done

cp "$source/embed.c" .
read -ra shared <<<"$(pkg-config --libs rr)"
read -ra static <<<"$(pkg-config --libs --static rr)"
"$compiler" "${flags[@]}" embed.c "${shared[@]}" "-Wl,-rpath,$libraries" -o with-shared
"$compiler" "${flags[@]}" embed.c "${static[@]/#-lrr/-l:librr.a}" -o with-static
ldd with-shared | grep -q "$libraries/librr.so" || fail "with-shared does not use the shared library"
! ldd with-static | grep -q librr || fail "with-static uses the shared library"

window='"business_key":"line-7","metric_version":"v1","window":{"start":"2024-01-01T10:00:00Z","end":"2024-01-01T10:01:00Z"}'
cat >records.jsonl <<EOF
{$window,"result_version":1,"value":2}
{$window,"result_version":2,"value":3}
{$window,"result_version":2,"value":3}
{$window,"result_version":1,"value":2}
{$window,"value":5}
EOF
installed/bin/reconciler encode records.jsonl >records

cat >expected <<'EOF'
APPLIED  stored
APPLIED  stored
DUPLICATE  stored
STALE  stored
REFUSED version_missing stored dead letter
EOF
cat >others <<'EOF'
input 0: 2 records, 0 skipped, 1 dead letters, stored
record 0: APPLIED 
record 1: REFUSED window_misaligned
input 1: 0 records, 1 skipped, 0 dead letters, stored
EOF
see() {
    "./$1" "$2" records >out || fail "$1 $2: exit code $?"
    tail -n 4 out | cmp - others || { cat out; fail "$1 $2: other answers to messages of another form"; }
    head -n -4 out >own
    mv own out
    head -n -1 out | cmp - expected || { cat out; fail "$1 $2: other answers"; }
    tail -n 1 out | grep -q '^{"state":"present","measures":{"value":3},"version":2,' || { cat out; fail "$1 $2: another result"; }
}

see with-shared memory:
see with-static memory:

socket=$folder/redis.sock
redis-server --port 0 --unixsocket "$socket" --dir "$folder" --save '' --appendonly no >redis.log 2>&1 &
server=$!
for ((tries = 0; tries < 1200; tries++)); do
    [ "$(redis-cli -s "$socket" PING 2>/dev/null)" != PONG ] || break
    sleep 0.05
done
for program in with-shared with-static; do
    redis-cli -s "$socket" FLUSHALL >flushed
    see $program "unix://$socket"
    redis-cli -s "$socket" GET 'rr:{parts:line-7}:v1:1704103200000000-1704103260000000' | cmp - <(tail -n 1 out) ||
        fail "$program: readers of Redis see something else"
    [ "$(redis-cli -s "$socket" XLEN 'rr:log:{parts}')" = 2 ] || fail "$program: the stale and the refused record are not told"
    # Handed over again, nothing is APPLIED any more.
    "./$program" "unix://$socket" records | grep -c 'APPLIED' >again || :
    [ "$(cat again)" = 0 ] || fail "$program: what is taken in again has an effect"
done

kill "$server"
wait "$server" || :
server=
code=0
./with-shared "unix://$socket" records >out 2>err || code=$?
[ $code = 69 ] && grep -q '^UNAVAILABLE: .*redis.sock' err || { cat out err; fail "without Redis: exit code $code"; }
