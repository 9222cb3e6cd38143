#!/bin/sh
# The frame of the command line: help, exit codes, what goes to standard output and what to standard error.
#
#   test_cli.sh PROGRAM VERSION PLUGINS      PLUGINS: the folder of the shared objects
# SPDX-License-Identifier: Apache-2.0
set -eu
program=$1 version=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failed=0

# expect CODE STREAM TEXT argument...: TEXT must be in STREAM (out or err); "-": STREAM must be empty. The help of the
# command, the first argument, must list the code.
expect() {
    code=$1 stream=$2 text=$3
    shift 3
    got=0
    "$program" "$@" >out 2>err </dev/null || got=$?
    if [ "$got" != "$code" ]; then
        echo "reconciler $*: exit code $got, not $code"
        failed=1
    fi
    if { [ "$text" = - ] && [ -s "$stream" ]; } || { [ "$text" != - ] && ! grep -qF -- "$text" "$stream"; }; then
        echo "reconciler $*: '$text' is not in std$stream:"
        cat out err
        failed=1
    fi
    case ${1-} in
    '' | -* | chek) ;;
    *) listed "$1" "$got" ;;
    esac
}

# listed COMMAND CODE: the help of the command lists the exit code.
listed() {
    "$program" help "$1" | sed '1,/^Exit codes:/d' | grep -q "^ *$2  " || {
        echo "reconciler $1: ended with $2, which its help does not list"
        failed=1
    }
}

cat >good.yaml <<'EOF'
store: redis://127.0.0.1:6379
sources:
  - name: orders
    url: nats://127.0.0.1:4222
    stream: RESULTS
    consumer: reconciler
    dead_letters: dead.orders
    contract: orders
contracts:
  - name: orders
    mode: cumulative
    retention: 7d
EOF
sed 's/retention: 7d/retension: 7d/; s/stream:/strean:/' good.yaml >bad.yaml
sed '/retention/d' good.yaml >warn.yaml
sed -n '/^contracts/,$p' good.yaml >contract.yaml

expect 64 err "a command is missing; see reconciler --help"
expect 64 out -
expect 64 err "unknown command 'chek'; did you mean 'check'?" chek
expect 64 err "unknown option '--versoin'; did you mean '--version'?" --versoin
expect 0 out "reconciler $version" --version
[ "$(cat out)" = "reconciler $version" ] || { echo "--version is not that of CMake, $version"; failed=1; }
expect 0 out "Commands:" --help
expect 0 out "78  the configuration is wrong" --help
expect 0 out "--config FILE" check --help
expect 0 out "64  the command line is wrong" help check
expect 0 out "retention: DURATION|forever" help contract
expect 0 out "dead_letters: SUBJECT" help config
expect 64 err "did you mean 'config'?" help confg
expect 64 err "unknown option '--confi'; did you mean '--config'?" check --confi x
expect 64 err "--config needs a value: FILE" check --config
expect 64 err "--config is given twice" check -c a --config b
expect 64 err "--json takes no value" check --json=1
expect 64 err "'x' is one operand too many" check --config good.yaml x
expect 64 err "either --config FILE or --contract FILE" check
expect 0 out "good.yaml: ok, 1 contract, 1 source" check --config good.yaml
expect 0 err - check --config=good.yaml
expect 0 out "contract.yaml: ok, 1 contract" check --contract contract.yaml
expect 0 out "warn.yaml:10:5: warning: contract 'orders': retention is forever" check -cwarn.yaml
expect 78 out "bad.yaml:12:5: error: unknown key 'retension' in a contract; did you mean 'retention'?" check -c bad.yaml
expect 78 out "bad.yaml:5:5: error: unknown key 'strean' in a source; did you mean 'stream'?" check -c bad.yaml
expect 78 out '"ok":false,"contracts":1' check --json -c bad.yaml
expect 0 out '"problems":[]' check --json -c good.yaml
expect 74 out "nosuch.yaml: error: cannot be opened: No such file" check -c nosuch.yaml
long=$(printf '%3000s' | tr ' ' x)
expect 74 out "x: error: cannot be opened: File name too long" check -c "$long"
expect 74 out "x: error: cannot be opened: File name too long" check --contract "$long"

# ---- every command ends with codes that its help lists ----

cat >records.jsonl <<'EOF'
{"business_key":"a","metric_version":"v1","result_version":1,"value":2,"window":{"start":"2024-01-01T10:00:00Z","end":"2024-01-01T10:01:00Z"}}
EOF
printf '\377\377\377\377\377\377\377\377\377\377\377' >framing
echo nonsense >nonsense.jsonl
sed 's/^store:.*/store: memory/' good.yaml >memory.yaml
# Port 1 refuses: nobody listens there.
sed 's/6379/1/; s/4222/1/' good.yaml >away.yaml
sed '/mode:/d' contract.yaml >no-mode.yaml
commands=$("$program" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$commands" | wc -w)" -ge 12 ] || { echo "the help lists only: $commands"; failed=1; }
for command in $commands; do
    expect 64 err "unknown option '--nosuch'" "$command" --nosuch
    expect 0 out "Exit codes:" "$command" --help
    for code in 0 64 70 74; do
        listed "$command" $code
    done
    if [ -e /dev/full ]; then
        got=0
        "$program" "$command" --help >/dev/full 2>err || got=$?
        [ $got = 74 ] || { echo "$command --help: a full disk ended it with $got"; failed=1; }
    fi
