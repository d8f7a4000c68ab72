/* The bound of bound.c, kept up to date. A group is a local server with its workers. What the rest
 * of the tree needs of a group are a few numbers:
 *
 *   - when the first chunk, all but the last, and all are summed there at the earliest;
 *   - how long the round still takes at least when each of these of the new parameters has come to
 *     the server;
 *   - least starts and latencies of its connections, for the loads of its links.
 *
 * They change only with the group itself; what is left is a pass over the local servers. */
#include "cost/search.h"

#include "base/mem.h"
#include "cost/load_int.h"

#include <math.h>
#include <string.h>

typedef struct group {
    moment summed;
    moment rest;
    double least_compute_s; /* of the workers on other nodes */
    double least_out_s;     /* latency to one of them */
    double remote;          /* their number */
} group;

/* How a server and the global server reach each other. */
typedef struct path {
    double up_pace_s, down_pace_s; /* seconds per byte to and from the global server */
    double up_s, down_s;           /* latencies */
} path;

/* A change that can be taken back. */
typedef struct step {
    enum { STEP_ATTACH, STEP_GLOBAL, STEP_GROUP } kind;
    int32_t node;
    int32_t before; /* its parent, or the global server */
    group saved;    /* its group as it was kept */
} step;

struct cost_search {
    const problem *p;
    plan plan;
    amounts wire, added;
    int32_t *first;           /* per server: a worker of it */
    int32_t *next, *previous; /* per worker, within its server's list */
    int32_t *children;
    uint32_t *locals;
    uint32_t *place; /* per node: its index in locals */
    size_t local_count;
    group *groups; /* per node */
    bool *stale;   /* per node: its group changed */
    uint32_t *changed;
    size_t changed_count;
    path *paths;       /* per local server, to the global server */
    int32_t *path_end; /* per node: the global server that its path leads to */
    int32_t critical;
    double bound_s; /* of the last call */
    double *end_s;  /* per local server, of the last bound: when it and its workers are done */
    step *steps;
    size_t step_count, step_room;
};

/* Through one connection. */
static moment cross(const cost_search *s, moment ready, double pace_s, double latency_s)
{
    return moment_plus(moment_through(&s->wire, ready, 1, pace_s), latency_s);
}

/* ---- a group from its workers ---- */

static void gather_worker(const cost_search *s, size_t server, size_t worker, group *g,
                          moment *complete, double *least_in_s)
{
    const problem *p = s->p;
    moment ready = moment_at(p->nodes[worker].compute_s);
    if (worker == server) {
        *complete = moment_later(*complete, ready);
        return;
    }
    double in_s = problem_latency_s(p, worker, server);
    double out_s = problem_latency_s(p, server, worker);
    double in_pace_s = 1 / problem_rate_bytes_per_s(p, worker, server);
    double out_pace_s = 1 / problem_rate_bytes_per_s(p, server, worker);
    *complete = moment_later(*complete, cross(s, ready, in_pace_s, in_s));
    g->rest = moment_later(g->rest, moment_plus(moment_rest(&s->wire, 1, out_pace_s), out_s));
    g->least_compute_s = smaller_of(g->least_compute_s, ready.all_s);
    g->least_out_s = smaller_of(g->least_out_s, out_s);
    g->remote++;
    *least_in_s = smaller_of(*least_in_s, in_s);
}

static group compute_group(const cost_search *s, size_t server)
{
    const problem_node *node = &s->p->nodes[server];
    group g = {
        .rest = {-INFINITY, -INFINITY, 0}, .least_compute_s = INFINITY, .least_out_s = INFINITY};
    moment complete = moment_at(0);
    double least_in_s = INFINITY;
    for (int32_t i = s->first[server]; i != PLAN_NONE; i = s->next[i])
        gather_worker(s, server, (size_t)i, &g, &complete, &least_in_s);
    if (g.remote > 0) {
        moment ready = moment_at(g.least_compute_s);
        moment passed = moment_through(&s->wire, ready, g.remote, 1 / node->down_bytes_per_s);
        moment rest = moment_rest(&s->wire, g.remote, 1 / node->up_bytes_per_s);
        complete = moment_later(complete, moment_plus(passed, least_in_s));
        g.rest = moment_later(g.rest, moment_plus(rest, g.least_out_s));
    }
    g.summed = moment_through(&s->added, complete, s->children[server], 1 / node->sum_bytes_per_s);
    return g;
}

/* ---- the rest of the tree ---- */

