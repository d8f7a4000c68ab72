/* The order of the moves. What a node holds depends on how far each move has come, not on the order
 * in which they were made: so the search goes over these states, breadth first. A state says of
 * each move whether it waits, is done, or has its state waiting on a third node (a stop-over). */
#include "adapt/moves_int.h"

#include "base/mem.h"

#include <string.h>

/* Most states that are searched; with m moves and s places for stop-overs there are (s + 2)^m. */
#define MOST_STATES (UINT32_C(1) << 16)
#define NOT_SEEN UINT32_MAX

enum { WAITS, DONE, PARKED }; /* PARKED + s: on place s */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* What a move takes at its target and gives back at its source. */
typedef struct step {
    adapt_move move;
    int64_t take_bytes;
    int32_t release; /* node, or PLAN_NONE */
    int64_t release_bytes;
    int after;   /* step that must be done first, or -1 */
    uint32_t at; /* WAITS, DONE, PARKED + place, in the state at hand */
} step;

typedef struct schedule {
    const transition *t;
    int64_t *held; /* per node: bytes of servers and waiting states, in the state at hand */
    step *steps;
    size_t count;
    uint32_t *places; /* nodes for stop-overs */
    size_t place_count;
    uint32_t *before; /* per state: the one that it was reached from */
    uint32_t *queue;
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

/* Counts the step as having come to `at` (sign 1), or takes it out of the account (-1). */
static void account(schedule *s, const step *w, uint32_t at, int64_t sign)
{
    if (at == WAITS)
        return;
    if (w->release != PLAN_NONE)
        s->held[w->release] -= sign * w->release_bytes;
    if (at == DONE)
        s->held[w->move.to] += sign * w->take_bytes;
    else
        s->held[s->places[at - PARKED]] += sign * w->move.bytes;
}

static void bring(schedule *s, size_t k, uint32_t at)
{
    account(s, &s->steps[k], s->steps[k].at, -1);
    s->steps[k].at = at;
    account(s, &s->steps[k], at, 1);
}

/* A server is released when nobody copies from its node any more; where a local server stands
 * beside the global one, copies are taken from that. */
static bool waits_for(const schedule *s, const step *w, const step *other)
{
    if (w->release == PLAN_NONE || w->release != w->move.from || other->at != WAITS)
        return false;
    bool stands = w->move.role == ADAPT_GLOBAL && s->t->old_children[w->release] > 0;
    /* Whoever comes after another move copies what that one brought, not what goes. */
    bool reads = other->after < 0 && other->move.from == w->move.from;
    return !stands && reads && other->release == PLAN_NONE;
}

static bool may_begin(const schedule *s, size_t k)
{
    const step *w = &s->steps[k];
    if (w->after >= 0 && s->steps[w->after].at != DONE)
        return false;
    for (size_t other = 0; other < s->count; other++)
        if (other != k && waits_for(s, w, &s->steps[other]))
            return false;
    return true;
}

/* A node has one state of a kind: none waits where a server of its kind was or will be. */
static bool can_park(const schedule *s, const step *w, size_t place)
{
    const problem *p = s->t->p;
    size_t over = s->places[place];
    if (w->move.role == ADAPT_LOCAL &&
        (s->t->old_children[over] > 0 || s->t->next_children[over] > 0))
        return false;
    return w->move.from != PLAN_NONE && (int32_t)over != w->move.from &&
           (int32_t)over != w->move.to &&
           problem_rate_bytes_per_s(p, (size_t)w->move.from, over) > 0 &&
           problem_rate_bytes_per_s(p, over, (size_t)w->move.to) > 0;
}

/* May step k go on to `at`, in the state at hand? */
static bool allowed(schedule *s, size_t k, uint32_t at)
{
    step *w = &s->steps[k];
    size_t node = at == DONE ? (size_t)w->move.to : s->places[at - PARKED];
    uint32_t was = w->at;
    if (was == WAITS ? !may_begin(s, k) : was == DONE || at != DONE)
        return false;
    if (at != DONE && !can_park(s, w, at - PARKED))
        return false;
    /* The source is given up when the state has arrived. */
    int64_t needed = at == DONE ? w->take_bytes : w->move.bytes;
    return s->held[node] + needed <= s->t->p->nodes[node].free_bytes;
}

/* ---- the search ---- */

static uint32_t base_of(const schedule *s) { return PARKED + (uint32_t)s->place_count; }

/* Number of states, or 0 when there are too many to search. */
static uint32_t count_states(size_t steps, size_t places)
{
    uint64_t states = 1;
    for (size_t k = 0; k < steps && states <= MOST_STATES; k++)
        states *= PARKED + places;
    return states <= MOST_STATES ? (uint32_t)states : 0;
}

static void stand_at(schedule *s, uint32_t state)
{
    for (size_t k = 0; k < s->count; k++, state /= base_of(s))
        bring(s, k, state % base_of(s));
}

static uint32_t all_done(const schedule *s)
{
    uint32_t state = 0;
    for (size_t k = 0; k < s->count; k++)
        state = state * base_of(s) + DONE;
    return state;
}

/* Queues the states that one hop of step k leads to; `weight` is that of its digit. Returns the
 * queue's new end. */
static size_t reach(schedule *s, uint32_t state, size_t k, uint32_t weight, size_t tail)
{
    for (uint32_t at = DONE; at < base_of(s); at++) {
        uint32_t next = state + weight * at - weight * s->steps[k].at;
        if (s->before[next] != NOT_SEEN || !allowed(s, k, at))
            continue;
        s->before[next] = state;
        s->queue[tail++] = next;
    }
    return tail;
}

/* Finds the way with the fewest hops; s->before leads back along it. */
static bool search(schedule *s)
{
    uint32_t goal = all_done(s);
    size_t head = 0, tail = 0;
    s->queue[tail++] = 0;
    s->before[0] = 0;
    while (head < tail && s->before[goal] == NOT_SEEN) {
        uint32_t state = s->queue[head++], weight = 1;
        stand_at(s, state);
        for (size_t k = 0; k < s->count; k++, weight *= base_of(s))
            tail = reach(s, state, k, weight, tail);
    }
    return s->before[goal] != NOT_SEEN;
}

/* One hop of the way, from `state` to `next`. */
static adapt_move hop(schedule *s, uint32_t state, uint32_t next)
{
    uint32_t base = base_of(s), was, at;
    size_t k = 0;
    while (state % base == next % base) {
        state /= base;
        next /= base;
        k++;
    }
    was = state % base;
    at = next % base;
    adapt_move m = s->steps[k].move;
    m.releases = was != WAITS || s->steps[k].release != PLAN_NONE;
    if (was != WAITS)
        m.from = (int32_t)s->places[was - PARKED];
    if (at != DONE)
        m.to = (int32_t)s->places[at - PARKED];
    if (was != WAITS || at != DONE)
        m.transfer_s = moves_transfer_s(s->t, &m);
    return m;
}

static void take_way(schedule *s, adapt_move *moves, size_t *count)
{
    size_t hops = 0;
    for (uint32_t state = all_done(s); state != 0; state = s->before[state])
        hops++;
    *count = hops;
    for (uint32_t state = all_done(s); state != 0; state = s->before[state])
        moves[--hops] = hop(s, s->before[state], state);
}

/* ---- places for stop-overs ---- */

static bool is_listed(const schedule *s, size_t listed, size_t node)
{
    for (size_t l = 0; l < listed; l++)
        if (s->places[l] == node)
            return true;
    return false;
}

static bool takes_part(const schedule *s, size_t node)
{
    for (size_t k = 0; k < s->count; k++)
        if (s->steps[k].move.from == (int32_t)node || s->steps[k].move.to == (int32_t)node)
            return true;
    return false;
}

static int64_t spare_bytes(const schedule *s, size_t node)
{
    return s->t->p->nodes[node].free_bytes - s->held[node];
}

/* The roomiest node that takes no part and is not listed yet; count: none has room. */
static size_t roomiest(const schedule *s, size_t listed)
{
    size_t best = s->t->p->count;
    int64_t most = job_local_state_bytes(&s->t->p->job) - 1;
    for (size_t v = 0; v < s->t->p->count; v++)
        if (s->t->p->nodes[v].serve && spare_bytes(s, v) > most && !takes_part(s, v) &&
            !is_listed(s, listed, v)) {
            best = v;
            most = spare_bytes(s, v);
        }
    return best;
}

/* Of the nodes that take no part, no more are of use than there are moves; those that do may have
 * room in between. Returns their number. */
static size_t list_places(schedule *s)
{
    const problem *p = s->t->p;
    size_t listed = 0;
    for (size_t v; listed < s->count && (v = roomiest(s, listed)) < p->count;)
        s->places[listed++] = (uint32_t)v;
    for (size_t v = 0; v < p->count; v++)
        if (p->nodes[v].serve && takes_part(s, v))
            s->places[listed++] = (uint32_t)v;
    return listed;
}

/* ---- the whole ---- */

/* Searches with the first `places` places. */
static edgeps_err try_places(schedule *s, size_t places, bool *found)
{
    s->place_count = places;
    uint32_t states = count_states(s->count, places);
    s->before = mem_alloc(states, sizeof *s->before);
    s->queue = mem_alloc(states, sizeof *s->queue);
    edgeps_err err = s->before && s->queue ? EDGEPS_OK : EDGEPS_NOMEM;
    if (!err) {
        memset(s->before, UINT8_MAX, states * sizeof *s->before);
        *found = search(s);
        stand_at(s, 0);
    }
    mem_free(s->queue);
    s->queue = NULL;
    if (err || !*found) {
        mem_free(s->before);
        s->before = NULL;
    }
    return err;
}

/* For long lists: whatever fits goes next. */
static edgeps_err go_greedily(schedule *s, adapt_move *moves, bool *found)
{
    size_t ordered = 0;
    bool progress = true;
    uint32_t *order = mem_alloc(s->count, sizeof *order);
    if (!order)
        return EDGEPS_NOMEM;
    while (progress) {
        progress = false;
        for (size_t k = 0; k < s->count; k++) {
            if (s->steps[k].at != WAITS || !allowed(s, k, DONE))
                continue;
            bring(s, k, DONE);
            order[ordered++] = (uint32_t)k;
            progress = true;
        }
    }
    *found = ordered == s->count;
    for (size_t k = 0; *found && k < ordered; k++) {
        const step *w = &s->steps[order[k]];
        moves[k] = w->move;
        moves[k].releases = w->release != PLAN_NONE;
    }
    mem_free(order);
    return EDGEPS_OK;
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

/* With as many places as the limit of states allows. */
static edgeps_err search_stopovers(schedule *s, bool *found, bool *complete)
{
    size_t listed = list_places(s), places = listed;
    while (places > 0 && count_states(s->count, places) == 0)
        places--;
    *complete = places == listed;
    *found = false;
    return places > 0 ? try_places(s, places, found) : EDGEPS_OK;
}

static edgeps_err find_order(schedule *s, adapt_move *moves, size_t *count, moves_order_kind *kind)
{
    bool found = false, complete = false;
    edgeps_err err = EDGEPS_OK;
    *kind = MOVES_ONE_BY_ONE;
    if (count_states(s->count, 0) == 0) {
        err = go_greedily(s, moves, &found);
        *kind = found ? MOVES_ONE_BY_ONE : MOVES_NOT_FOUND;
        return err;
    }
    err = try_places(s, 0, &found);
    if (!err && !found) {
        replace_in_place(s);
        err = try_places(s, 0, &found);
    }
    if (!err && !found) {
        err = search_stopovers(s, &found, &complete);
        *kind = found ? MOVES_WITH_STOPOVER : complete ? MOVES_IMPOSSIBLE : MOVES_NOT_FOUND;
    }
    if (found)
        take_way(s, moves, count);
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
    s.steps = mem_alloc(*count, sizeof *s.steps);
    s.places = mem_alloc(3 * *count, sizeof *s.places);
    if (!s.held || !s.steps || !s.places)
        goto out;
    hold_old_servers(&s);
    make_steps(&s, moves);
    err = find_order(&s, moves, count, kind);
out:
    mem_free(s.held);
    mem_free(s.steps);
    mem_free(s.places);
    mem_free(s.before);
    return err;
}
