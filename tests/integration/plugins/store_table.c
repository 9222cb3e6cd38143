/* A store plugin in one file: a table in memory, which a file keeps while nobody has it open.
 *
 * Not for production: lookups are linear, nothing expires, memory that runs out ends the program, and a crash loses what was
 * written since the table was opened (the program notices by the identity, and reads the streams again).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <rr/plugin.h>

enum { FILE_OPTION, SYNC_OPTION };

static const rr_plugin_option options_table[] = {
    [FILE_OPTION] = {"file", RR_PLUGIN_PATH, .required = true, .help = "what keeps the table"},
    [SYNC_OPTION] = {"sync", RR_PLUGIN_BOOL, .preset = "true", .help = "flush the file to the disk when it is written"},
    RR_PLUGIN_OPTIONS_END,
};

typedef enum kind { GONE, VALUE = 'v', PART = 'p', ENTRY = 'l' } kind;

typedef struct text {
    char *data;
    size_t len;
} text;

typedef struct row {
    kind kind;
    text key, name, bytes; /* name: of a part, or the number of a log's entry */
    int64_t handed_at_ms;  /* ENTRY: 0: never */
} row;

/* One for each file, used by all handles of this process that have it open. */
typedef struct table {
    char *path;
    bool sync;
    row *rows;
    size_t count, room, users;
    unsigned long long opened, next_entry;
    struct table *next;
} table;

struct rr_store {
    table *table;
};