done
for command in run verify rewind rebuild preflight streams publish; do
    expect 78 err "bad.yaml:5:5: error: unknown key 'strean'" $command -c bad.yaml
    expect 74 err "nosuch.yaml: error: cannot be opened" $command -c nosuch.yaml
done
expect 78 err "bad.yaml:5:5" get -c bad.yaml orders a
expect 74 err "cannot be opened" get -c nosuch.yaml orders a
expect 65 err "there is no such cell" get -c memory.yaml orders a
expect 64 err "no contract named 'order'" get -c memory.yaml order a
expect 69 err "127.0.0.1:1" get -c away.yaml orders a
for command in verify rebuild streams "publish -s results.orders"; do
    expect 69 err "127.0.0.1:1" $command -c away.yaml
done
expect 69 err "127.0.0.1:1" publish -c away.yaml --raw -s results.orders --header a:1 --header b:2 contract.yaml
expect 64 err "--raw needs --subject" publish -c memory.yaml --raw
expect 64 err "--raw needs --subject" publish -c memory.yaml --raw -s 'a.*'
expect 64 err "--header is NAME:VALUE" publish -c memory.yaml --raw -s a.b --header nothing
expect 64 err "--lines or --delimited, not both" publish -c memory.yaml --raw -s a.b --lines --delimited
expect 64 err "are for --raw" publish -c memory.yaml --header a:b
expect 64 err "'two' is one operand too many" publish -c memory.yaml one two
expect 69 err "127.0.0.1:1" rewind -c away.yaml --to-start
expect 69 out "unseen   store: " preflight -c away.yaml
expect 0 out '{"verdict":"APPLIED"' apply -c contract.yaml records.jsonl
expect 0 out '{"verdict":"REFUSED"' apply -c contract.yaml nonsense.jsonl
expect 64 err "--input is json or protobuf" apply -c contract.yaml --input xml records.jsonl
expect 65 err "framing: the record at byte 0" apply -c contract.yaml --input protobuf framing
expect 69 err "127.0.0.1:1" apply -c contract.yaml --store redis://127.0.0.1:1 records.jsonl
expect 74 err "nosuch.jsonl: No such file" apply -c contract.yaml nosuch.jsonl
expect 78 err "no-mode.yaml:2:5" apply -c no-mode.yaml records.jsonl
expect 65 err "1 lines are no records" encode nonsense.jsonl
expect 0 err "1 lines are no records" encode --keep-going nonsense.jsonl
expect 74 err "nosuch.jsonl: No such file" encode nosuch.jsonl

# ---- plugins and schemes ----

plugins=$3
good_plugin=$plugins/rr_store_memory.so
[ -e "$good_plugin" ] || { echo "$good_plugin is not built"; failed=1; }
# with_plugin NAME STORE URL ALERTS: a configuration that loads a plugin, so that its schemes are not known beforehand.
with_plugin() {
    sed "s|^store:.*|store: $2|; s|nats://[^ ]*|$3|" good.yaml >"$1"
    printf 'alerts: %s\nplugins: [%s]\n' "$4" "$good_plugin" >>"$1"
}
with_plugin plugin.yaml memory nats://127.0.0.1:1 "[log]"
with_plugin store.yaml "'valkey://u:secret@h'" nats://127.0.0.1:1 "[log]"
with_plugin source.yaml memory kafka://u:secret@h "[log]"
with_plugin channel.yaml memory nats://127.0.0.1:1 "[log, mail]"
with_plugin channel-map.yaml memory nats://127.0.0.1:1 "[{mail: {url: smtp://h}}]"
with_plugin several.yaml "'valkey://h'" kafka://h "[mail]"
sed 's|^plugins:.*|plugins: [no-such.so]|' plugin.yaml >missing.yaml
echo "not an object" >text.so
sed 's|^plugins:.*|plugins: [text.so]|' plugin.yaml >text.yaml
cp "$good_plugin" beside.so
sed 's|^plugins:.*|plugins: [beside.so]|' plugin.yaml >beside.yaml
expect 0 out "plugin.yaml: ok" check -c plugin.yaml
expect 0 out "beside.yaml: ok" check -c beside.yaml
expect 78 out "store.yaml:1:8: error: no store has the scheme 'valkey': there are memory, redis, unix; " check -c store.yaml
expect 78 out "source.yaml:4:10: error: no source has the scheme 'kafka': there are nats, tls; " check -c source.yaml
expect 78 out "channel.yaml:13:15: error: no alert channel has the scheme 'mail': there are log, nats; " check -c channel.yaml
expect 78 out "channel-map.yaml:13:11: error: no alert channel has the scheme 'mail'" check -c channel-map.yaml
expect 78 out "missing.yaml:14:11: error: plugin no-such.so: it cannot be loaded: ./no-such.so: cannot open" check -c missing.yaml
expect 78 out "text.yaml:14:11: error: plugin text.so: it cannot be loaded: " check -c text.yaml
expect 78 out '"line":1,"column":8,"severity":"error","text":"no store has' check --json -c several.yaml
expect 78 out "several.yaml:4:10: error: no source" check -c several.yaml
expect 78 out "several.yaml:13:10: error: no alert channel" check -c several.yaml
for file in store source channel missing text; do
    expect 78 err "$file.yaml:" run -c $file.yaml
