#include "node/host_int.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

void replan_measure(host *h, void (*then)(host *h))
{
    for (size_t i = 0; i < h->net->count; i++)
        if (h->of_node[i])
            h->of_node[i]->measured = false;
    h->measured = then;
    host_send_all(h, MESSAGE_MEASURE, 0);
    replan_check_measured(h);
}

/* With a quorum the job does not stand still for a node that may be silent: it has measured before.
 */
static bool is_awaited(const host *h, size_t node)
{
    const member *m = h->of_node[node];
    bool spared = h->coordinator.options.spare_suspects && h->coordinator.suspected[node];
    return m && m->welcomed && !m->measured && !spared;
}

/* Who is gone need not answer any more. */
void replan_check_measured(host *h)
{
    if (!h->measured)
        return;
    for (size_t i = 0; i < h->net->count; i++)
        if (is_awaited(h, i))
            return;
    void (*then)(host * h) = h->measured;
    h->measured = NULL;
    then(h);
}

static void clear(planning *p)
{
    plan_free(&p->plan);
    mem_free(p->moves);
    mem_free(p->absent);
    network_free(p->net);
    *p = (planning){.plan = {.global = PLAN_NONE}};
}

void replan_free(host *h) { clear(&h->planning); }

/* The network as it is: the scenario's rates, and storage and speeds as the agents measured them.
 */
/* What the node measures, but less than it could not find room for in this epoch. */
static int64_t offered_bytes(const host *h, size_t node)
{
    int64_t room_bytes = h->health[node].room_bytes, free_bytes = h->of_node[node]->last.free_bytes;
    return room_bytes > 0 && free_bytes >= room_bytes ? room_bytes - 1 : free_bytes;
}

static edgeps_err observe(host *h)
{
    planning *p = &h->planning;
    size_t n = h->net->count, count = 0;
    meter_record *records = mem_alloc(n, sizeof *records);
    p->absent = mem_alloc(n, sizeof *p->absent);
    edgeps_err err = records && p->absent ? EDGEPS_OK : EDGEPS_NOMEM;
    for (size_t i = 0; !err && i < n; i++) {
        const member *m = h->of_node[i];
        p->absent[i] = !h->coordinator.present[i];
        if (!m)
            continue;
        records[count] = meter_nothing((uint32_t)i);
        records[count].free_bytes = offered_bytes(h, i);
        if (m->last.samples_per_s > 0)
            records[count].compute_samples_per_s = m->last.samples_per_s;
        count++;
    }
    if (!err)
        err = meter_correct(h->net, records, count, &p->net);
    mem_free(records);
    return err;
}

/* The first plan: every server's state comes from the coordinator. */
static edgeps_err list_first_moves(planning *p, const job *j)
{
    size_t n = p->plan.count;
    p->moves = mem_alloc(n + 1, sizeof *p->moves);
    if (!p->moves)
        return EDGEPS_NOMEM;
    p->moves[p->move_count++] = (adapt_move){.role = ADAPT_GLOBAL,
                                             .from = PLAN_NONE,
                                             .to = p->plan.global,
                                             .bytes = job_global_state_bytes(j)};
    for (size_t i = 0; i < n; i++)
        if (plan_is_local(&p->plan, i))
            p->moves[p->move_count++] = (adapt_move){.role = ADAPT_LOCAL,
                                                     .from = PLAN_NONE,
                                                     .to = (int32_t)i,
                                                     .bytes = job_local_state_bytes(j)};
    return EDGEPS_OK;
}

static edgeps_err place(host *h, const problem *pr)
{
    planning *p = &h->planning;
    place_options o = {.seed = h->options->seed, .no_polish = h->options->no_polish};
    place_result r;
    edgeps_err err = place_run(h->options->algorithm, pr, &o, &p->diag, &r);
    if (err)
        return err;
    snprintf(p->reason, sizeof p->reason, "%s", r.reason);
    if (r.status == PLACE_INFEASIBLE) {
        err = EDGEPS_INFEASIBLE;
    } else {
        err = plan_copy(&r.plan, &p->plan);
        p->plan.generation = h->coordinator.plan.generation + 1;
        p->round_s = r.cost.round_s;
        p->bound_s = r.lower_bound_s;
    }
    place_result_free(&r);
    return err ? err : list_first_moves(p, &h->options->job);
}

static bool releases_any(const adapt_move *moves, size_t count)
{
    bool any = false;
    for (size_t k = 0; k < count; k++)
        any |= moves[k].releases && moves[k].from != PLAN_NONE;
    return any;
}