static void set_paths(cost_search *s)
{
    const problem *p = s->p;
    size_t global = (size_t)s->plan.global;
    for (size_t l = 0; l < s->local_count; l++) {
        size_t j = s->locals[l];
        if (s->path_end[j] == s->plan.global)
            continue;
        s->path_end[j] = s->plan.global;
        s->paths[j] = (path){
            1 / problem_rate_bytes_per_s(p, j, global),
            1 / problem_rate_bytes_per_s(p, global, j),
            problem_latency_s(p, j, global),
            problem_latency_s(p, global, j),
        };
    }
}

static void refresh(cost_search *s)
{
    for (size_t k = 0; k < s->changed_count; k++) {
        size_t j = s->changed[k];
        s->stale[j] = false;
        if (s->children[j] > 0)
            s->groups[j] = compute_group(s, j);
    }
    s->changed_count = 0;
    set_paths(s);
}

/* From when a pull to the server has left to the end of its last worker; what is left of the pull
 * still has to leave. */
static moment rest_behind(const cost_search *s, size_t server)
{
    const path *w = &s->paths[server];
    moment rest = s->groups[server].rest;
    moment left = moment_plus(moment_left(&s->wire, w->down_pace_s), rest.all_s);
    return moment_plus(moment_later(rest, left), w->down_s);
}

/* Connections between the local servers of other nodes and the global server. */
typedef struct fan {
    moment pushed; /* earliest of their starts */
    double least_up_s;
    moment rest; /* least, from when a pull has left */
    double count;
} fan;

static fan fan_of(const cost_search *s, moment *complete)
{
    fan f = {.pushed = moment_at(INFINITY), .least_up_s = INFINITY, .rest = moment_at(INFINITY)};
    for (size_t l = 0; l < s->local_count; l++) {
        size_t j = s->locals[l];
        moment summed = s->groups[j].summed;
        if ((int32_t)j == s->plan.global) {
            *complete = moment_later(*complete, summed);
            continue;
        }
        const path *w = &s->paths[j];
        *complete = moment_later(*complete, cross(s, summed, w->up_pace_s, w->up_s));
        f.pushed = moment_earlier(f.pushed, summed);
        f.least_up_s = smaller_of(f.least_up_s, w->up_s);
        f.rest = moment_earlier(f.rest, rest_behind(s, j));
        f.count++;
    }
    return f;
}

static moment arrival(const cost_search *s, moment summed, size_t server)
{
    const path *w = &s->paths[server];
    return (int32_t)server == s->plan.global ? summed : cross(s, summed, w->down_pace_s, w->down_s);
}

/* Neither link of a server's node can have carried all that must cross it earlier. */
static double node_end_s(const cost_search *s, size_t v, moment summed, const fan *f)
{
    const problem_node *node = &s->p->nodes[v];
    bool global = (int32_t)v == s->plan.global;
    load up = no_load, down = no_load;
    int32_t parent = s->plan.parent[v];
    if (parent != PLAN_NONE && (size_t)parent != v) {
        double start_s = arrival(s, summed, (size_t)parent).first_s;
        load_push(&up, node->compute_s, 1);
        load_pull(&down, start_s, moment_at(problem_latency_s(s->p, (size_t)parent, v)), 1);
    }
    if (s->children[v] > 0) {
        const group *g = &s->groups[v];
        load_push(&down, g->least_compute_s, g->remote);
        load_pull(&up, arrival(s, summed, v).first_s, moment_at(g->least_out_s), g->remote);
        if (!global) {
            load_push(&up, g->summed.first_s, 1);
            load_pull(&down, summed.first_s, rest_behind(s, v), 1);
        }
    }
    if (global) {
        load_push(&down, f->pushed.first_s, f->count);
        load_pull(&up, summed.first_s, f->rest, f->count);
    }
    return larger_of(load_end_s(&s->wire, &up, node->up_bytes_per_s),
                     load_end_s(&s->wire, &down, node->down_bytes_per_s));
}

/* The local server whose sum comes last to the global server. */
static int32_t last_sum(const cost_search *s)
{
    int32_t last = PLAN_NONE;
    double last_s = -INFINITY;
    for (size_t l = 0; l < s->local_count; l++) {
        size_t j = s->locals[l];
        const path *w = &s->paths[j];
        moment at = s->groups[j].summed;
        if ((int32_t)j != s->plan.global)
            at = cross(s, at, w->up_pace_s, w->up_s);
        if (at.all_s > last_s) {
            last_s = at.all_s;
            last = (int32_t)j;
        }
    }
    return last;
}