done
for file in store source; do
    ! "$program" check -c $file.yaml | grep secret || { echo "check -c $file.yaml shows a password"; failed=1; }
done
expect 78 err "no store has the scheme 'valkey'" apply -c contract.yaml --store valkey://u:secret@h records.jsonl
! grep secret err || { echo "apply shows a password"; failed=1; }

# ---- what comes from outside is shown in printable text ----

# expect_printable TEXT argument...: the output is UTF-8 without control characters, and TEXT is in it.
expect_printable() {
    text=$1
    shift
    "$program" "$@" >out 2>err </dev/null || :
    [ "$1" != encode ] || : >out # protobuf is for programs
    cat out err >both
    if ! iconv -f UTF-8 -t UTF-8 both >/dev/null 2>&1 || LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' both; then
        echo "reconciler $1 lets these bytes through:"
        od -c both | head -40
        failed=1
    fi
    if ! grep -qF -- "$text" both; then
        echo "reconciler $1 does not show $text:"
        cat -v both
        failed=1
    fi
}

# ESC, CR, BEL, DEL, CSI as one character, a byte that is no UTF-8.
hostile=$(printf '\033[2J\r\a\177\302\233\377')
shown='\x1b[2J\x0d\x07\x7f\xc2\x9b\xff'
expect_printable "unknown command '$shown'" "$hostile"
expect_printable "unknown option '-$shown'" "-$hostile"
for command in $commands; do
    expect_printable "unknown option '--$shown'" "$command" "--$hostile"
    expect_printable "reconciler $command: " "$command" one "$hostile" three four "$hostile"
done
expect_printable "no help about '$shown'" help "$hostile"
for command in run verify rewind rebuild preflight streams publish check; do
    expect_printable "$shown: error: cannot be opened" $command -c "$hostile"
done
expect_printable "$shown: error: cannot be opened" get -c "$hostile" a b
expect_printable '\u001b[2J\u000d\u0007\u007f\u009b\\xff","ok":false' check --json -c "$hostile"
cp good.yaml "$hostile.yaml"
expect_printable "$shown.yaml: ok" check -c "$hostile.yaml"
expect_printable "business key $shown" get -c memory.yaml orders "$hostile"
expect_printable "no contract named '$shown'" get -c memory.yaml "$hostile" a
expect_printable "not '$shown'" get -c memory.yaml -w "$hostile" orders a
expect_printable "not '$shown'" preflight -c memory.yaml --expect-keys "$hostile"
expect_printable "no contract named '$shown'" verify -c memory.yaml -n "$hostile"
expect_printable "no source named '$shown'" rewind -c memory.yaml -s "$hostile" --to-start
expect_printable "$shown" publish -c memory.yaml -n "$hostile"
expect_printable "--input is json or protobuf, not '$shown'" apply -c contract.yaml --input "$hostile"
expect_printable "no store has the scheme of this URL" apply -c contract.yaml --store "$hostile:"
expect_printable "$shown: No such file" apply -c contract.yaml "$hostile"
expect_printable "$shown: No such file" encode "$hostile"
# In files: keys and values as YAML escapes, and bytes of the environment.
sed 's/^store:.*/"\\e[2J\\r\\a\\x7f\\x9b": x/' good.yaml >key.yaml
expect_printable "unknown key '\x1b[2J\x0d\x07\x7f\xc2\x9b'" check -c key.yaml
sed '3s/name: orders/name: ${env:HOSTILE}/; s/6379/1/; s/4222/1/' good.yaml >named.yaml
HOSTILE=$hostile
export HOSTILE
for command in verify rebuild streams preflight; do
    expect_printable "127.0.0.1:1" $command -c named.yaml
done
expect_printable "source $shown" preflight -c named.yaml
expect_printable '\u001b[2J' preflight --json -c named.yaml
printf '{"business_key":"\033\377"}\n' >hostile.jsonl
expect_printable '"verdict":"REFUSED"' apply --explain -c contract.yaml hostile.jsonl
expect_printable "lines are no records" encode --keep-going hostile.jsonl

if [ -e /dev/full ] && "$program" help >/dev/full 2>err; then
    echo "a full disk was not noticed"
    failed=1
fi
grep -q "standard output failed" err || { echo "a full disk was not told"; failed=1; }
exit $failed
