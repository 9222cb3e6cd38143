#!/bin/sh
# The frame of the command line: help, exit codes, what goes to standard output and what to standard error.
# SPDX-License-Identifier: Apache-2.0
set -eu
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failed=0

# expect CODE STREAM TEXT argument...: TEXT must be in STREAM (out or err); "-": STREAM must be empty.
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

expect 64 err "which command?"
expect 64 out -
expect 64 err "unknown command 'chek'; did you mean 'check'?" chek
expect 64 err "unknown option '--versoin'; did you mean '--version'?" --versoin
expect 0 out "reconciler " --version
expect 0 out "Commands:" --help
expect 0 out "78  the configuration is wrong" --help
expect 0 out "--config FILE" check --help
expect 0 out "64  the command line is wrong" help check
expect 0 out "retention: DURATION|forever" help contract
expect 0 out "dead_letters: SUBJECT" help config
expect 64 err "did you mean 'config'?" help confg
expect 64 err "unknown option '--confi'; did you mean '--config'?" check --confi x
expect 64 err "--config needs a value: FILE" check --config
expect 64 err "--config is there twice" check -c a --config b
expect 64 err "--json takes no value" check --json=1
expect 64 err "'x' is one too many" check --config good.yaml x
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
if [ -e /dev/full ] && "$program" help >/dev/full 2>err; then
    echo "a full disk was not noticed"
    failed=1
fi
grep -q "standard output failed" err || { echo "a full disk was not told"; failed=1; }
exit $failed