/* Whether the source, or one whose state would wait at it, is gone. */
static bool is_released(const host *h, const adapt_move *m)
{
    const plan *pl = &h->coordinator.plan;
    if (m->from == PLAN_NONE || m->from == pl->global || plan_is_local(pl, (size_t)m->from))
        return m->from != PLAN_NONE && h->released[m->from];
    for (size_t i = 0; i < pl->count; i++)
        if (h->released[i])
            return true;
    return false;
}

/* In the middle of an epoch a node is gone, and nobody waits for local servers to be copied: they
 * get their parameters when they attach. So does one that would copy from its own node, or from a
 * server that is released. */
static bool is_made(const host *h, const adapt_move *m)
{
    return m->role == ADAPT_GLOBAL ||
           (!h->coordinator.epoch_begun && m->from != m->to && !is_released(h, m));
}

/* Where all moves have room in any order the global server goes last: until the commit it stands
 * still. */
static edgeps_err copy_moves(host *h, const adapt_result *r)
{
    planning *p = &h->planning;
    bool any_order = !releases_any(r->moves, r->move_count);
    p->moves = mem_alloc(r->move_count, sizeof *p->moves);
    if (!p->moves)
        return EDGEPS_NOMEM;
    for (int of_global = 0; of_global < 1 + any_order; of_global++)
        for (size_t k = 0; k < r->move_count; k++) {
            const adapt_move *m = &r->moves[k];
            bool turn = !any_order || (m->role == ADAPT_GLOBAL) == of_global;
            if (turn && is_made(h, m))
                p->moves[p->move_count++] = *m;
        }
    return EDGEPS_OK;
}

/* The state that was released comes from the checkpoint. */
static edgeps_err bring_home(planning *p, const plan *current, const job *j)
{
    adapt_move *moves = mem_resize(p->moves, p->move_count + 1, sizeof *moves);
    if (!moves)
        return EDGEPS_NOMEM;
    size_t kept = 0;
    for (size_t k = 0; k < p->move_count; k++)
        if (moves[k].role != ADAPT_GLOBAL)
            moves[kept++] = moves[k];
    moves[kept++] = (adapt_move){.role = ADAPT_GLOBAL,
                                 .from = PLAN_NONE,
                                 .to = p->plan.global,
                                 .bytes = job_global_state_bytes(j)};
    p->moves = moves;
    p->move_count = kept;
    p->plan.generation = current->generation + 1;
    return EDGEPS_OK;
}

/* A node that is gone although the plan gives it a role, or PLAN_NONE. */
static int64_t missing(const planning *p, const plan *pl)
{
    for (size_t i = 0; i < pl->count; i++)
        if (p->absent[i] && plan_has_role(pl, i))
            return (int64_t)i;
    return PLAN_NONE;
}

/* "cause: what is done about it": the part behind the last colon, if there is one. */
static const char *measures_of(const char *reason)
{
    const char *colon = strrchr(reason, ':');
    return colon ? colon + 1 + (colon[1] == ' ') : "";
}

/* The planner sees a dead node as one that may carry no role; people are told of the death. */
static void explain(planning *p, const host *h, const char *reason, int64_t gone)
{
    const char *measures = measures_of(reason);
    size_t cause = measures[0] ? (size_t)(measures - reason) - 2 : strlen(reason);
    if (gone != PLAN_NONE)
        snprintf(p->cause, sizeof p->cause, "%s is gone", host_name(h, gone));
    else
        snprintf(p->cause, sizeof p->cause, "%.*s", (int)cause, reason);
    snprintf(p->reason, sizeof p->reason, "%s%s%s", p->cause, measures[0] ? ": " : "", measures);
}

/* Each epoch once, as it begins: not after a loss in its middle. */
static edgeps_err remember(host *h, const problem *pr)
{
    edgeps_err err = EDGEPS_OK;
    if (h->coordinator.epoch_begun || h->coordinator.epoch <= h->remembered_epoch)
        return EDGEPS_OK;
    if (!h->history)
        err = adapt_history_make(pr->count, &h->history);
    if (!err) {
        adapt_history_add(h->history, pr);
        h->remembered_epoch = h->coordinator.epoch;
    }
    return err;
}

