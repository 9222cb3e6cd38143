/* What the probes of all rows share: the report of what was seen, and amounts for people. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <stdio.h>

#include "time.h"

_Static_assert((int)RR_AMOUNT_MAX > (int)RR_TIME_TEXT_MAX, "a duration and its NUL");

bool rr_preflight_report(const rr_preflight_view *view, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(view->finding->seen, sizeof view->finding->seen, format, args);
    va_end(args);
    return true;
}

const char *rr_amount_bytes(double bytes, char text[RR_AMOUNT_MAX])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;

    while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    snprintf(text, RR_AMOUNT_MAX, bytes < 10 && unit != 0 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

const char *rr_amount_us(int64_t us, char text[RR_AMOUNT_MAX])
{
    text[rr_duration_print(us, text)] = '\0';
    return text;
}
