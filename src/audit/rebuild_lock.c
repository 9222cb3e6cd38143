/* One rebuild at a time: a note in the store that expires unless a thread renews it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "rebuild_internal.h"

enum {
    LOCK_MS = 10000, /* the note of a rebuild that died expires after that */
    LOCK_RENEW_MS = 2000,
    LOCK_LOOK_MS = 250
};

static rr_status set_lock(rr_rebuild *r, rr_store *store, rr_slice expected, rr_slice value, bool *done,
                          rr_error *error)
{
    return r->options->store_ops->note_set(store, r->lock_key, expected, value, LOCK_MS, NULL, done, error);
}

/* The note ends in a token, which guards the switch. */
static bool write_lock(rr_rebuild *r)
{
    char host[64] = "";
    rr_buf text = {0};

    gethostname(host, sizeof host - 1);
    rr_tokens_next(&r->tokens, (rr_slice){NULL, 0}, r->token);
    rr_buf_text(&text, "{\"host\":");
    rr_buf_json(&text, rr_slice_of(host));
    rr_buf_format(&text, ",\"pid\":%ld,\"token\":\"%.*s\"}", (long)getpid(), RR_TOKEN_LEN, r->token);
    r->lock = rr_rebuild_keep(&text, &r->arena);
    return r->lock.data != NULL;
}

static void *renew(void *context)
{
    rr_rebuild *r = context;
    int since_ms = 0;

    while (!atomic_load(&r->over) && !atomic_load(&r->lost)) {
        bool done = true;

        r->options->pause_ms(LOCK_LOOK_MS);
        since_ms += LOCK_LOOK_MS;
        if (since_ms >= LOCK_RENEW_MS) {
            since_ms = 0;
            if (set_lock(r, r->options->lock_store, r->lock, r->lock, &done, NULL) == RR_OK && !done) {
                atomic_store(&r->lost, true);
            }
        }
    }
    return NULL;
}

/* The note of a rebuild that died expires. A rebuild that is at work renews its note. */
rr_status rr_rebuild_take_lock(rr_rebuild *r)
{
    bool done = false, logged = false;
    rr_slice held = {NULL, 0};
    rr_status status = write_lock(r) ? RR_OK : rr_rebuild_no_memory(r->error);

    for (int waited = 0; status == RR_OK && waited <= LOCK_MS + 2 * LOCK_LOOK_MS; waited += LOCK_LOOK_MS) {
        status = set_lock(r, r->options->store, (rr_slice){NULL, 0}, r->lock, &done, r->error);
        if (status != RR_OK || done) {
            break;
        }
        if (!logged) {
            rr_rebuild_log(r, RR_LOG_INFO, "another rebuild has the lock; waiting, in case it has died");
            logged = true;
        }
        r->options->pause_ms(LOCK_LOOK_MS);
    }
    if (status == RR_OK && !done) {
        status = r->options->store_ops->note_get(r->options->store, r->lock_key, &r->page, &held, r->error);
        status = status == RR_OK ? rr_fail(r->error, RR_UNAVAILABLE, "another rebuild is at work: %.*s", (int)held.len,
                                           held.len == 0 ? "" : held.data)
                                 : status;
    }
    if (status == RR_OK && pthread_create(&r->renewer, NULL, renew, r) != 0) {
        status = rr_rebuild_no_memory(r->error);
        set_lock(r, r->options->store, r->lock, (rr_slice){NULL, 0}, &done, NULL);
    }
    return status;
}

void rr_rebuild_release_lock(rr_rebuild *r)
{
    rr_error ignored = {0};
    bool done;

    atomic_store(&r->over, true);
    pthread_join(r->renewer, NULL);
    set_lock(r, r->options->store, r->lock, (rr_slice){NULL, 0}, &done, &ignored);
}

rr_status rr_rebuild_check_lock(rr_rebuild *r)
{
    return atomic_load(&r->lost)
               ? rr_fail(r->error, RR_UNAVAILABLE,
                         "another rebuild took over, because this one was stopped for longer than its lock lives; "
                         "nothing was switched over")
               : RR_OK;
}