static edgeps_err adapt_between_epochs(host *h, const problem *pr, const plan *current,
                                       adapt_options *o, adapt_result *out)
{
    int64_t *forecast = mem_alloc(pr->count, sizeof *forecast);
    if (!forecast)
        return EDGEPS_NOMEM;
    adapt_history_advise(h->history, current, o->horizon_epochs, forecast, o);
    edgeps_err err = adapt_step(pr, current, o, &h->planning.diag, out);
    mem_free(forecast);
    return err;
}

static edgeps_err adapt(host *h, const problem *pr)
{
    planning *p = &h->planning;
    const plan *current = &h->coordinator.plan;
    int64_t gone = missing(p, current);
    bool must = gone != PLAN_NONE;
    adapt_options o = {.mode = h->options->adjust,
                       .algorithm = h->options->algorithm,
                       .seed = h->options->seed,
                       .horizon_epochs = (double)(h->options->epochs - h->coordinator.epoch + 1),
                       .hysteresis = h->options->hysteresis};
    if (must && o.mode == ADAPT_OFF)
        o.mode = ADAPT_ADJUST; /* without its dead the job cannot go on as planned */
    adapt_result r;
    edgeps_err err = h->coordinator.epoch_begun || !h->history
                         ? adapt_step(pr, current, &o, &p->diag, &r)
                         : adapt_between_epochs(h, pr, current, &o, &r);
    if (err)
        return err;
    explain(p, h, r.reason, gone);
    if (o.mode == ADAPT_OFF && r.reason[0])
        snprintf(p->advice, sizeof p->advice, "%s", r.reason);
    if (must && !r.changed)
        err = EDGEPS_INFEASIBLE;
    if (!err)
        err = plan_copy(&r.plan, &p->plan);
    if (!err)
        err = copy_moves(h, &r);
    if (!err && h->homeless)
        err = bring_home(p, current, &h->options->job);
    p->round_s = (r.changed ? r.new_epoch_s : r.old_epoch_s) / (double)pr->rounds;
    adapt_result_free(&r);
    return err;
}

static void work(void *ctx)
{
    host *h = ctx;
    planning *p = &h->planning;
    problem_options o = {.max_locals = h->options->max_locals,
                         .worker_samples = h->samples_of,
                         .absent = p->absent,
                         .rounds = h->rounds};
    problem *pr;
    p->err = problem_make(p->net, &h->options->job, &o, &p->diag, &pr);
    if (p->err == EDGEPS_INFEASIBLE)
        snprintf(p->reason, sizeof p->reason, "%.255s", p->diag.text);
    if (p->err)
        return;
    p->err = remember(h, pr);
    if (!p->err)
        p->err = h->coordinator.plan.global == PLAN_NONE ? place(h, pr) : adapt(h, pr);
    problem_free(pr);
}

/* The global server's successor starts from an older state where its owner is gone, or cut off. */
static bool is_restored(const host *h)
{
    const planning *p = &h->planning;
    int32_t global = h->coordinator.plan.global;
    bool gone = h->homeless || (global != PLAN_NONE && p->absent[global]);
    for (size_t k = 0; k < p->move_count && global != PLAN_NONE; k++)
        gone |= p->moves[k].role == ADAPT_GLOBAL && p->moves[k].from == PLAN_NONE;
    return gone;
}

static void worked(void *ctx)
{
    host *h = ctx;
    planning *p = &h->planning;
    p->under_way = false;
    if (h->ended)
        return;
    if (p->advice[0])
        record_event(h,
                     (meter_event){.kind = METER_ADVICE, .epoch = h->now_epoch, .text = p->advice});
    if (p->err == EDGEPS_INFEASIBLE)
        drive_post(h, (coordinator_event){.kind = COORDINATOR_NO_PLAN});
    else if (p->err)
        host_fail(h, diag_fail(h->diag, p->err, "planning: %s", p->diag.text));
    else
        drive_post(h, (coordinator_event){.kind = COORDINATOR_PLANNED,
                                          .plan = &p->plan,
                                          .move_count = p->move_count,
                                          .restored = is_restored(h),
                                          .releases = releases_any(p->moves, p->move_count)});
}

static void start_work(host *h)
{
    if (observe(h) || loop_work(h->loop, work, worked, h))
        host_fail(h, diag_fail(h->diag, EDGEPS_NOMEM, "no memory to plan"));
    else
        h->planning.under_way = true;
}

void replan_want(host *h, coordinator_why why)
{
    clear(&h->planning);
    h->planning.why = why;
    if (!h->coordinator.epoch_begun) {
        h->now_epoch = h->coordinator.epoch;
        scenario_apply(h, (int)h->coordinator.epoch);
    }
    replan_measure(h, start_work);
}
