#!/bin/sh
# The frame of the command line: help, exit codes, what goes to standard output and what to standard error.
#
#   test_cli.sh PROGRAM VERSION PLUGINS      PLUGINS: the folder of the shared objects
# SPDX-License-Identifier: Apache-2.0
set -eu
program=$1 version=$2 plugins=$3
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

# Mappings: `check` decodes the examples that stand beside them.
cat >decode.yaml <<'EOF'
    routes:
      - subject: acme.*
        contract: orders
        decode:
          json: {}
          skip: {empty: true}
          each: rows
          record:
            business_key: [{subject: 2}, id]
            metric_version: {const: v1}
            window: {start: {path: open, unit: ms}, length: 1m}
            version: {epoch: {header: Attempt}, number: {path: pane, add: 1}}
            value: n
          examples:
            - {message: rows.json, subject: acme.north, headers: {Attempt: 3}, records: rows.jsonl}
            - {message: empty, subject: acme.north}
EOF
sed -e '/dead_letters/r decode.yaml' -e '/^    contract: orders/d' good.yaml >mapped.yaml
echo '{"rows":[{"id":"a","open":1704103200000,"pane":0,"n":5},{"id":"b","open":1704103200000,"pane":1,"n":6}]}' >rows.json
: >empty
cat >rows.jsonl <<'EOF'
{"business_key":"north/a","window":{"start":"2024-01-01T10:00:00Z","end":"2024-01-01T10:01:00Z"},"metric_version":"v1","result_version":{"epoch":3,"number":1},"value":5}
{"business_key":"north/b","window":{"start":1704103200000000,"end":1704103260000000},"metric_version":"v1","result_version":{"epoch":3,"number":2},"value":"6"}
EOF
expect 0 out "mapped.yaml: ok, 1 contract, 1 source" check -c mapped.yaml
sed 's/"value":5/"value":50/' rows.jsonl >other.jsonl
sed 's/rows.jsonl/other.jsonl/' mapped.yaml >other.yaml
expect 78 out 'other.yaml:22:15: error: record 1 is {"business_key":"north/a"' check -c other.yaml
sed 1d rows.jsonl >other.jsonl
expect 78 out "other.yaml:22:15: error: the message gives 2 records, and 1 are expected" check -c other.yaml
sed 's/value: n/valu: n/' mapped.yaml >other.yaml
expect 78 out "other.yaml:20:13: error: unknown key 'valu' in record; did you mean 'value'?" check -c other.yaml
expect 78 out "contract 'orders' has a measure 'value', and nothing here gives it" check -c other.yaml
sed 's/subject: 2/subject: 3/' mapped.yaml >other.yaml
expect 78 out "subjects of 'acme.*' have no token 3" check -c other.yaml
sed 's/length: 1m/end: open/' mapped.yaml >other.yaml
expect 78 out "record 1: window.end, from 'open': is 1704103200000; it has to be a text; a number needs" check -c other.yaml
expect 0 out '"problems":[]' check --json -c good.yaml
expect 74 out "nosuch.yaml: error: cannot be opened: No such file" check -c nosuch.yaml
# A configuration to start from, of a file.
awk 'BEGIN { for (k = 0; k < 300; k++) printf "{\"id\":\"%s\",\"open\":%d,\"close\":%d,\"ver\":%d,\"n\":%d}\n",
    k % 2 ? "a" : "b", 1704103200 + int(k / 2) % 10 * 60, 1704103260 + int(k / 2) % 10 * 60, int(k / 20) + 1, k % 7 }' >rows.jsonl
