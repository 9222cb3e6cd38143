#!/bin/bash
# Plugins built out of the tree, with the installed headers alone: a store, a source, an alert channel and a decoder, each
# with options of its own. `check` loads them, `run` works with them, and what is wrong is said with its place.
#
#   test_plugins.sh CMAKE BUILD_FOLDER COMPILER DECODE_WITH [SANITIZERS]
# SPDX-License-Identifier: Apache-2.0
set -eu
cmake=$1 build=$2 compiler=$3 decode_with=$4 sanitizers=${5:-}
source=$(cd "$(dirname "$0")" && pwd)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    echo "$*"
    exit 1
}

"$cmake" --install "$build" --prefix "$folder/installed" >install.log || { cat install.log; exit 1; }
program=$folder/installed/bin/reconciler

flags=(-Wall -Wextra -Werror -shared -fPIC -I"$folder/installed/include")
[ -z "$sanitizers" ] || flags+=("-fsanitize=$sanitizers")
for plugin in store_table source_file alert_file decoder_lines; do
    "$compiler" "${flags[@]}" "$source/plugins/$plugin.c" -o $plugin.so
done

# ---- with all four ----

mkdir etc
cat >contract.yaml <<'YAML'
contracts:
  - {name: orders, mode: cumulative, retention: 36500d, measures: {value: {type: int64}}}
YAML
cp contract.yaml etc/contract.yaml
cat >etc/good.yaml <<'YAML'
store:
  url: 'table:'
  options:
    file: ../table
    sync: false
contracts_file: contract.yaml
sources:
  - name: results
    url: 'file:'
    stream: RESULTS
    consumer: reconciler
    dead_letters: dead
    contract: orders
    options:
      file: ../records
      letters: ../letters
      spacing: 250ms
alerts:
  - file:
      options: {file: ../alerts}
plugins: [../store_table.so, ../source_file.so, ../alert_file.so, ../decoder_lines.so]
YAML
cat >etc/decode.yaml <<'YAML'
store: memory
contracts_file: contract.yaml
sources:
  - name: lines
    url: 'file:'
    stream: LINES
    consumer: reconciler
    dead_letters: dead
    routes:
      - subject: results
        contract: orders
        decode:
          plugin: lines
          options: {measure: value, separator: ','}
    options: {file: ../lines, letters: ../letters, lines: true}
plugins: [../source_file.so, ../decoder_lines.so]
YAML
window='"window":{"start":"2024-01-01T10:00:00Z","end":"2024-01-01T10:01:00Z"},"metric_version":"v1"'
cat >records.jsonl <<JSONL
{"business_key":"line-7",$window,"result_version":1,"value":2}
{"business_key":"line-7",$window,"result_version":2,"value":3}
{"business_key":"line-8",$window,"result_version":4,"value":5}
{"business_key":"line-7",$window,"result_version":2,"value":3}
{"business_key":"line-7",$window,"result_version":1,"value":2}
{"business_key":"line-8",$window,"result_version":4,"value":6}
{"business_key":"line-8",$window,"value":5}
JSONL
"$program" encode records.jsonl >records

"$program" check -c etc/good.yaml >out || { cat out; fail "check -c good.yaml: exit code $?"; }
[ "$(cat out)" = "etc/good.yaml: ok, 1 contract, 1 source" ] || { cat out; fail "check -c good.yaml says something else"; }
[ ! -e table ] || fail "check opened the store"
"$program" run -c etc/good.yaml --until-idle 2>log || { cat log; fail "run: exit code $?"; }
grep -q 'left: 7 delivered (0 again), 7 acknowledged, 0 skipped, 1 dead letters, .* APPLIED 3 DUPLICATE 1 ABSORBED 0 STALE 1 CONFLICT 1 TOO_LATE 0 REFUSED 1;' log ||
    { cat log; fail "run says other totals"; }

# The cells are those that `apply` makes of the same records, in the store that the program itself has.
"$program" apply -c contract.yaml --cells records.jsonl | tail -n 2 | sort >expected
for key in line-7 line-8; do
    "$program" get -c etc/good.yaml orders $key >>cells || fail "get $key: exit code $?"
done
sort cells | diff expected - || fail "the cells are others than those of apply"
[ "$(sed "s|^dead.* bytes$|a letter|" letters)" = "a letter" ] || { cat letters; fail "another dead letter"; }
for kind in contract_violation equivocation stale_overwrite; do
    grep -q "$kind" alerts || { cat alerts; fail "no alert says $kind"; }
done

# ---- the decoder ----

cat >lines <<'LINES'
line-7,1704103200000000,1704103260000000,1,2
# a heartbeat
line-8,1704103200000000,1704103260000000,3,4 line-9,1704103200000000,1704103260000000,5,6
line-8;1704103200000000;1704103260000000;3;4
LINES
cat >expected <<JSONL
{"decoder":"lines","revision":"1","options":{"separator":",","measure":"value"}}
record {"business_key":"line-7",$window,"result_version":1,"value":2}
skipped
record {"business_key":"line-8",$window,"result_version":3,"value":4}
record {"business_key":"line-9",$window,"result_version":5,"value":6}
malformed record 1 is not key,start,end,version,number
JSONL
"$program" check -c etc/decode.yaml >out || { cat out; fail "check -c decode.yaml: exit code $?"; }
"$decode_with" etc/decode.yaml <lines >out || { cat out; fail "decode_with: exit code $?"; }
diff expected out || fail "the decoder's records are others"

