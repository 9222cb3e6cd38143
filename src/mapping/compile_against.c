/* A mapping against the contract that its records are admitted by (semantics, section 4): what would refuse every
 * record is said before there is one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler.h"
#include "nearest.h"

static const rr_mapping_field *find(const rr_compiler *c, rr_target target)
{
    for (size_t k = 0; k < c->spec->field_count; k++) {
        if (c->spec->fields[k].target == target) {
            return &c->spec->fields[k];
        }
    }
    return NULL;
}

static bool has(const rr_compiler *c, rr_target target)
{
    return find(c, target) != NULL;
}

static void need(rr_compiler *c, bool there, const char *target, const char *because)
{
    if (!there) {
        rr_compile_fault(c, c->spec->record_place, "contract '%.*s' needs '%s'%s, and nothing here gives it",
                         RR_SHOW(c->contract->name), target, because);
    }
}

/* ---- windows, versions, identities ---- */

static void check_window(rr_compiler *c)
{
    bool start = has(c, RR_TARGET_WINDOW_START), end = has(c, RR_TARGET_WINDOW_END);
    bool length = has(c, RR_TARGET_WINDOW_LENGTH);
    const rr_mapping_field *any = find(c, start ? RR_TARGET_WINDOW_START : RR_TARGET_WINDOW_END);

    if (c->contract->window_kind == RR_WINDOW_GLOBAL) {
        if (start || end) {
            rr_compile_fault(c, any->place, "contract '%.*s' has a global window: leave 'window' out",
                             RR_SHOW(c->contract->name));
        }
        return;
    }
    need(c, (int)start + (int)end + (int)length >= 2, "window", ": two of start, end and length");
}

static void check_identity(rr_compiler *c)
{
    bool corrected = c->contract->corrections != RR_CORRECTIONS_NONE;

    need(c, has(c, RR_TARGET_BUSINESS_KEY), "business_key", "");
    need(c, has(c, RR_TARGET_METRIC_VERSION), "metric_version", "");
    if (c->contract->mode == RR_MODE_DELTA) {
        need(c, has(c, RR_TARGET_DELTA_ID) || (has(c, RR_TARGET_PRODUCER) && has(c, RR_TARGET_SEQUENCE)), "delta_id",
             ", or 'producer' and 'sequence'");
        need(c, !corrected || has(c, RR_TARGET_VERSION_NUMBER), "version", ", since it takes corrections");
        return;
    }
    need(c, has(c, RR_TARGET_VERSION_NUMBER), "version", ": its number");
}

static void check_epochs(rr_compiler *c)
{
    static const rr_target epochs[] = {RR_TARGET_VERSION_EPOCH, RR_TARGET_RETRACTS_EPOCH, RR_TARGET_BASE_EPOCH,
                                       RR_TARGET_INCLUDES_BASE_EPOCH, RR_TARGET_INCLUDES_EPOCH};

    for (size_t k = 0; k < sizeof epochs / sizeof *epochs; k++) {
        const rr_mapping_field *epoch = find(c, epochs[k]);

        if (epoch != NULL && !has(c, epochs[k] + 1)) {
            rr_compile_fault(c, epoch->place, "'%s' without a number is no version", rr_target_name(epochs[k]));
        }
    }
}

static bool gives(const rr_part *part, int row)
{
    bool given = (part->has_const || part->has_preset) && !part->preset.skip && part->preset.value.row == row;

    given = given || (part->has_other && !part->other.skip && part->other.value.row == row);
    for (size_t k = 0; k < part->choice_count; k++) {
        given = given || (!part->choices[k].to.skip && part->choices[k].to.value.row == row);
    }
    return given;
}

/* RETRACT and CORRECTION where the contract has no use for them. */
static void check_words(rr_compiler *c, const rr_emit *emit)
{
    bool corrected = c->contract->corrections != RR_CORRECTIONS_NONE;
    bool retracts = emit->has_op && emit->op == RR_OP_RETRACT, corrects = false;
    rr_mapping_place place = c->spec->record_place;

    for (size_t k = 0; k < emit->step_count; k++) {
        const rr_step *step = &emit->steps[k];

        if (step->target == RR_TARGET_OP && gives(&step->parts[0], RR_OP_RETRACT)) {
            retracts = true;
            place = find(c, RR_TARGET_OP)->place;
        }
        corrects = corrects || (step->target == RR_TARGET_ORIGIN && gives(&step->parts[0], RR_ORIGIN_CORRECTION));
    }
    if (retracts && c->contract->mode == RR_MODE_CUMULATIVE && !corrected) {
        rr_compile_fault(c, place, "contract '%.*s' is cumulative: a RETRACT would be refused, op_not_in_mode",
                         RR_SHOW(c->contract->name));
    }
    if (corrects && !corrected) {
        rr_compile_fault(c, find(c, RR_TARGET_ORIGIN)->place,
                         "contract '%.*s' takes no corrections: they would be refused, correction_not_allowed",
                         RR_SHOW(c->contract->name));
    }
}

