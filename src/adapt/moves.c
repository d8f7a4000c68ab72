#include "adapt/moves_int.h"

bool moves_gone(const transition *t, int32_t node)
{
    return node == PLAN_NONE || !t->p->nodes[node].serve;
}

int64_t moves_local_need(const transition *t, int32_t children)
{
    return children > 0 ? job_local_need_bytes(&t->p->job, children) : 0;
}

int64_t moves_global_need(const transition *t, const plan *pl, size_t locals, size_t node)
{
    return pl->global == (int32_t)node ? job_global_need_bytes(&t->p->job, (int64_t)locals) : 0;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

bool moves_coexist(const transition *t)
{
    for (size_t v = 0; v < t->p->count; v++) {
        int64_t old_local = moves_local_need(t, t->old_children[v]);
        int64_t next_local = moves_local_need(t, t->next_children[v]);
        int64_t old_global = moves_global_need(t, t->old, t->old_locals, v);
        int64_t next_global = moves_global_need(t, t->next, t->next_locals, v);
        bool grows = next_local > old_local || next_global > old_global;
        if (grows && larger(old_local, next_local) + larger(old_global, next_global) >
                         t->p->nodes[v].free_bytes)
            return false;
    }
    return true;
}

static bool opens(const transition *t, size_t v)
{
    return t->next_children[v] > 0 && t->old_children[v] == 0;
}

bool moves_closes(const transition *t, size_t v)
{
    return t->old_children[v] > 0 && t->next_children[v] == 0;
}

size_t moves_room(const transition *t)
{
    /* every opened local server and the global one, in two hops */
    return 2 * (t->p->count + 1);
}

double moves_transfer_s(const transition *t, const adapt_move *m)
{
    double bytes = (double)m->bytes;
    if (m->from == PLAN_NONE)
        return bytes / t->p->nodes[m->to].down_bytes_per_s;
    size_t from = (size_t)m->from, to = (size_t)m->to;
    return from == to ? 0
                      : bytes / problem_rate_bytes_per_s(t->p, from, to) +
                            problem_latency_s(t->p, from, to);
}

static bool already_a_source(const adapt_move *moves, size_t count, int32_t node)
{
    for (size_t k = 0; k < count; k++)
        if (moves[k].role == ADAPT_LOCAL && moves[k].from == node)
            return true;
    return false;
}

static int32_t shared_workers(const transition *t, int32_t old_local, int32_t next_local)
{
    int32_t shared = 0;
    for (size_t i = 0; i < t->p->count; i++)
        shared += t->old->parent[i] == old_local && t->next->parent[i] == next_local;
    return shared;
}

/* The local server that moves to `to`: of those that close, the one whose workers come along. */
static int32_t predecessor(const transition *t, const adapt_move *moves, size_t count, int32_t to)
{
    int32_t best = PLAN_NONE, most = -1;
    for (size_t v = 0; v < t->p->count; v++) {
        int32_t from = (int32_t)v;
        if (!moves_closes(t, v) || moves_gone(t, from) || already_a_source(moves, count, from) ||
            problem_rate_bytes_per_s(t->p, v, (size_t)to) <= 0)
            continue;
        int32_t shared = shared_workers(t, from, to);
        if (shared > most) {
            most = shared;
            best = from;
        }
    }
    return best;
}

/* Any server of the old plan has the parameters; the quickest to reach. */
static int32_t quickest_server(const transition *t, int32_t to)
{
    int32_t best = PLAN_NONE;
    double best_rate = 0;
    for (size_t v = 0; v < t->p->count; v++) {
        bool has = t->old_children[v] > 0 || t->old->global == (int32_t)v;
        double rate = problem_rate_bytes_per_s(t->p, v, (size_t)to);
        if (has && !moves_gone(t, (int32_t)v) && rate > best_rate) {
            best_rate = rate;
            best = (int32_t)v;
        }
    }
    return best;
}

static int32_t local_source(const transition *t, const adapt_move *moves, size_t count, int32_t to)
{
    size_t global = (size_t)t->next->global;
    if (moves_gone(t, t->old->global) && problem_rate_bytes_per_s(t->p, global, (size_t)to) > 0)
        return t->next->global;
    int32_t from = predecessor(t, moves, count, to);
    return from != PLAN_NONE ? from : quickest_server(t, to);
}

int32_t moves_global_source(const transition *t)
{
    int32_t from = t->old->global;
    bool reached = !moves_gone(t, from) &&
                   problem_rate_bytes_per_s(t->p, (size_t)from, (size_t)t->next->global) > 0;
    return reached ? from : PLAN_NONE;
}

static size_t list_global(const transition *t, adapt_move *moves, size_t count)
{
    if (t->next->global == t->old->global)
        return count;
    moves[count] = (adapt_move){
        .role = ADAPT_GLOBAL,
        .from = moves_global_source(t),
        .to = t->next->global,
        .bytes = job_global_state_bytes(&t->p->job),
    };
    return count + 1;
}

size_t moves_list(const transition *t, adapt_move *moves, double *move_s)
{
    size_t count = 0;
    bool global_first = moves_gone(t, t->old->global);
    if (global_first)
        count = list_global(t, moves, count);
    for (size_t v = 0; v < t->p->count; v++) {
        if (!opens(t, v))
            continue;
        int32_t to = (int32_t)v;
        moves[count] = (adapt_move){
            .role = ADAPT_LOCAL,
            .from = local_source(t, moves, count, to),
            .to = to,
            .bytes = job_local_state_bytes(&t->p->job),
        };
        count++;
    }
    if (!global_first)
        count = list_global(t, moves, count);
    *move_s = 0;
    for (size_t k = 0; k < count; k++) {
        moves[k].transfer_s = moves_transfer_s(t, &moves[k]);
        *move_s += moves[k].transfer_s;
    }
    return count;
}
