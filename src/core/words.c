/* Names of the tables' rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

typedef struct word_row {
    const char *word, *text;
    int other;
} word_row;

static const word_row verdicts[] = {
#define RR_X(name, settle, text) {#name, text, RR_SETTLE_##settle},
    RR_VERDICT_TABLE(RR_X)
#undef RR_X
};
static const word_row reasons[] = {
#define RR_X(name, word, text) {word, text, 0},
    RR_REASON_TABLE(RR_X)
#undef RR_X
};
static const word_row alerts[] = {
#define RR_X(name, word, text) {word, text, 0},
    RR_ALERT_TABLE(RR_X)
#undef RR_X
};
static const word_row conflicts[] = {
#define RR_X(name, word, alert) {word, "", RR_ALERT_##alert},
    RR_CONFLICT_TABLE(RR_X)
#undef RR_X
};

#define RR_X(name) {#name, "", 0},
static const word_row modes[] = {RR_MODE_TABLE(RR_X)};
static const word_row ops[] = {RR_OP_TABLE(RR_X)};
static const word_row origins[] = {RR_ORIGIN_TABLE(RR_X)};
static const word_row statuses[] = {RR_RESULT_STATUS_TABLE(RR_X)};
static const word_row causes[] = {RR_CAUSE_TABLE(RR_X)};
static const word_row states[] = {RR_STATE_TABLE(RR_X)};
#undef RR_X

static int find(const word_row *rows, int from, int count, rr_slice word)
{
    for (int row = from; row < count; row++) {
        if (rr_slice_equal(rr_slice_of(rows[row].word), word)) {
            return row;
        }
    }
    return -1;
}

const char *rr_verdict_word(rr_verdict verdict)
{
    return verdicts[verdict].word;
}
const char *rr_verdict_text(rr_verdict verdict)
{
    return verdicts[verdict].text;
}
rr_settle rr_verdict_settle(rr_verdict verdict)
{
    return (rr_settle)verdicts[verdict].other;
}
const char *rr_reason_word(rr_reason reason)
{
    return reasons[reason].word;
}
const char *rr_reason_text(rr_reason reason)
{
    return reasons[reason].text;
}
const char *rr_alert_word(rr_alert alert)
{
    return alerts[alert].word;
}
const char *rr_alert_text(rr_alert alert)
{
    return alerts[alert].text;
}
const char *rr_conflict_word(rr_conflict conflict)
{
    return conflicts[conflict].word;
}
rr_alert rr_conflict_alert(rr_conflict conflict)
{
    return (rr_alert)conflicts[conflict].other;
}
const char *rr_mode_word(rr_mode mode)
{
    return modes[mode].word;
}
const char *rr_op_word(rr_op op)
{
    return ops[op].word;
}
const char *rr_origin_word(rr_origin origin)
{
    return origins[origin].word;
}
const char *rr_result_word(rr_result_status status)
{
    return statuses[status].word;
}
const char *rr_cause_word(rr_cause cause)
{
    return causes[cause].word;
}
const char *rr_state_word(rr_state state)
{
    return states[state].word;
}

int rr_mode_parse(rr_slice word)
{
    return find(modes, 1, RR_MODE_COUNT, word);
}
int rr_op_parse(rr_slice word)
{
    return find(ops, 0, RR_OP_COUNT, word);
}
int rr_origin_parse(rr_slice word)
{
    return find(origins, 0, RR_ORIGIN_COUNT, word);
}
int rr_result_parse(rr_slice word)
{
    return find(statuses, 0, RR_RESULT_COUNT, word);
}
int rr_cause_parse(rr_slice word)
{
    return find(causes, 1, RR_CAUSE_COUNT, word);
}
int rr_reason_parse(rr_slice word)
{
    return find(reasons, 1, RR_REASON_COUNT, word);
}
int rr_alert_parse(rr_slice word)
{
    return find(alerts, 0, RR_ALERT_COUNT, word);
}