static table *tables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *must(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static text copy(rr_slice from)
{
    text to = {must(malloc(from.len + 1)), from.len};

    if (from.len != 0) {
        memcpy(to.data, from.data, from.len);
    }
    to.data[to.len] = '\0';
    return to;
}

static rr_slice view(text of)
{
    return (rr_slice){of.data, of.len};
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}

/* ---- rows ---- */

static row *find(const table *t, kind of, rr_slice key, rr_slice name)
{
    for (size_t k = 0; k < t->count; k++) {
        row *r = &t->rows[k];

        if (r->kind == of && rr_slice_equal(view(r->key), key) && rr_slice_equal(view(r->name), name)) {
            return r;
        }
    }
    return NULL;
}

static row *new_row(table *t)
{
    if (t->count == t->room) {
        t->room = t->room == 0 ? 64 : t->room * 2;
        t->rows = must(realloc(t->rows, t->room * sizeof *t->rows));
    }
    t->rows[t->count] = (row){GONE};
    return &t->rows[t->count++];
}

static void add(table *t, kind of, rr_slice key, rr_slice name, rr_slice bytes)
{
    *new_row(t) = (row){of, copy(key), copy(name), copy(bytes), 0};
}

static void put(table *t, kind of, rr_slice key, rr_slice name, rr_slice bytes)
{
    row *r = find(t, of, key, name);

    if (r == NULL) {
        add(t, of, key, name, bytes);
    } else {
        free(r->bytes.data);
        r->bytes = copy(bytes);
    }
}

static void drop(row *r)
{
    if (r != NULL) {
        free(r->key.data);
        free(r->name.data);
        free(r->bytes.data);
        *r = (row){GONE};
    }
}

static rr_slice value_of(const table *t, rr_slice key)
{
    const row *r = find(t, VALUE, key, (rr_slice){NULL, 0});

    return r == NULL ? (rr_slice){NULL, 0} : view(r->bytes);
}

static void put_value(table *t, rr_slice key, rr_slice value)
{
    if (value.len == 0) {
        drop(find(t, VALUE, key, (rr_slice){NULL, 0}));
    } else {
        put(t, VALUE, key, (rr_slice){NULL, 0}, value);
    }
}

/* The parts of a unit belong to the birth of its value. In the arena. */
static rr_slice parts_key(rr_slice key, rr_slice token, rr_arena *arena)
{
    char *made = must(rr_arena_take(arena, key.len + RR_BIRTH_LEN));

    memcpy(made, key.data, key.len);
    memcpy(made + key.len, token.data, RR_BIRTH_LEN);
    return (rr_slice){made, key.len + RR_BIRTH_LEN};
}

/* ---- the file ---- */

static bool read_text(FILE *file, size_t len, text *to)
{
    *to = (text){must(malloc(len + 1)), len};
    to->data[len] = '\0';
    return fread(to->data, 1, len, file) == len;
}

static rr_status read_rows(table *t, rr_error *error)
{
    FILE *file = fopen(t->path, "r");
    char of;
    size_t key, name, bytes;

    while (file != NULL && fscanf(file, "%c %zu %zu %zu\n", &of, &key, &name, &bytes) == 4) {
        row *r = new_row(t);

        r->kind = (kind)of;
        if (!read_text(file, key, &r->key) || !read_text(file, name, &r->name) || !read_text(file, bytes, &r->bytes)) {
            fclose(file);
            return rr_fail(error, RR_IO, "store table: %s: it is cut off", t->path);
        }
        if (r->kind == ENTRY && strtoull(r->name.data, NULL, 10) > t->next_entry) {
            t->next_entry = strtoull(r->name.data, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return RR_OK;
}

static void write_rows(const table *t)
{
    FILE *file = fopen(t->path, "w");

    for (size_t k = 0; file != NULL && k < t->count; k++) {
        const row *r = &t->rows[k];

        if (r->kind != GONE) {
            fprintf(file, "%c %zu %zu %zu\n", (char)r->kind, r->key.len, r->name.len, r->bytes.len);
            fwrite(r->key.data, 1, r->key.len, file);
            fwrite(r->name.data, 1, r->name.len, file);
            fwrite(r->bytes.data, 1, r->bytes.len, file);
        }
    }
    if (file == NULL || fflush(file) != 0 || (t->sync && fsync(fileno(file)) != 0)) {
        perror(t->path);
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* ---- open and close ---- */

static table *find_table(const char *path)
{
    for (table *t = tables; t != NULL; t = t->next) {
        if (strcmp(t->path, path) == 0) {
            return t;
        }
    }
    return NULL;
}

static void free_table(table *t)
{
    table **at = &tables;

    while (*at != t) {
        at = &(*at)->next;
    }
    *at = t->next;
    for (size_t k = 0; k < t->count; k++) {
        drop(&t->rows[k]);
    }
    free(t->rows);
    free(t->path);
    free(t);
}

static rr_status table_open(const char *url, const rr_store_options *options, rr_store **store, rr_error *error)
{
    static unsigned long long opened;
    rr_status status = RR_OK;
    table *t;

    *store = NULL;
    if (strcmp(url, "table:") != 0) {
        return rr_fail(error, RR_CONFIG, "store table: its URL is table: alone");
    }
    pthread_mutex_lock(&lock);
    t = find_table(options->values[FILE_OPTION].text);
    if (t == NULL) {
        t = must(calloc(1, sizeof *t));
        *t = (table){.path = copy(rr_slice_of(options->values[FILE_OPTION].text)).data,
                     .sync = options->values[SYNC_OPTION].boolean,
                     .opened = ++opened,
                     .next = tables};
        tables = t;
        status = read_rows(t, error);
    }
    if (status == RR_OK) {
        *store = must(malloc(sizeof **store));
        (*store)->table = t;
        t->users++;
    } else {
        free_table(t);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void table_close(rr_store *store)
{
    table *t = store->table;

    pthread_mutex_lock(&lock);
    if (--t->users == 0) {
        write_rows(t);
        free_table(t);
    }
    pthread_mutex_unlock(&lock);
    free(store);
}

/* ---- units ---- */

static rr_status table_load(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error)
{
    (void)error;
    pthread_mutex_lock(&lock);
    for (size_t k = 0; k < count; k++) {
        loads[k].error.status = RR_OK;
        loads[k].value = rr_arena_copy(arena, value_of(store->table, loads[k].key));
    }
    pthread_mutex_unlock(&lock);
    return RR_OK;
}

static void read_all_parts(const table *t, rr_slice key, rr_parts_read *read, rr_arena *arena)
{
    read->part_count = 0;
    read->parts = must(rr_arena_zero(arena, t->count * sizeof *read->parts));
    for (size_t k = 0; k < t->count; k++) {
        const row *r = &t->rows[k];

        if (r->kind == PART && rr_slice_equal(view(r->key), key)) {
            read->parts[read->part_count++] =
                (rr_pair){rr_arena_copy(arena, view(r->name)), rr_arena_copy(arena, view(r->bytes))};
        }
    }
}

static void read_unit_parts(const table *t, rr_parts_read *read, rr_arena *arena)
{
    rr_slice key;

    read->error.status = RR_OK;
    read->changed = !rr_slice_equal(rr_value_token(value_of(t, read->key)), read->token);
    if (read->changed) {
        return;
    }
    key = parts_key(read->key, read->token, arena);
    if (read->all) {
        read_all_parts(t, key, read, arena);
        return;
    }
    read->found = must(rr_arena_zero(arena, read->id_count * sizeof *read->found));
    for (size_t k = 0; k < read->id_count; k++) {
        const row *r = find(t, PART, key, read->ids[k]);

        read->found[k] = r == NULL ? (rr_slice){NULL, 0} : rr_arena_copy(arena, view(r->bytes));
    }
}

static rr_status table_read_parts(rr_store *store, rr_parts_read *reads, size_t count, rr_arena *arena, rr_error *error)
{
    (void)error;
    pthread_mutex_lock(&lock);
    for (size_t k = 0; k < count; k++) {
        read_unit_parts(store->table, &reads[k], arena);
    }
    pthread_mutex_unlock(&lock);
    return RR_OK;
}

static void append_entries(table *t, const rr_swap *swap)
{
    for (size_t k = 0; k < swap->entry_count; k++) {
        char number[24];

        snprintf(number, sizeof number, "%llu", ++t->next_entry);
        add(t, ENTRY, swap->log_key, rr_slice_of(number), swap->entries[k]);
    }
}

/* The list of open conflicts is for people who look into the store; here nobody can. */
static void swap_unit(table *t, rr_swap *swap, rr_arena *arena)
{
    const char *flaw = rr_swap_flaw(swap);
    rr_slice now = swap->key.len == 0 ? (rr_slice){NULL, 0} : value_of(t, swap->key);

    swap->error.status = RR_OK;
    swap->current = (rr_slice){NULL, 0};
    if (flaw != NULL) {
        rr_fail(&swap->error, RR_INTERNAL, "%s", flaw);
        swap->answer = RR_SWAP_FAILED;
        return;
    }
    if (swap->key.len != 0 && !rr_slice_equal(rr_value_token(now), swap->token)) {
        swap->answer = RR_SWAP_LOST;
        swap->current = rr_arena_copy(arena, now);
        return;
    }
    if (swap->value.len != 0) {
        put_value(t, swap->key, swap->value);
    }
    for (size_t k = 0; k < swap->part_count; k++) {
        put(t, PART, parts_key(swap->key, rr_value_token(swap->value), arena), swap->parts[k].name,
            swap->parts[k].bytes);
    }
    for (size_t k = 0; k < swap->side_count; k++) {
        put_value(t, swap->sides[k].key, swap->sides[k].value);
    }
    append_entries(t, swap);
    swap->answer = RR_SWAP_WON;
}

/* Those that create a unit come first. */
static rr_status table_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    (void)error;
    pthread_mutex_lock(&lock);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < count; k++) {
            if ((swaps[k].token.len == 0) == (pass == 0)) {
                swap_unit(store->table, &swaps[k], arena);
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return RR_OK;
}

static rr_status table_confirm(rr_store *store, rr_error *error)
{
    (void)store;
    (void)error;
    return RR_OK;
}

/* ---- the outbox ---- */

static rr_status table_log_read(rr_store *store, rr_slice log_key, const char *consumer, int idle_ms, size_t most,
                                rr_arena *arena, rr_log_entry **entries, size_t *count, rr_error *error)
{
    int64_t now = now_ms();

    (void)consumer;
    (void)error;
    *entries = must(rr_arena_zero(arena, most * sizeof **entries));
    *count = 0;
    pthread_mutex_lock(&lock);
    for (size_t k = 0; k < store->table->count && *count < most; k++) {
        row *r = &store->table->rows[k];

        if (r->kind == ENTRY && rr_slice_equal(view(r->key), log_key) &&
            (r->handed_at_ms == 0 || now - r->handed_at_ms >= idle_ms)) {
            r->handed_at_ms = now;
            (*entries)[(*count)++] =
                (rr_log_entry){rr_arena_copy(arena, view(r->name)), rr_arena_copy(arena, view(r->bytes))};
        }
    }
    pthread_mutex_unlock(&lock);
    return RR_OK;
}

static rr_status table_log_done(rr_store *store, rr_slice log_key, const rr_slice *ids, size_t count, rr_error *error)
{
    (void)error;
    pthread_mutex_lock(&lock);
    for (size_t k = 0; k < count; k++) {
        drop(find(store->table, ENTRY, log_key, ids[k]));
    }
    pthread_mutex_unlock(&lock);
    return RR_OK;
}

/* ---- notes ---- */

static void identify(const table *t, rr_store_identity *identity)
{
    snprintf(identity->incarnation, sizeof identity->incarnation, "table:%ld:%llu", (long)getpid(), t->opened);
}

static rr_status table_identity(rr_store *store, rr_store_identity *identity, rr_error *error)
{
    (void)error;
    identify(store->table, identity);
    return RR_OK;
}

static rr_status table_note_get(rr_store *store, rr_slice key, rr_arena *arena, rr_slice *value, rr_error *error)
{
    (void)error;
    pthread_mutex_lock(&lock);
    *value = rr_arena_copy(arena, value_of(store->table, key));
    pthread_mutex_unlock(&lock);
    return RR_OK;
}

static rr_status table_note_set(rr_store *store, rr_slice key, rr_slice expected, rr_slice value, int64_t ttl_ms,
                                const rr_store_identity *incarnation, bool *done, rr_error *error)
{
    rr_store_identity mine;

    (void)ttl_ms;
    (void)error;
    pthread_mutex_lock(&lock);
    identify(store->table, &mine);
    *done = rr_slice_equal(value_of(store->table, key), expected) &&
            (incarnation == NULL || strcmp(incarnation->incarnation, mine.incarnation) == 0);
    if (*done) {
        put_value(store->table, key, value);
    }
    pthread_mutex_unlock(&lock);
    return RR_OK;
}

static rr_status table_note_put(rr_store *store, rr_slice key, rr_slice value, int64_t ttl_ms, rr_error *error)
{
    (void)ttl_ms;
    (void)error;
    pthread_mutex_lock(&lock);
    put_value(store->table, key, value);
    pthread_mutex_unlock(&lock);
    return RR_OK;
}

/* `each` may use the store, so the keys are copied first. */
static rr_status table_scan(rr_store *store, rr_slice prefix, bool (*each)(void *context, rr_slice key), void *context,
                            rr_error *error)
{
    rr_slice *keys;
    size_t count = 0;
    rr_arena arena;

    (void)error;
    rr_arena_init(&arena, 0);
    pthread_mutex_lock(&lock);
    keys = must(rr_arena_zero(&arena, store->table->count * sizeof *keys));
    for (size_t k = 0; k < store->table->count; k++) {
        const row *r = &store->table->rows[k];

        if (r->kind == VALUE && r->key.len >= prefix.len && memcmp(r->key.data, prefix.data, prefix.len) == 0) {
            keys[count++] = rr_arena_copy(&arena, view(r->key));
        }
    }
    pthread_mutex_unlock(&lock);
    for (size_t k = 0; k < count && each(context, keys[k]); k++) {}
    rr_arena_fini(&arena);
    return RR_OK;
}

static const rr_store_ops ops = {
    .scheme = "table",
    .options = options_table,
    .open = table_open,
    .close = table_close,
    .load = table_load,
    .read_parts = table_read_parts,
    .swap = table_swap,
    .confirm = table_confirm,
    .log_read = table_log_read,
    .log_done = table_log_done,
    .note_get = table_note_get,
    .note_set = table_note_set,
    .note_put = table_note_put,
    .identity = table_identity,
    .scan = table_scan,
};

const rr_plugin rr_plugin_export __asm__("rr_plugin") = {
    .magic = RR_PLUGIN_MAGIC,
    .abi = RR_PLUGIN_ABI,
    .name = "store_table",
    .help = "Keeps cells in memory, and in a file while nobody has it open.",
    .store = &ops,
};
