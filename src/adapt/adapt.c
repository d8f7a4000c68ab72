#include "adapt/adapt.h"

#include "adapt/moves_int.h"
#include "adapt/reason_int.h"
#include "adapt/search_int.h"
#include "base/mem.h"
#include "place/place.h"

#include <math.h>
#include <string.h>

#define QUICK_ALGORITHM "greedy"
#define MOST_LOOKS 1200 /* about two seconds of it in a network of 1000 nodes */
/* A change for less than this fraction of a round is not worth a new generation. */
#define LEAST_GAIN 0.01

/* One step from the question to the result. */
typedef struct work {
    const problem *p;
    const plan *current;
    const adapt_options *options;
    edgeps_diag broken; /* the constraint that the plan in force breaks */
    double old_round_s;
    int32_t narrow;      /* a node that will have no room for its servers, or PLAN_NONE */
    size_t narrow_count; /* such nodes */
    search search;
    adapt_result result;
} work;

static edgeps_err check_current(const problem *p, const plan *current, edgeps_diag *diag)
{
    int32_t most = (int32_t)p->count - 1;
    if (current->count != p->count)
        return diag_fail(diag, EDGEPS_FORMAT, "the plan in force has %zu nodes, the network %zu",
                         current->count, p->count);
    if (current->global < PLAN_NONE || current->global > most)
        return diag_fail(diag, EDGEPS_FORMAT, "the plan in force: global server %d is no node",
                         current->global);
    for (size_t i = 0; i < p->count; i++)
        if (current->parent[i] < PLAN_NONE || current->parent[i] > most)
            return diag_fail(diag, EDGEPS_FORMAT, "the plan in force: parent %d of %s is no node",
                             current->parent[i], p->nodes[i].name);
    return EDGEPS_OK;
}

/* Nodes of the plan in force that the forecast leaves no room. */
static void find_narrow(work *w)
{
    const search *s = &w->search;
    transition t = {w->p,          w->current,   w->current, s->old_children, s->old_children,
                    s->old_locals, s->old_locals};
    w->narrow = PLAN_NONE;
    for (size_t v = 0; v < w->p->count && w->options->forecast_bytes; v++) {
        int64_t need = moves_local_need(&t, s->old_children[v]) +
                       moves_global_need(&t, w->current, s->old_locals, v);
        if (need <= w->options->forecast_bytes[v])
            continue;
        w->narrow = w->narrow_count++ == 0 ? (int32_t)v : w->narrow;
    }
}

static edgeps_err judge_current(work *w)
{
    find_narrow(w);
    w->old_round_s = INFINITY;
    w->result.repair = plan_check(w->current, w->p, &w->broken) != EDGEPS_OK;
    edgeps_err err = w->result.repair ? EDGEPS_OK : cost_round_s(w->p, w->current, &w->old_round_s);
    w->result.old_epoch_s = (double)w->p->rounds * w->old_round_s;
    w->result.new_epoch_s = w->result.old_epoch_s;
    return err;
}

/* Ends the quick algorithm with its first candidate for the global server, or when the looks are
 * used up. */
static bool look(void *context, const place_progress *now)
{
    double *looks_left = context;
    return now->done_fraction == 0 && --*looks_left > 0;
}

/* Makes a plan from scratch and hands it to the search, if there is one. */
static edgeps_err from_scratch(work *w, const char *algorithm, edgeps_diag *diag)
{
    place_options options = {.seed = w->options->seed};
    place_result placed = {0};
    edgeps_err err = place_run(algorithm, w->p, &options, diag, &placed);
    if (err)
        return err;
    if (placed.status != PLACE_INFEASIBLE)
        err = search_stand(&w->search, &placed.plan);
    place_result_free(&placed);
    return err;
}

/* Another start for the search: a plan of the quick algorithm, without what is proved and said
 * about it. */
static edgeps_err try_quick_plan(work *w, edgeps_diag *diag)
{
    double looks_left = MOST_LOOKS * (w->options->effort > 0 ? w->options->effort : 1);
    place_options options = {.seed = w->options->seed, .progress = look, .context = &looks_left};
    place_result placed = {.plan.global = PLAN_NONE};
    size_t a = 0;
    while (strcmp(place_algorithms[a].name, QUICK_ALGORITHM) != 0)
        a++;
    edgeps_err err = place_algorithms[a].run(w->p, &options, diag, &placed);
    if (!err && placed.status != PLACE_INFEASIBLE)
        err = search_try(&w->search, &placed.plan);
    plan_free(&placed.plan);
    return err;
}

static const char *algorithm_of(const work *w)
{
    return w->options->algorithm ? w->options->algorithm : place_algorithms[0].name;
}

/* Descends from the plan in force and from one of a quick placement, as the first descent may end
 * where no single change helps. The moves count in both. */
static edgeps_err adjust(work *w, edgeps_diag *diag)
{
    search *s = &w->search;
    edgeps_err err = search_repair(s);
    if (!err && s->base.broken > 0)
        err = from_scratch(w, algorithm_of(w), diag);
    if (w->options->mode == ADAPT_REPAIR)
        return err;
    if (!err && s->base.broken == 0)
        err = search_improve(s);
    if (!err && s->base.broken == 0)
        err = try_quick_plan(w, diag);
    return err;
}

