#include "bench/predict_int.h"

#include "base/mem.h"
#include "cost/cost.h"
#include "place/place.h"

#include <stdlib.h>

#define EXACT_NODES 12 /* up to which `exact` is done in no time */

static edgeps_err choose(const problem *p, const char *algorithm, const place_options *o,
                         edgeps_diag *diag, predict_choice *out)
{
    place_result r;
    edgeps_err err = place_run(algorithm, p, o, diag, &r);
    if (err)
        return err;
    if (r.status == PLACE_INFEASIBLE)
        err = diag_fail(diag, EDGEPS_INFEASIBLE, "%s: %s", algorithm, r.reason);
    else
        err = plan_copy(&r.plan, &out->plan);
    out->round_s = r.cost.round_s;
    out->seed = o->seed;
    place_result_free(&r);
    return err;
}

edgeps_err predict_random(const problem *p, uint64_t seed, edgeps_diag *diag, predict_choice *out)
{
    const place_options o = {.seed = seed, .no_polish = true};
    out->name = "random";
    return choose(p, "random", &o, diag, out);
}

static edgeps_err choose_best(const problem *p, const char *name, uint64_t seed, edgeps_diag *diag,
                              predict_choice *out)
{
    const place_options o = {.seed = seed};
    out->name = name;
    return choose(p, p->count <= EXACT_NODES ? "exact" : "approx", &o, diag, out);
}

static edgeps_err choose_single(const problem *p, uint64_t seed, edgeps_diag *diag,
                                predict_choice *out)
{
    problem one = *p;
    one.max_locals = 1;
    return choose_best(&one, "single", seed, diag, out);
}

static int by_time(const void *a, const void *b)
{
    const predict_choice *x = a, *y = b;
    return (x->round_s > y->round_s) - (x->round_s < y->round_s);
}

static edgeps_err keep(const predict_choice *from, const char *name, predict_choice *out)
{
    *out = *from;
    out->name = name;
    out->plan = (plan){.global = PLAN_NONE};
    return plan_copy(&from->plan, &out->plan);
}

static edgeps_err choose_random(const problem *p, const predict_request *r, edgeps_diag *diag,
                                predict_choice out[2])
{
    predict_choice *drawn = mem_alloc(r->seeds, sizeof *drawn);
    edgeps_err err = drawn ? EDGEPS_OK : EDGEPS_NOMEM;
    for (size_t k = 0; !err && k < r->seeds; k++)
        err = predict_random(p, r->seed + k, diag, &drawn[k]);
    if (!err) {
        qsort(drawn, r->seeds, sizeof *drawn, by_time);
        err = keep(&drawn[(r->seeds - 1) / 2], "median", &out[0]);
    }
    if (!err)
        err = keep(&drawn[r->seeds - 1], "worst", &out[1]);
    predict_choices_free(drawn, drawn ? r->seeds : 0);
    mem_free(drawn);
    return err;
}

edgeps_err predict_choose(const problem *p, const predict_request *r, edgeps_diag *diag,
                          predict_choice out[PREDICT_PLANS], size_t *count)
{
    size_t n = 0;
    edgeps_err err = choose_best(p, "best", r->seed, diag, &out[n++]);
    if (!err && !r->quick) {
        err = choose_random(p, r, diag, &out[n]);
        n += 2;
    }
    if (!err)
        err = choose_single(p, r->seed, diag, &out[n++]);
    *count = n;
    return err;
}

void predict_choices_free(predict_choice *choices, size_t count)
{
    for (size_t k = 0; k < count; k++)
        plan_free(&choices[k].plan);
}