expect 0 out "number: ver   # 20 of 20 cells with repeats: grows with each repeat" suggest --file rows.jsonl
expect 0 out "from a sample of 50 messages" suggest --file rows.jsonl --count 50
"$program" suggest --file rows.jsonl >suggested.yaml
expect 78 out "suggested.yaml:3:8: error: 'store' must begin with" check -c suggested.yaml
sed -e 's/^store: TODO/store: memory/' -e 's,url: TODO,url: nats://a:1,' -e 's/stream: TODO/stream: S/' suggested.yaml >filled.yaml
expect 0 out "filled.yaml: ok, 1 contract, 1 source" check -c filled.yaml
printf '1\n2\n3\n' >numbers
expect 65 err "3 messages were read, and none of them is a JSON object: the first is no JSON object" suggest --file numbers
expect 74 err "nosuch: No such file" suggest --file nosuch
expect 64 err "--url and --stream are needed, or --file" suggest
expect 64 err "--descriptor-set and --message belong together" suggest --file rows.jsonl --message M
expect 64 err "--count is a number from 1 to 10000, not '0'" suggest --file rows.jsonl --count 0
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
for command in run verify rewind rebuild preflight streams publish decode; do
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
expect 64 err "has a blank in its name" publish -c memory.yaml --raw -s a.b --header "a b:c"
expect 64 err "--lines or --delimited, not both" publish -c memory.yaml --raw -s a.b --lines --delimited
expect 64 err "are for --raw" publish -c memory.yaml --header a:b
expect 64 err "'two' is one operand too many" publish -c memory.yaml one two
expect 69 err "127.0.0.1:1" rewind -c away.yaml --to-start
expect 69 err "127.0.0.1:1" decode -c away.yaml
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

# ---- messages of another form: decode, and apply --config ----

# same FILE: standard output of the last command is the file.
same() {
    cmp -s out "$1" || { echo "another output than $1:"; diff "$1" out; failed=1; }
}

sed -e 's/mode: cumulative/&\n    window: {kind: tumbling, size: 1m}/' -e 's/skip: {empty: true}/skip: {kind: BEAT, empty: true}/' \
    -e 's/            value: n/            op: {path: op, values: {"-U": SKIP}, default: ASSERT}\n&/' \
    mapped.yaml >foreign.yaml
cat >foreign.lines <<'EOF'
{"rows":[{"id":"a","open":1704103200000,"pane":1,"n":5},{"id":"a","open":1704103200000,"pane":0,"n":4}]}
{"kind":"BEAT"}

{"rows":[{"op":"-U"},{"id":"c","open":1704103200001,"pane":0,"n":1},{"id":"c\u007f","pane":0,"n":1},{"id":"c","pane":"x"}]}
nonsense
EOF
cat >foreign.blocks <<'EOF'
foreign.lines 1: acme.north, stored 2024-01-01T10:01:00Z, 104 bytes
  header Attempt: 3
  record 1 of 2: admitted by orders
    {"business_key":"north/a","window":{"start":"2024-01-01T10:00:00Z","end":"2024-01-01T10:01:00Z"},"metric_version":"v1","result_version":{"epoch":3,"number":2},"value":5}
  record 2 of 2: admitted by orders
    {"business_key":"north/a","window":{"start":"2024-01-01T10:00:00Z","end":"2024-01-01T10:01:00Z"},"metric_version":"v1","result_version":{"epoch":3,"number":1},"value":4}
foreign.lines 2: acme.north, stored 2024-01-01T10:01:00Z, 15 bytes
  header Attempt: 3
  skipped: 'kind' is 'BEAT', which `skip` names
foreign.lines 4: acme.north, stored 2024-01-01T10:01:00Z, 123 bytes
  header Attempt: 3
  record 1 of 4: skipped: `op` becomes SKIP
  record 2 of 4: REFUSED window_misaligned: the window 2024-01-01T10:00:00.001Z to 2024-01-01T10:01:00.001Z is 1m long and starts 1ms behind the grid; the contract says size 1m, offset 0s; the mapping takes window.start from 'open', window.length from const
    {"business_key":"north/c","window":{"start":"2024-01-01T10:00:00.001Z","end":"2024-01-01T10:01:00.001Z"},"metric_version":"v1","result_version":{"epoch":3,"number":1},"value":1}
  record 3 of 4: REFUSED window_missing: the record has no window; the mapping takes window.start from 'open', window.length from const
    {"business_key":"north/c\u007f","metric_version":"v1","result_version":{"epoch":3,"number":1},"value":1}
  record 4 of 4: REFUSED malformed: version.number, from 'pane': is 'x'; it has to be an integer that is from 0 to 18446744073709551615 after `add`
