#include "adapt/moves_int.h"

#include "base/mem.h"

#include <string.h>

/* Beyond this many moves a safe order is looked for greedily instead of among all orders. */
#define SEARCHED_MOVES 13

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* What a move takes at its target and gives back at its source. */
typedef struct step {
    adapt_move move;
    int64_t take_bytes;
    int32_t release; /* node, or PLAN_NONE */
    int64_t release_bytes;
    int after; /* step that must come first, or -1 */
} step;

typedef struct schedule {
    const transition *t;
    int64_t *held; /* per node: bytes of servers and waiting states */
    step *steps;
    bool *done; /* per step */
    size_t count;
    uint8_t *order; /* step by step */
} schedule;

static step step_of(const transition *t, const adapt_move *m)
{
    step s = {.move = *m, .release = PLAN_NONE, .after = -1};
    if (m->role == ADAPT_GLOBAL) {
        s.take_bytes = job_global_need_bytes(&t->p->job, (int64_t)t->next_locals);
        if (m->from != PLAN_NONE) {
            s.release = m->from;
            s.release_bytes = job_global_need_bytes(&t->p->job, (int64_t)t->old_locals);
        }
        return s;
    }
    s.take_bytes = moves_local_need(t, t->next_children[m->to]);
    if (m->from != PLAN_NONE && moves_closes(t, (size_t)m->from)) {
        s.release = m->from;
        s.release_bytes = moves_local_need(t, t->old_children[m->from]);
    }
    return s;
}

/* What stands on each node before the first move. A server that stays counts with the larger of
 * its needs. */
static void hold_old_servers(schedule *s)
{
    const transition *t = s->t;
    for (size_t v = 0; v < t->p->count; v++) {
        int64_t local = moves_local_need(t, t->old_children[v]);
        int64_t global = moves_global_need(t, t->old, t->old_locals, v);
        if (local > 0)
            local = larger(local, moves_local_need(t, t->next_children[v]));
        if (global > 0)
            global = larger(global, moves_global_need(t, t->next, t->next_locals, v));
        s->held[v] = moves_gone(t, (int32_t)v) ? 0 : local + global;
    }
}

static void carry_out(schedule *s, size_t k)
{
    const step *w = &s->steps[k];
    s->held[w->move.to] += w->take_bytes;
    if (w->release != PLAN_NONE)
        s->held[w->release] -= w->release_bytes;
    s->done[k] = true;
}

static void start_over(schedule *s)
{
    hold_old_servers(s);
    memset(s->done, 0, s->count * sizeof *s->done);
}

static bool fits(const schedule *s, size_t k)
{
    const step *w = &s->steps[k];
    return s->held[w->move.to] + w->take_bytes <= s->t->p->nodes[w->move.to].free_bytes;
}

/* A server is released when nobody copies from its node any more; where a local server stands
 * beside the global one, copies are taken from that. */
static bool waits_for(const schedule *s, const step *w, size_t other)
{
    const step *before = &s->steps[other];
    if (w->after == (int)other)
        return true;
    if (w->release == PLAN_NONE || w->release != w->move.from)
        return false;
    bool stands = w->move.role == ADAPT_GLOBAL && s->t->old_children[w->release] > 0;
    /* Whoever comes after another move copies what that one brought, not what goes. */
    bool reads = before->after < 0 && before->move.from == w->move.from;
    return !stands && reads && before->release == PLAN_NONE;
}

static bool is_ready(const schedule *s, size_t k)
{
    for (size_t other = 0; other < s->count; other++)
        if (other != k && !s->done[other] && waits_for(s, &s->steps[k], other))
            return false;
    return true;
}

/* Finds an order among all by the sets of moves that can have been made: what is held depends on
 * the set alone. A set's last move is kept in `last`. */
static edgeps_err search_order(schedule *s, bool *found)
{
    uint32_t all = (uint32_t)(1u << s->count) - 1;
    uint8_t *last = mem_alloc((size_t)all + 1, sizeof *last);
    if (!last)
        return EDGEPS_NOMEM;
    memset(last, UINT8_MAX, (size_t)all + 1);
    for (uint32_t set = 0; set < all; set++) {
        if (set != 0 && last[set] == UINT8_MAX)
            continue;
        start_over(s);
        for (size_t k = 0; k < s->count; k++)
            if (set >> k & 1)
                carry_out(s, k);
        for (size_t k = 0; k < s->count; k++)
            if (!s->done[k] && is_ready(s, k) && fits(s, k))
                last[set | 1u << k] = (uint8_t)k;
    }
    *found = all == 0 || last[all] != UINT8_MAX;
    if (*found)
        for (uint32_t set = all, at = (uint32_t)s->count; set; set &= ~(1u << s->order[at]))
            s->order[--at] = last[set];
    mem_free(last);
    return EDGEPS_OK;
}

static void take_order(const schedule *s, adapt_move *moves, size_t *count)
{
    for (size_t k = 0; k < s->count; k++) {
        const step *w = &s->steps[s->order[k]];
        moves[k] = w->move;
        moves[k].releases = w->release != PLAN_NONE;
    }
    *count = s->count;
}