"$program" run -c etc/decode.yaml --until-idle 2>log || { cat log; fail "run with the decoder: exit code $?"; }
grep -q 'left: 4 delivered (0 again), 4 acknowledged, 1 skipped, 1 dead letters, .* APPLIED 3 .* REFUSED 1;' log ||
    { cat log; fail "run with the decoder says other totals"; }

# ---- what is wrong ----

# wrong NAME FROM PATTERN REPLACEMENT TEXT: the configuration etc/FROM.yaml with one change is refused with this text, by
# `check` and by a command that loads the configuration.
wrong() {
    sed "s|$3|$4|" "etc/$2.yaml" >"etc/$1.yaml"
    ! cmp -s "etc/$2.yaml" "etc/$1.yaml" || fail "$1.yaml has nothing wrong"
    for command in "check -c etc/$1.yaml" "run -c etc/$1.yaml --until-idle"; do
        got=0
        # shellcheck disable=SC2086
        "$program" $command >out 2>&1 || got=$?
        [ $got = 78 ] || { cat out; fail "$command: exit code $got"; }
        grep -qF "$5" out || { cat out; fail "$command does not say: $5"; }
    done
}
wrong store-name good 'sync: false' 'snyc: false' \
    "etc/store-name.yaml:5:5: error: unknown option 'snyc' of the store 'table'; did you mean 'sync'?"
wrong store-type good 'sync: false' 'sync: no' "etc/store-type.yaml:5:11: error: 'sync' must be true or false, not 'no'"
wrong store-missing good '    file: ../table' '' \
    "etc/store-missing.yaml:3:3: error: the store 'table' needs the option 'file': what keeps the table"
wrong source-type good 'spacing: 250ms' 'spacing: 250' \
    "etc/source-type.yaml:17:16: error: 'spacing' must be a duration like 250ms, 90s or 10m, not '250'"
wrong source-name good 'letters:' 'leters:' \
    "etc/source-name.yaml:16:7: error: unknown option 'leters' of the source 'file'; did you mean 'letters'?"
wrong source-missing good 'letters:' 'leters:' "etc/source-missing.yaml:14:5: error: the source 'file' needs the option 'letters'"
wrong source-none good 'letters: ../letters' 'first_at: 1.5' "etc/source-none.yaml:16:17: error: 'first_at' must be a whole number"
wrong channel-missing good 'options: {file: ../alerts}' 'options: {}' \
    "etc/channel-missing.yaml:20:7: error: the alert channel 'file' needs the option 'file'"
wrong channel-bare good '  - file:' '  - file\n  - file:' \
    "etc/channel-bare.yaml:19:5: error: the alert channel 'file' needs the option 'file'"
wrong built-in good "url: 'table:'" 'url: memory' "etc/built-in.yaml:3:3: error: the store 'memory' takes no 'options'"
wrong decoder-name decode 'plugin: lines' 'plugin: line' "etc/decoder-name.yaml:13:19: error: no decoder has the name 'line': there are lines;"
wrong decoder-missing decode 'measure: value, ' '' \
    "etc/decoder-missing.yaml:14:11: error: the decoder 'lines' needs the option 'measure': the name of the number"
wrong decoder-option decode 'measure: value' 'mesure: value' "unknown option 'mesure' of the decoder 'lines'; did you mean 'measure'?"
wrong decoder-value decode "separator: ','" "separator: ', '" \
    "etc/decoder-value.yaml:13:19: error: decoder lines: 'separator' must be one character, and no space"
wrong no-plugin decode ', ../decoder_lines.so' '' "no decoder has the name 'lines': there is none;"

# Of another ABI, without the symbol, with a symbol that is something else, and with a function that nobody has.
sed 's/RR_PLUGIN_ABI,/RR_PLUGIN_ABI + 1,/' "$source/plugins/alert_file.c" >other_abi.c
sed 's/ __asm__("rr_plugin")//' "$source/plugins/alert_file.c" >no_symbol.c
echo 'const char rr_plugin[64] = "something else";' >other_symbol.c
sed 's/fflush(channel/rr_no_such_function(channel/; s/^struct rr_channel/int rr_no_such_function(FILE *);\n&/' \
    "$source/plugins/alert_file.c" >no_function.c
for name in other_abi no_symbol other_symbol no_function; do
    "$compiler" "${flags[@]}" $name.c -o $name.so
done
abi=$(sed -n 's/^#define RR_PLUGIN_ABI \([0-9]*\)u.*/\1/p' installed/include/rr/plugin.h)
wrong other_abi good alert_file.so other_abi.so \
    "other_abi.so: built for ABI $((abi + 1)), this program has $abi: build it again"
wrong no_symbol good alert_file.so no_symbol.so "no_symbol.so: it exports no rr_plugin, so it is not a plugin of this program"
wrong other_symbol good alert_file.so other_symbol.so "other_symbol.so: it exports no rr_plugin"
wrong no_function good alert_file.so no_function.so "no_function.so: it cannot be loaded: "
grep -q rr_no_such_function out || { cat out; fail "the missing function is not named"; }