foreign.lines 5: acme.north, stored 2024-01-01T10:01:00Z, 8 bytes
  header Attempt: 3
  REFUSED malformed: not JSON (byte 1): lexical error: invalid string in json text.
4 messages: 2 records admitted, 4 refused, 2 skipped
EOF
set -- -c foreign.yaml --lines --subject acme.north --header "Attempt: 3" --header Other:x
expect 1 out "2 records admitted" decode "$@" --stored-at 2024-01-01T10:01:00Z foreign.lines
grep -v 'header Other: x' out >shown && mv shown out
same foreign.blocks
expect 1 out '{"file":"foreign.lines","number":2,"subject":"acme.north","bytes":15,"records":[{"skipped":' decode "$@" --json foreign.lines
expect 1 out '"verdict":"REFUSED","reason":"malformed","text":"version.number, from' decode "$@" --json foreign.lines
expect 1 out '"contract":"orders","verdict":"admitted","record":{"business_key":"north/a",' decode "$@" --json foreign.lines
head -n 3 foreign.lines >good.lines
expect 0 out "2 messages: 2 records admitted, 0 refused, 1 skipped" decode "$@" good.lines
expect 0 err - decode "$@" good.lines
expect 1 out "REFUSED unrouted: " decode -c foreign.yaml --lines --subject other foreign.lines
printf '{"rows":[{"id":"a","open":1704103200000,"n":1}]}' >one
expect 1 out "one: no subject, 48 bytes" decode -c foreign.yaml one
expect 1 out "business_key, from 'subject 2': is absent" decode -c foreign.yaml one

# What --records prints, `apply` judges as `apply --config` judges the messages, but for what cannot be decoded.
sed -n '/^contracts/,$p' foreign.yaml >foreign-contract.yaml
for time in "" 2024-01-01T10:01:00Z 2024-01-20T00:00:00Z; do
    set -- --subject acme.north --header "Attempt: 3" ${time:+--stored-at "$time"}
    expect 1 err "2 records are left out" decode -c foreign.yaml "$@" --lines --records foreign.lines
    cp out foreign.records
    "$program" apply -c foreign-contract.yaml --explain --cells foreign.records >by-records
    expect 0 out '"verdict":"REFUSED","reason":"malformed"' apply --config foreign.yaml "$@" --explain --cells foreign.lines
    grep -v '"reason":"malformed"' out | sed "s/; the mapping takes [^\"]*//" >by-messages # the mapping says more
    cmp by-records by-messages || { cat by-records by-messages; failed=1; }
    [ "$(wc -l <by-records)" -ge 4 ] || { echo "too few verdicts"; failed=1; }
done
grep -q TOO_LATE by-records || { echo "the clock of --stored-at counts for nothing"; failed=1; }
[ "$(grep -c clock foreign.records)" = 1 ] || { echo "a clock line for each time, and no more"; failed=1; }
cat foreign.lines >two.lines
expect 0 out '{"verdict":"DUPLICATE"' apply --config foreign.yaml --subject acme.north --header Attempt:3 foreign.lines two.lines

# Our own form, as `encode` writes it: delimited, for routes without a mapping.
"$program" encode records.jsonl >own
cat own framing >cut
expect 0 out 'own 1: results.orders, ' decode -c good.yaml --subject results.orders --delimited own
expect 0 out '{"business_key":"a","window":{"start":"2024-01-01T10:00:00Z"' decode -c good.yaml --delimited --records own
expect 0 out '{"verdict":"APPLIED","alerts":[]}' apply --config good.yaml own
expect 65 err "cut: the record at byte" decode -c good.yaml --delimited cut
expect 65 out "1: no subject" decode -c good.yaml --delimited cut
expect 65 out '{"verdict":"APPLIED","alerts":[]}' apply --config good.yaml cut
head -c 1100000 /dev/zero | tr '\0' ' ' >large
expect 1 out "REFUSED limit_exceeded: " decode -c good.yaml large
expect 1 out "REFUSED limit_exceeded: the message has more than 1048576 bytes" decode -c foreign.yaml large