/* Cuts step `k` in two at node `over`, where the bare state waits. */
static void split_step(schedule *s, size_t k, int32_t over)
{
    step *first = &s->steps[k], *second = &s->steps[s->count];
    *second = *first;
    first->move.to = over;
    first->take_bytes = first->move.bytes;
    first->move.transfer_s = moves_transfer_s(s->t, &first->move);
    second->move.from = over;
    second->release = over;
    second->release_bytes = second->move.bytes;
    second->after = (int)k;
    second->move.transfer_s = moves_transfer_s(s->t, &second->move);
    s->count++;
}

static bool can_stop_over(const schedule *s, size_t k, size_t over)
{
    const adapt_move *m = &s->steps[k].move;
    const problem *p = s->t->p;
    return p->nodes[over].serve && m->from != PLAN_NONE && (int32_t)over != m->from &&
           (int32_t)over != m->to && problem_rate_bytes_per_s(p, (size_t)m->from, over) > 0 &&
           problem_rate_bytes_per_s(p, over, (size_t)m->to) > 0;
}

static edgeps_err search_stopover(schedule *s, bool *found)
{
    edgeps_err err = EDGEPS_OK;
    size_t count = s->count;
    *found = false;
    for (size_t k = 0; k < count; k++)
        for (size_t over = 0; over < s->t->p->count; over++) {
            if (!can_stop_over(s, k, over))
                continue;
            step whole = s->steps[k];
            split_step(s, k, (int32_t)over);
            err = search_order(s, found);
            if (err || *found)
                return err;
            s->steps[k] = whole;
            s->count = count;
        }
    return err;
}

/* For long lists: whatever fits goes next. */
static bool greedy_order(schedule *s)
{
    size_t ordered = 0;
    start_over(s);
    bool progress = true;
    while (progress) {
        progress = false;
        for (size_t k = 0; k < s->count; k++) {
            if (s->done[k] || !is_ready(s, k) || !fits(s, k))
                continue;
            carry_out(s, k);
            s->order[ordered++] = (uint8_t)k;
            progress = true;
        }
    }
    return ordered == s->count;
}

static size_t global_step(const schedule *s)
{
    size_t k = 0;
    while (k < s->count && s->steps[k].move.role != ADAPT_GLOBAL)
        k++;
    return k;
}

/* A local server opens where the global one leaves: it need not fit beside it, but copies from
 * where that has gone. */
static void replace_in_place(schedule *s)
{
    size_t global = global_step(s);
    for (size_t k = 0; k < s->count && global < s->count; k++) {
        step *w = &s->steps[k];
        if (w->move.from != w->move.to || w->move.to != s->t->old->global)
            continue;
        w->move.from = s->t->next->global;
        w->move.transfer_s = moves_transfer_s(s->t, &w->move);
        w->after = (int)global;
    }
}

static edgeps_err search_orders(schedule *s, moves_order_kind *kind, bool *found)
{
    *kind = MOVES_ONE_BY_ONE;
    edgeps_err err = search_order(s, found);
    if (err || *found)
        return err;
    replace_in_place(s);
    err = search_order(s, found);
    if (err || *found)
        return err;
    *kind = MOVES_WITH_STOPOVER;
    return search_stopover(s, found);
}

static edgeps_err find_order(schedule *s, moves_order_kind *kind)
{
    bool found = false;
    edgeps_err err = EDGEPS_OK;
    *kind = MOVES_ONE_BY_ONE;
    if (s->count <= SEARCHED_MOVES)
        err = search_orders(s, kind, &found);
    else if (s->count < UINT8_MAX)
        found = greedy_order(s);
    if (!found)
        *kind = MOVES_UNSAFE;
    return err;
}

/* Of the new servers that copy from a closing one, the first in the list releases it. With the old
 * global server gone, new local servers copy from the next one, which must be there. */
static void make_steps(schedule *s, const adapt_move *moves)
{
    const transition *t = s->t;
    for (size_t k = 0; k < s->count; k++) {
        step *w = &s->steps[k];
        *w = step_of(t, &moves[k]);
        for (size_t earlier = 0; earlier < k; earlier++)
            if (w->move.role == ADAPT_LOCAL && moves[earlier].role == ADAPT_LOCAL &&
                moves[earlier].from == w->move.from)
                w->release = PLAN_NONE;
        if (k > 0 && moves_gone(t, t->old->global))
            w->after = 0;
    }
}

edgeps_err moves_order(const transition *t, adapt_move *moves, size_t *count,
                       moves_order_kind *kind)
{
    if (moves_coexist(t)) {
        *kind = MOVES_TOGETHER;
        return EDGEPS_OK;
    }
    edgeps_err err = EDGEPS_NOMEM;
    schedule s = {.t = t, .count = *count};
    s.held = mem_alloc(t->p->count, sizeof *s.held);
    s.steps = mem_alloc(*count + 1, sizeof *s.steps);
    s.order = mem_alloc(*count + 1, sizeof *s.order);
    s.done = mem_alloc(*count + 1, sizeof *s.done);
    if (!s.held || !s.steps || !s.order || !s.done)
        goto out;
    make_steps(&s, moves);
    err = find_order(&s, kind);
    if (!err && *kind != MOVES_UNSAFE)
        take_order(&s, moves, count);
out:
    mem_free(s.held);
    mem_free(s.steps);
    mem_free(s.order);
    mem_free(s.done);
    return err;
}