double cost_search_bound_s(cost_search *s)
{
    refresh(s);
    size_t global = (size_t)s->plan.global;
    const problem_node *node = &s->p->nodes[global];
    moment complete = moment_at(0);
    fan f = fan_of(s, &complete);
    if (f.count > 0) {
        moment passed = moment_through(&s->wire, f.pushed, f.count, 1 / node->down_bytes_per_s);
        complete = moment_later(complete, moment_plus(passed, f.least_up_s));
    }
    moment summed =
        moment_through(&s->added, complete, (double)s->local_count, 1 / node->sum_bytes_per_s);
    double round_s = node_end_s(s, global, summed, &f);
    if (f.count > 0) {
        moment passed = moment_through(&s->wire, summed, f.count, 1 / node->up_bytes_per_s);
        round_s = larger_of(round_s, moment_end_s(passed, f.rest));
    }
    s->critical = PLAN_NONE;
    for (size_t l = 0; l < s->local_count; l++) {
        size_t j = s->locals[l];
        double end_s = moment_end_s(arrival(s, summed, j), s->groups[j].rest);
        end_s = larger_of(end_s, node_end_s(s, j, summed, &f));
        s->end_s[j] = end_s;
        if (end_s > round_s) {
            round_s = end_s;
            s->critical = (int32_t)j;
        }
    }
    s->bound_s = round_s;
    return round_s;
}

double cost_search_strain(const cost_search *s)
{
    double sum = 0;
    for (size_t l = 0; l < s->local_count; l++) {
        const group *g = &s->groups[s->locals[l]];
        double pull = s->end_s[s->locals[l]] / s->bound_s;
        double push = (g->summed.all_s + g->rest.all_s) / s->bound_s;
        for (int square = 0; square < 4; square++) {
            pull *= pull;
            push *= push;
        }
        sum += pull + push;
    }
    return sum;
}

void cost_search_critical(cost_search *s, int32_t servers[2])
{
    cost_search_bound_s(s);
    servers[0] = s->critical;
    servers[1] = last_sum(s);
}

/* ---- changes ---- */

/* Room for the steps of one change: the step itself and two groups. */
#define STEPS_OF_A_CHANGE 3

static edgeps_err reserve_steps(cost_search *s)
{
    size_t wanted = s->step_count + STEPS_OF_A_CHANGE;
    if (wanted <= s->step_room)
        return EDGEPS_OK;
    step *steps = mem_resize(s->steps, 2 * wanted, sizeof *steps);
    if (!steps)
        return EDGEPS_NOMEM;
    s->steps = steps;
    s->step_room = 2 * wanted;
    return EDGEPS_OK;
}

static void save_group(cost_search *s, size_t node)
{
    if (s->stale[node])
        return;
    s->steps[s->step_count++] = (step){STEP_GROUP, (int32_t)node, 0, s->groups[node]};
    s->stale[node] = true;
    s->changed[s->changed_count++] = (uint32_t)node;
}

static void open_local(cost_search *s, size_t node)
{
    s->place[node] = (uint32_t)s->local_count;
    s->locals[s->local_count++] = (uint32_t)node;
}

static void close_local(cost_search *s, size_t node)
{
    uint32_t last = s->locals[--s->local_count];
    s->locals[s->place[node]] = last;
    s->place[last] = s->place[node];
}

static void leave(cost_search *s, size_t worker)
{
    size_t server = (size_t)s->plan.parent[worker];
    int32_t before = s->previous[worker], after = s->next[worker];
    if (before == PLAN_NONE)
        s->first[server] = after;
    else
        s->next[before] = after;
    if (after != PLAN_NONE)
        s->previous[after] = before;
    if (--s->children[server] == 0)
        close_local(s, server);
}

static void enter(cost_search *s, size_t worker, size_t server)
{
    int32_t second = s->first[server];
    s->plan.parent[worker] = (int32_t)server;
    s->first[server] = (int32_t)worker;
    s->previous[worker] = PLAN_NONE;
    s->next[worker] = second;
    if (second != PLAN_NONE)
        s->previous[second] = (int32_t)worker;
    if (s->children[server]++ == 0)
        open_local(s, server);
}

edgeps_err cost_search_attach(cost_search *s, size_t worker, size_t server)
{
    int32_t before = s->plan.parent[worker];
    if (before == (int32_t)server)
        return EDGEPS_OK;
    edgeps_err err = reserve_steps(s);
    if (err)
        return err;
    save_group(s, (size_t)before);
    save_group(s, server);
    s->steps[s->step_count++] =
        (step){.kind = STEP_ATTACH, .node = (int32_t)worker, .before = before};
    leave(s, worker);
    enter(s, worker, server);
    return EDGEPS_OK;
}