expect 64 err "--lines is for JSON" decode -c good.yaml --lines own
expect 64 err "--count is for messages of a stream" decode -c good.yaml --count 3 own
expect 64 err "--subject is for messages of a file" decode -c good.yaml --subject x
expect 64 err "either --count or --seq" decode -c good.yaml --count 3 --seq 1
expect 64 err "either --json or --records" decode -c good.yaml --json --records own
expect 64 err "either --delimited or --lines" decode -c good.yaml --delimited --lines own
for seq in 0 x 5-4 1-x -1 1- 18446744073709551616 1--2; do
    [ $seq = 1- ] || expect 64 err "--seq is A, A-B or A-" decode -c good.yaml --seq=$seq
done
for count in 0 x -1 100001 1x; do
    expect 64 err "--count is a number from 1 to 100000" decode -c good.yaml --count=$count
done
expect 64 err "--header is NAME:VALUE, not 'x'" decode -c foreign.yaml --header x one
expect 64 err "--stored-at is a time like" decode -c foreign.yaml --stored-at noon one
expect 64 err "no source named 'order'" decode -c foreign.yaml --source order one
expect 74 err "nosuch: No such file" decode -c foreign.yaml nosuch
expect 74 err "nosuch: No such file" apply --config foreign.yaml nosuch
expect 64 err "either --contract FILE" apply records.jsonl
expect 64 err "either --contract FILE" apply -c contract.yaml --config good.yaml records.jsonl
expect 64 err "--input does not go with --config" apply --config good.yaml --input json own
expect 64 err "--subject does not go with --contract" apply -c contract.yaml --subject x records.jsonl
expect 64 err "no route of source orders takes the subject 'other'" apply --config foreign.yaml --subject other one
expect 64 err "'b' is one operand too many" apply -c contract.yaml a b
sed 's/^    routes:/&\n      - {subject: a.b, contract: orders}/' foreign.yaml >routes.yaml
expect 64 err "source orders has 2 routes: say the subject" decode -c routes.yaml one
expect 0 out "own 1: a.b, " decode -c routes.yaml --subject a.b --delimited own
sed -n '/^  - name/,/^contracts/p' good.yaml | sed '/^contracts/,$d; s/name: orders/name: others/; s/reconciler/another/' >second
sed '/^sources/r second' good.yaml >sources.yaml
expect 64 err "has 2 sources: name one with --source" decode -c sources.yaml own
expect 0 out "own 1: no subject" decode -c sources.yaml --source others --delimited own

# ---- plugins and schemes ----

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
expect_printable "$shown: No such file" decode -c good.yaml "$hostile"
expect_printable "source named '$shown'" decode -c good.yaml --source "$hostile"
expect_printable ": $shown, 48 bytes" decode -c foreign.yaml --subject "$hostile" one
expect_printable "header $shown: $shown" decode -c foreign.yaml --header "$hostile:$hostile" one
expect_printable '"subject":"\u001b[2J' decode --json -c foreign.yaml --subject "$hostile" one
cp one "$hostile"
expect_printable "$shown: no subject" decode -c foreign.yaml "$hostile"
rm "$hostile"
hostile_text='\u001b[2J\r\u0007\u007f\u009b\u202e'
printf '{"rows":[{"id":"%s","open":1704103200000,"pane":0,"n":1}]}' "$hostile_text" >text
sed 's/"n":1/"n":"%s"/' text >format
printf "$(sed 's/\\/\\\\/g' format)" "$hostile_text" >wrong
for form in "" --json --records; do
    expect_printable '\u007f\u009b\u202e' decode $form -c foreign.yaml --subject acme.a text
    expect_printable '\u007f\u009b\u202e' decode $form -c foreign.yaml --subject acme.a wrong
done
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
