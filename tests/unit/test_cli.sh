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
expect 0 out '"problems":[]' check --json -c good.yaml
expect 74 out "nosuch.yaml: error: cannot be opened: No such file" check -c nosuch.yaml
if [ -e /dev/full ] && "$program" help >/dev/full 2>err; then
    echo "a full disk was not noticed"
    failed=1
fi
grep -q "standard output failed" err || { echo "a full disk was not told"; failed=1; }
exit $failed