/* ---- measures ---- */

static const rr_measure_def *find_measure(const rr_compiler *c, rr_slice name)
{
    for (size_t k = 0; k < c->contract->measure_count; k++) {
        if (rr_slice_equal(c->contract->measures[k].name, name)) {
            return &c->contract->measures[k];
        }
    }
    return NULL;
}

static void check_measure(rr_compiler *c, const rr_mapping_field *field)
{
    char hint[RR_HINT_MAX];
    rr_nearest nearest;

    if (find_measure(c, field->name) != NULL) {
        return;
    }
    rr_nearest_init(&nearest, field->name);
    for (size_t k = 0; k < c->contract->measure_count; k++) {
        rr_nearest_try(&nearest, c->contract->measures[k].name);
    }
    rr_compile_fault(c, field->place, "contract '%.*s' has no measure '%.*s'%s", RR_SHOW(c->contract->name),
                     RR_SHOW(field->name), rr_nearest_hint(&nearest, "", hint));
}

static void check_measures(rr_compiler *c)
{
    for (size_t k = 0; k < c->spec->field_count; k++) {
        if (c->spec->fields[k].target == RR_TARGET_MEASURE) {
            check_measure(c, &c->spec->fields[k]);
        }
    }
    for (size_t k = 0; !c->spec->has_measures_map && k < c->contract->measure_count; k++) {
        rr_slice name = c->contract->measures[k].name;
        bool there = false;

        for (size_t i = 0; i < c->spec->field_count; i++) {
            there = there ||
                    (c->spec->fields[i].target == RR_TARGET_MEASURE && rr_slice_equal(c->spec->fields[i].name, name));
        }
        if (!there) {
            rr_compile_fault(c, c->spec->record_place,
                             "contract '%.*s' has a measure '%.*s', and nothing here gives it",
                             RR_SHOW(c->contract->name), RR_SHOW(name));
        }
    }
}

static const char *type_word(rr_measure_type type)
{
    return type == RR_MEASURE_INT64 ? "int64" : type == RR_MEASURE_DECIMAL ? "decimal" : "double";
}

static void check_type(rr_compiler *c, const rr_measure_def *def, const rr_part *part)
{
    if (part->ref.type == RR_TYPE_REAL && !part->said->has_values && def->type != RR_MEASURE_DOUBLE) {
        rr_compile_fault(c, part->said->place,
                         "measure '%.*s' is %s in contract '%.*s': a double is never exact enough for it",
                         RR_SHOW(def->name), type_word(def->type), RR_SHOW(c->contract->name));
    }
    if (part->said->scale < 0 && def->type == RR_MEASURE_INT64) {
        rr_compile_fault(
            c, part->said->place,
            "measure '%.*s' is int64 in contract '%.*s', and 'scale' would give it a fraction: use decimal",
            RR_SHOW(def->name), RR_SHOW(c->contract->name));
    }
}

static void check_types(rr_compiler *c, const rr_emit *emit)
{
    for (size_t k = 0; k < emit->step_count; k++) {
        const rr_measure_def *def =
            emit->steps[k].target == RR_TARGET_MEASURE ? find_measure(c, emit->steps[k].name) : NULL;

        if (def != NULL && emit->steps[k].part_count == 1) {
            check_type(c, def, &emit->steps[k].parts[0]);
        }
    }
    for (size_t k = 0; emit->has_map && emit->map.type == RR_TYPE_REAL && k < c->contract->measure_count; k++) {
        if (c->contract->measures[k].type != RR_MEASURE_DOUBLE) {
            rr_compile_fault(c, c->spec->measures_map.place,
                             "measure '%.*s' is %s in contract '%.*s': the map's doubles are never exact enough for it",
                             RR_SHOW(c->contract->measures[k].name), type_word(c->contract->measures[k].type),
                             RR_SHOW(c->contract->name));
        }
    }
}

void rr_compile_against(rr_compiler *c)
{
    check_identity(c);
    check_window(c);
    check_epochs(c);
    check_measures(c);
    if (c->failed || c->mapping->emit_count == 0) {
        return; /* steps may be missing */
    }
    for (size_t k = 0; k < c->mapping->emit_count; k++) {
        check_words(c, &c->mapping->emits[k]);
    }
    check_types(c, &c->mapping->emits[0]);
}
