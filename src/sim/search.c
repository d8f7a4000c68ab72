#include "sim/search.h"

#include "base/parallel.h"

#include <stdio.h>

#define BLOCK 100 /* runs between two reports of progress */

typedef struct block {
    const search_options *options;
    size_t first;
    edgeps_err outcome[BLOCK];
    size_t faults[BLOCK];
} block;

static script script_of(const search_options *o, size_t run)
{
    script s = script_draw(o->seed + run, o->most_nodes, o->most_faults);
    s.plant = o->plant;
    return s;
}

/* A breach is a result: the other runs of the block go on. */
static edgeps_err run_one(void *context, size_t thread, size_t item)
{
    block *b = context;
    script s = script_of(b->options, b->first + item);
    (void)thread;
    b->faults[item] = s.fault_count;
    b->outcome[item] = script_run(&s, NULL);
    return b->outcome[item] == EDGEPS_INTERNAL ? EDGEPS_OK : b->outcome[item];
}

static edgeps_err describe(const script *s, search_result *r)
{
    edgeps_diag own = {.text = ""};
    r->found = true;
    r->seed = s->seed;
    edgeps_err err = script_shrink(s, &r->smallest);
    if (!err && script_run(&r->smallest, &own) != EDGEPS_INTERNAL)
        err = EDGEPS_NOMEM;
    snprintf(r->broken, sizeof r->broken, "%s", own.text);
    return err;
}

edgeps_err search_run(const search_options *o, edgeps_diag *diag, search_result *out)
{
    search_result r = {.runs = 0};
    edgeps_err err = EDGEPS_OK;
    while (!err && !r.found && r.runs < o->runs) {
        block b = {.options = o, .first = r.runs};
        size_t count = o->runs - r.runs < BLOCK ? o->runs - r.runs : BLOCK;
        err = parallel_run(parallel_threads(count), count, run_one, &b, NULL);
        for (size_t k = 0; !err && k < count; k++) {
            r.faults += b.faults[k];
            if (b.outcome[k] == EDGEPS_INTERNAL && !r.found) {
                script s = script_of(o, b.first + k);
                err = describe(&s, &r);
            }
        }
        r.runs += count;
        if (o->progress)
            o->progress(o->context, r.runs);
    }
    if (err)
        return diag_fail(diag, err, "the fault search could not go on: %s", err_text(err));
    *out = r;
    return EDGEPS_OK;
}
