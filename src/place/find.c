/* Search for any feasible plan. Opening servers so that all workers find room is a covering problem
 * (NP-hard once paths are missing), so this is a depth-first search: while some worker is stuck,
 * Hall's theorem gives a set of workers too large for the open servers in its reach, and every
 * feasible plan that keeps those servers opens one more server with a path to that set. Branching
 * over these alone is complete. */
#include "place/place_int.h"

#include "base/mem.h"

#include <string.h>

/* Enough for every set of open servers of so many nodes ... */
#define SMALL_NODES 14
#define SMALL_STEPS 20000
/* ... beyond that, flows over so many pairs in all, and at least a few. */
#define STEP_WORK 4000000
#define LEAST_STEPS 100
/* ... and for all global servers together. */
#define ALL_WORK 400000000
#define LEAST_ALL_STEPS 1000

typedef struct level {
    uint32_t *options; /* servers to try here, best first */
    size_t option_count;
    size_t next;
} level;

typedef struct search {
    const place_ground *gr;
    size_t global;
    int32_t locals;
    const double *prefer;
    place_match match;
    int32_t *cap;  /* room of the open servers, 0 elsewhere */
    bool *closed;  /* excluded: the search with them open is behind us */
    level *levels; /* locals + 1 */
    uint32_t *option_pool;
    size_t steps;
    size_t most_steps;
    size_t *steps_left; /* for all global servers */
} search;

static void search_free(search *s)
{
    place_match_free(&s->match);
    mem_free(s->cap);
    mem_free(s->closed);
    mem_free(s->levels);
    mem_free(s->option_pool);
}

static edgeps_err search_make(const place_ground *gr, size_t global, const double *prefer,
                              search *out)
{
    size_t depth = (size_t)gr->fan[global] + 1;
    size_t pairs = gr->count * gr->worker_count;
    search s = {.gr = gr, .global = global, .prefer = prefer, .most_steps = SMALL_STEPS};
    if (gr->count > SMALL_NODES)
        s.most_steps = STEP_WORK / pairs + LEAST_STEPS;
    edgeps_err err = place_match_make(gr, &s.match);
    s.cap = mem_alloc(gr->count, sizeof *s.cap);
    s.closed = mem_alloc(gr->count, sizeof *s.closed);
    s.levels = mem_alloc(depth, sizeof *s.levels);
    s.option_pool = mem_alloc(depth * gr->count, sizeof *s.option_pool);
    if (err || !s.cap || !s.closed || !s.levels || !s.option_pool) {
        search_free(&s);
        return EDGEPS_NOMEM;
    }
    for (size_t l = 0; l < depth; l++)
        s.levels[l].options = s.option_pool + l * gr->count;
    *out = s;
    return EDGEPS_OK;
}

static double rank(const search *s, size_t server)
{
    return s->prefer ? s->prefer[server] : (double)place_room(s->gr, s->global, s->locals, server);
}

static bool relieves(const search *s, size_t server)
{
    if (s->cap[server] || s->closed[server] || !place_joins(s->gr, s->global, server) ||
        place_room(s->gr, s->global, s->locals, server) < 1)
        return false;
    for (size_t w = 0; w < s->match.stuck_count; w++)
        if (place_path(s->gr, server, s->match.stuck[w]))
            return true;
    return false;
}

/* Fills the level with the servers that relieve the stuck set, best first. */
static void enter_level(search *s, size_t depth)
{
    level *l = &s->levels[depth];
    l->option_count = l->next = 0;
    if (depth >= (size_t)s->locals)
        return;
    for (size_t j = 0; j < s->gr->count; j++) {
        if (!relieves(s, j))
            continue;
        size_t at = l->option_count++;
        for (; at > 0 && rank(s, l->options[at - 1]) < rank(s, j); at--)
            l->options[at] = l->options[at - 1];
        l->options[at] = (uint32_t)j;
    }
}

/* Gives up the last choice of `depth`: its server is behind us on this branch. */
static void close_choice(search *s, size_t depth)
{
    size_t server = s->levels[depth].options[s->levels[depth].next - 1];
    s->cap[server] = 0;
    s->closed[server] = true;
}

static void leave_level(search *s, size_t depth)
{
    for (size_t o = 0; o < s->levels[depth].next; o++)
        s->closed[s->levels[depth].options[o]] = false;
}

static bool all_served(search *s)
{
    s->steps++;
    *s->steps_left -= *s->steps_left > 0;
    return place_match_run(&s->match, NULL, 0, s->cap) == s->gr->worker_count;
}

/* Could the roomiest servers hold all workers if every path existed? Says no at once where storage
 * alone decides. */