edgeps_err cost_search_move_global(cost_search *s, size_t node)
{
    edgeps_err err = reserve_steps(s);
    if (err)
        return err;
    s->steps[s->step_count++] = (step){.kind = STEP_GLOBAL, .before = s->plan.global};
    s->plan.global = (int32_t)node;
    return EDGEPS_OK;
}

void cost_search_keep(cost_search *s)
{
    refresh(s);
    s->step_count = 0;
}

void cost_search_undo(cost_search *s)
{
    while (s->step_count > 0) {
        const step *back = &s->steps[--s->step_count];
        switch (back->kind) {
        case STEP_ATTACH:
            leave(s, (size_t)back->node);
            enter(s, (size_t)back->node, (size_t)back->before);
            break;
        case STEP_GLOBAL:
            s->plan.global = back->before;
            break;
        case STEP_GROUP:
            s->groups[back->node] = back->saved;
            break;
        }
    }
    for (size_t k = 0; k < s->changed_count; k++)
        s->stale[s->changed[k]] = false;
    s->changed_count = 0;
}

/* ---- the whole ---- */

void cost_search_set(cost_search *s, const plan *pl)
{
    size_t n = s->p->count;
    s->plan.global = pl->global;
    s->local_count = s->step_count = s->changed_count = 0;
    for (size_t i = 0; i < n; i++) {
        s->plan.parent[i] = pl->parent[i];
        s->first[i] = s->path_end[i] = PLAN_NONE;
        s->children[i] = 0;
        s->stale[i] = true;
        s->changed[s->changed_count++] = (uint32_t)i;
    }
    for (size_t i = n; i-- > 0;)
        if (pl->parent[i] != PLAN_NONE)
            enter(s, i, (size_t)pl->parent[i]);
    refresh(s);
}

edgeps_err cost_search_make(const problem *p, const plan *pl, cost_search **out)
{
    size_t n = p->count;
    cost_search *s = mem_alloc(1, sizeof *s);
    if (!s)
        return EDGEPS_NOMEM;
    s->p = p;
    s->wire = amounts_sent(&p->job);
    s->added = amounts_added(&p->job);
    s->first = mem_alloc(n, sizeof *s->first);
    s->next = mem_alloc(n, sizeof *s->next);
    s->previous = mem_alloc(n, sizeof *s->previous);
    s->children = mem_alloc(n, sizeof *s->children);
    s->locals = mem_alloc(n, sizeof *s->locals);
    s->place = mem_alloc(n, sizeof *s->place);
    s->groups = mem_alloc(n, sizeof *s->groups);
    s->stale = mem_alloc(n, sizeof *s->stale);
    s->changed = mem_alloc(n, sizeof *s->changed);
    s->end_s = mem_alloc(n, sizeof *s->end_s);
    s->paths = mem_alloc(n, sizeof *s->paths);
    s->path_end = mem_alloc(n, sizeof *s->path_end);
    if (plan_make(n, &s->plan) || !s->first || !s->next || !s->previous || !s->children ||
        !s->locals || !s->place || !s->groups || !s->stale || !s->changed || !s->end_s ||
        !s->paths || !s->path_end) {
        cost_search_free(s);
        return EDGEPS_NOMEM;
    }
    cost_search_set(s, pl);
    *out = s;
    return EDGEPS_OK;
}

void cost_search_free(cost_search *s)
{
    if (!s)
        return;
    plan_free(&s->plan);
    mem_free(s->first);
    mem_free(s->next);
    mem_free(s->previous);
    mem_free(s->children);
    mem_free(s->locals);
    mem_free(s->place);
    mem_free(s->groups);
    mem_free(s->stale);
    mem_free(s->changed);
    mem_free(s->end_s);
    mem_free(s->paths);
    mem_free(s->path_end);
    mem_free(s->steps);
    mem_free(s);
}

const plan *cost_search_plan(const cost_search *s) { return &s->plan; }

int32_t cost_search_children(const cost_search *s, size_t node) { return s->children[node]; }

const uint32_t *cost_search_locals(const cost_search *s, size_t *count)
{
    *count = s->local_count;
    return s->locals;
}

int32_t cost_search_first(const cost_search *s, size_t server) { return s->first[server]; }

int32_t cost_search_next(const cost_search *s, size_t worker) { return s->next[worker]; }
