/* Prints a contract as canonical YAML, and its fingerprint. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "contract_words.h"
#include "contract_yaml.h"
#include "time.h"
#include "utf8.h"

/* The code point of a character that JSON allows unescaped and YAML does not; 0: it is not one. */
static unsigned special(const unsigned char *at, size_t len)
{
    unsigned code = 0;

    if (len == 1) {
        code = at[0];
    } else if (len == 2) {
        code = (at[0] & 31u) << 6 | (at[1] & 63u);
    } else if (len == 3) {
        code = (at[0] & 15u) << 12 | (at[1] & 63u) << 6 | (at[2] & 63u);
    }
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x2028 || code == 0x2029 || code == 0xfeff ||
                   code >= 0xfffe
               ? code
               : 0;
}

/* Writes a text in double quotes. In a value, $${ stands for ${; in a key, nothing is expanded. */
static void put_text(rr_buf *buf, rr_slice text, bool is_key)
{
    rr_buf_char(buf, '"');
    for (size_t at = 0, len; at < text.len; at += len) {
        rr_slice rest = {text.data + at, text.len - at};
        unsigned code;

        len = rr_utf8_char_len(rest);
        len = len == 0 ? 1 : len;
        code = special((const unsigned char *)rest.data, len);
        if (code != 0) {
            rr_buf_format(buf, "\\u%04x", code);
            continue;
        }
        if (*rest.data == '"' || *rest.data == '\\') {
            rr_buf_char(buf, '\\');
        } else if (!is_key && rest.len > 1 && memcmp(rest.data, "${", 2) == 0) {
            rr_buf_char(buf, '$');
        }
        rr_buf_put(buf, rest.data, len);
    }
    rr_buf_char(buf, '"');
}

static void put_duration(rr_buf *buf, const char *key, int64_t us)
{
    char text[RR_TIME_TEXT_MAX];

    rr_buf_text(buf, key);
    if (us == RR_FOREVER) {
        rr_buf_text(buf, "forever");
    } else {
        rr_buf_put(buf, text, rr_duration_print(us, text));
    }
}

static void put_window(const rr_contract *contract, rr_buf *buf)
{
    rr_buf_format(buf, "  window: {kind: %s", kind_words[contract->window_kind]);
    if (contract->window_kind == RR_WINDOW_TUMBLING || contract->window_kind == RR_WINDOW_SLIDING) {
        put_duration(buf, ", size: ", contract->size_us);
        if (contract->window_kind == RR_WINDOW_SLIDING) {
            put_duration(buf, ", slide: ", contract->slide_us);
        }
        put_duration(buf, ", offset: ", contract->offset_us);
    }
    if (contract->window_kind == RR_WINDOW_SESSION) {
        put_duration(buf, ", gap: ", contract->gap_us);
        put_duration(buf, ", max: ", contract->max_us);
        rr_buf_format(buf, ", ends: %s", ends_words[contract->ends_last]);
    }
    rr_buf_text(buf, "}\n");
}

static void put_measures(const rr_contract *contract, rr_buf *buf)
{
    rr_buf_text(buf, "  measures:\n");
    for (size_t i = 0; i < contract->measure_count; i++) {
        const rr_measure_def *def = &contract->measures[i];

        rr_buf_text(buf, "    ");
        put_text(buf, def->name, true);
        rr_buf_format(buf, ": {type: %s, never_falls: %s}\n", type_words[def->type],
                      def->never_falls ? "true" : "false");
    }
}

void rr_contract_print(const rr_contract *contract, rr_buf *buf)
{
    rr_buf_text(buf, "- name: ");
    put_text(buf, contract->name, false);
    rr_buf_format(buf, "\n  mode: %s\n", mode_words[contract->mode - RR_MODE_CUMULATIVE]);
    put_window(contract, buf);
    put_measures(contract, buf);
    for (size_t i = 0; i < contract->metric_version_count; i++) {
        rr_buf_text(buf, i == 0 ? "  metric_versions: [" : ", ");
        put_text(buf, contract->metric_versions[i], false);
    }
    rr_buf_format(buf, "%s  corrections: %s\n  during_conflict: %s", contract->metric_version_count == 0 ? "" : "]\n",
                  corrections_words[contract->corrections], during_words[contract->during_conflict]);
    put_duration(buf, "\n  retention: ", contract->retention_us);
    put_duration(buf, "\n  grace: ", contract->grace_us);
    put_duration(buf, "\n  future_tolerance: ", contract->future_tolerance_us);
    rr_buf_text(buf, "\n  max_epoch: ");
    rr_buf_u64(buf, contract->max_epoch);
    rr_buf_format(buf, "\n  integers: %s\n", integers_words[contract->integers_as_strings]);
}

__extension__ typedef unsigned __int128 u128;

static u128 fnv1a(rr_slice text)
{
    u128 prime = (u128)1 << 88 | 0x13b, hash = (u128)UINT64_C(0x6c62272e07bb0142) << 64 | UINT64_C(0x62b821756295c58d);

    for (size_t i = 0; i < text.len; i++) {
        hash = (hash ^ (unsigned char)text.data[i]) * prime;
    }
    return hash;
}

bool rr_contract_fingerprint(const rr_contract *contract, char hex[RR_FINGERPRINT_LEN + 1])
{
    rr_buf text = {0};
    u128 hash;
    bool ok;

    rr_contract_print(contract, &text);
    ok = rr_buf_ok(&text);
    hash = fnv1a(rr_buf_view(&text));
    snprintf(hex, RR_FINGERPRINT_LEN + 1, "%016llx%016llx", (unsigned long long)(hash >> 64), (unsigned long long)hash);
    rr_buf_fini(&text);
    return ok;
}