static bool enough_room(search *s, int32_t locals)
{
    int64_t places = 0;
    memset(s->closed, 0, s->gr->count * sizeof *s->closed);
    for (int32_t k = 0; k < locals && places < (int64_t)s->gr->worker_count; k++) {
        size_t best = 0;
        int32_t best_room = 0;
        for (size_t j = 0; j < s->gr->count; j++) {
            int32_t room = s->closed[j] ? 0 : place_room(s->gr, s->global, locals, j);
            if (room > best_room && place_joins(s->gr, s->global, j)) {
                best = j;
                best_room = room;
            }
        }
        s->closed[best] = true;
        places += best_room;
        if (best_room == 0)
            break;
    }
    return places >= (int64_t)s->gr->worker_count;
}

/* Searches with room for exactly `locals` local servers at the global server. */
static place_found run_search(search *s, int32_t locals)
{
    size_t depth = 0;
    if (!enough_room(s, locals))
        return PLACE_NONE;
    s->locals = locals;
    s->steps = 0;
    memset(s->cap, 0, s->gr->count * sizeof *s->cap);
    memset(s->closed, 0, s->gr->count * sizeof *s->closed);
    all_served(s);
    enter_level(s, 0);
    for (;;) {
        level *l = &s->levels[depth];
        if (l->next == l->option_count) {
            leave_level(s, depth);
            if (depth == 0)
                return PLACE_NONE;
            close_choice(s, --depth);
            continue;
        }
        size_t server = l->options[l->next++];
        s->cap[server] = place_room(s->gr, s->global, locals, server);
        if (all_served(s))
            return PLACE_FOUND;
        if (s->steps > s->most_steps || *s->steps_left == 0)
            return PLACE_GAVE_UP;
        enter_level(s, ++depth);
    }
}

static edgeps_err find(const place_ground *gr, size_t global, const double *prefer,
                       size_t *steps_left, plan *pl, place_found *found)
{
    search s;
    int32_t tried_room = -1;
    place_found answer = PLACE_NONE;
    if (gr->fan[global] < 1) {
        *found = PLACE_NONE;
        return EDGEPS_OK;
    }
    edgeps_err err = search_make(gr, global, prefer, &s);
    if (err)
        return err;
    s.steps_left = steps_left;
    /* Fewer local servers leave the global server's node more room for children; without more room
     * the search with more local servers has covered it. */
    for (int32_t k = gr->fan[global]; k >= 1 && answer != PLACE_FOUND; k--) {
        int32_t room = place_room(gr, global, k, global);
        if (room == tried_room)
            continue;
        tried_room = room;
        place_found one = run_search(&s, k);
        if (one != PLACE_NONE)
            answer = one;
    }
    if (answer == PLACE_FOUND) {
        pl->global = (int32_t)global;
        memcpy(pl->parent, s.match.parent, gr->count * sizeof *pl->parent);
    }
    *found = answer;
    search_free(&s);
    return EDGEPS_OK;
}

edgeps_err place_find(const place_ground *gr, size_t global, const double *prefer, plan *pl,
                      place_found *found)
{
    size_t no_limit = SIZE_MAX;
    return find(gr, global, prefer, &no_limit, pl, found);
}

static size_t roomiest_left(const place_ground *gr, const bool *tried)
{
    size_t best = gr->count;
    for (size_t g = 0; g < gr->count; g++)
        if (!tried[g] && gr->fan[g] > 0 &&
            (best == gr->count || gr->p->nodes[g].free_bytes > gr->p->nodes[best].free_bytes))
            best = g;
    return best;
}

edgeps_err place_find_any(const place_ground *gr, plan *pl, place_found *found)
{
    edgeps_err err = EDGEPS_OK;
    place_found answer = PLACE_NONE;
    size_t steps_left = SIZE_MAX;
    bool *tried = mem_alloc(gr->count, sizeof *tried);
    if (!tried)
        return EDGEPS_NOMEM;
    if (gr->count > SMALL_NODES)
        steps_left = ALL_WORK / (gr->count * gr->worker_count) + LEAST_ALL_STEPS;
    while (answer != PLACE_FOUND && (steps_left > 0 || answer == PLACE_NONE)) {
        size_t g = roomiest_left(gr, tried);
        place_found one;
        if (g == gr->count)
            break;
        tried[g] = true;
        err = find(gr, g, NULL, &steps_left, pl, &one);
        if (err)
            goto out;
        if (one != PLACE_NONE)
            answer = one;
    }
    *found = answer;
out:
    mem_free(tried);
    return err;
}

edgeps_err place_any(const problem *p, place_result *out)
{
    place_ground gr = {0};
    place_found found;
    place_result r = {.status = PLACE_FEASIBLE, .plan.global = PLAN_NONE};
    edgeps_err err = place_ground_make(p, &gr);
    if (!err)
        err = plan_make(p->count, &r.plan);
    if (!err)
        err = place_find_any(&gr, &r.plan, &found);
    if (!err && found != PLACE_FOUND) {
        r.status = PLACE_INFEASIBLE;
        place_infeasible_reason(&gr, found, r.reason, sizeof r.reason);
        plan_free(&r.plan);
    }
    if (!err) {
        *out = r;
        r = (place_result){.plan.global = PLAN_NONE};
    }
    place_result_free(&r);
    place_ground_free(&gr);
    return err;
}