/* The search stands at a plan that may follow: is it to be taken? An adjustment that pays was
 * found by an objective in which the moves count; a plan from scratch is taken as it is. */
static bool worth_taking(const work *w)
{
    const verdict *v = &w->search.base;
    if (v->broken > 0 || plan_equal(search_plan(&w->search), w->current))
        return false;
    if (w->result.repair || w->options->mode == ADAPT_REPLAN || v->tight < w->narrow_count)
        return true;
    return w->old_round_s - v->round_s > LEAST_GAIN * w->old_round_s;
}

static void explain_staying(work *w, line *l)
{
    w->result.infeasible = w->result.repair;
    if (w->result.infeasible)
        line_add(l, "%s; no plan keeps all constraints", w->broken.text);
    else
        line_add(l, "no change of the plan saves more than it costs");
}

static void explain_change(const work *w, const transition *t, line *l)
{
    const adapt_result *r = &w->result;
    if (r->repair)
        line_add(l, "%s: ", w->broken.text);
    else if (w->search.base.tight < w->narrow_count)
        line_add(l, "storage of %s is expected to fall below the need of its servers: ",
                 w->p->nodes[w->narrow].name);
    else
        line_add(l, "saves %.3g s of %.3g s an epoch, moves take %.3g s: ",
                 r->old_epoch_s - r->new_epoch_s, r->old_epoch_s, r->move_s);
    reason_changes(l, t, r->moves, r->move_count);
}

static double total_s(const adapt_move *moves, size_t count)
{
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += moves[k].transfer_s;
    return sum;
}

static void forget_moves(adapt_result *r)
{
    mem_free(r->moves);
    r->moves = NULL;
    r->move_count = 0;
    r->move_s = 0;
}

/* Fills in moves, order and reason of the plan that the search stands at. A plan that is no repair
 * is given up when its moves cannot be made safely while both generations are kept. */
static edgeps_err take_plan(work *w, line *l)
{
    adapt_result *r = &w->result;
    transition t = search_transition(&w->search, search_plan(&w->search));
    moves_order_kind kind;
    r->moves = mem_alloc(moves_room(&t), sizeof *r->moves);
    if (!r->moves)
        return EDGEPS_NOMEM;
    r->move_count = moves_list(&t, r->moves, &r->move_s);
    r->new_epoch_s = (double)w->p->rounds * w->search.base.round_s;
    explain_change(w, &t, l);
    edgeps_err err = moves_order(&t, r->moves, &r->move_count, &kind);
    if (err)
        return err;
    r->move_s = total_s(r->moves, r->move_count);
    if (kind == MOVES_IMPOSSIBLE && r->repair)
        line_add(l, "; no order of the moves leaves room for each");
    if (kind == MOVES_NOT_FOUND && r->repair)
        line_add(l, "; no order of the moves was found that leaves room for each");
    r->changed = true;
    if (kind != MOVES_TOGETHER && !r->repair) {
        l->length = 0;
        line_add(l, "the plan stays: no room for its servers and those of the better plan at once");
        r->new_epoch_s = r->old_epoch_s;
        r->changed = false;
    }
    return EDGEPS_OK;
}

static edgeps_err conclude(work *w)
{
    adapt_result *r = &w->result;
    line l = {r->reason, sizeof r->reason, 0};
    edgeps_err err = EDGEPS_OK;
    if (w->options->mode == ADAPT_OFF)
        line_add(&l, "adjusting is off; it would find: ");
    if (worth_taking(w))
        err = take_plan(w, &l);
    else
        explain_staying(w, &l);
    if (w->options->mode == ADAPT_OFF)
        r->changed = false;
    if (!r->changed)
        forget_moves(r);
    if (!err)
        err = plan_copy(r->changed ? search_plan(&w->search) : w->current, &r->plan);
    if (!err && r->changed)
        r->plan.generation = w->current->generation + 1;
    return err;
}

edgeps_err adapt_step(const problem *p, const plan *current, const adapt_options *options,
                      edgeps_diag *diag, adapt_result *out)
{
    work w = {.p = p, .current = current, .options = options};
    edgeps_err err = check_current(p, current, diag);
    if (err)
        return err;
    err = search_make(p, current, options, &w.search);
    if (err)
        return diag_fail(diag, err, "no memory to adjust a plan of %zu nodes", p->count);
    err = judge_current(&w);
    if (!err)
        err = options->mode == ADAPT_REPLAN ? from_scratch(&w, algorithm_of(&w), diag)
                                            : adjust(&w, diag);
    if (!err)
        err = conclude(&w);
    search_free(&w.search);
    if (!err)
        *out = w.result;
    else
        adapt_result_free(&w.result);
    if (err == EDGEPS_NOMEM)
        diag_fail(diag, err, "no memory to adjust a plan of %zu nodes", p->count);
    return err;
}

void adapt_result_free(adapt_result *r)
{
    plan_free(&r->plan);
    forget_moves(r);
}
