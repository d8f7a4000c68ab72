/* Local search from the plan in force: the changes that a plan can undergo, what each costs in
 * moves and gains in round time, and the two descents (repair, improve). Private to adapt.
 *
 * The plan where the search stands is kept in a cost_search, so that a change costs what it
 * touches, not the whole network. Effort is counted in estimated microseconds, so that a step
 * repeats exactly.
 */
#ifndef EDGEPS_ADAPT_SEARCH_INT_H
#define EDGEPS_ADAPT_SEARCH_INT_H

#include "adapt/moves_int.h"
#include "cost/search.h"

typedef enum change_kind {
    CHANGE_GLOBAL, /* the global server goes to `to` */
    CHANGE_LOCAL,  /* local server `from` goes to `to`, or joins the one there */
    CHANGE_BOTH,   /* global and local server of node `from` go to `to` together */
    CHANGE_CLOSE,  /* the workers of local server `from` spread over the others */
    CHANGE_SPLIT,  /* half of the workers of `from` go to a local server opened on `to` */
    CHANGE_ATTACH, /* worker `from` goes to the local server on `to`, opened if need be */
} change_kind;

typedef struct change {
    change_kind kind;
    int32_t from;
    int32_t to;
} change;

typedef struct changes {
    change *items;
    size_t count;
    size_t room;
} changes;

/* What a plan is worth. Smaller is better, field by field. */
typedef struct verdict {
    double broken;      /* violated constraints; 0: plan_check accepts it */
    size_t tight;       /* servers that the forecast of free storage has no room for */
    bool apart;         /* its servers and those of the plan in force do not fit together */
    double objective_s; /* weighted round time and time of the moves */
    double move_s;
    double round_s; /* both a bound, or both exact */
} verdict;

typedef struct search {
    const problem *p;
    const plan *old;
    const adapt_options *options;
    double round_weight; /* rounds that the plan is expected to hold */
    double move_weight;
    cost_search *now; /* where the search stands, and the change that is tried */
    verdict base;
    size_t unreached;      /* workers without path to their server, of the plan as it stands ... */
    size_t base_unreached; /* ... and without the change that is tried */
    edgeps_err err;        /* of a change; no more are made then */

    int32_t *old_children;
    size_t old_locals;
    double *bring_s;   /* per node: least time to bring it a local server's state */
    int32_t *children; /* scratch from here on */
    struct nearby *workers;
    adapt_move *moves;
    changes changes;
    struct ranked *ranked;
    size_t ranked_room;
    double work_left_us;
} search;

/* ---- changes ---- */

/* Every change of the plan where the search stands into s->changes. */
edgeps_err change_list_all(search *s);

/* Those that touch a broken constraint; a few of them are enough. */
edgeps_err change_list_broken(search *s);

/* Those that touch what the bound of the round time is made of. */
edgeps_err change_list_critical(search *s);

/* Scratch for s->workers, `count` nodes; NULL without memory. */
struct nearby *change_scratch(size_t count);

/* Makes the change in s->now; an error goes to s->err. */
void change_make(search *s, const change *c);

/* True when plan_check has nothing to say against what the local servers of `node` and `global`
 * are to each other and what they need; otherwise by how much it has. */
double change_server_broken(const search *s, size_t node);

/* The worker may not be served there. */
bool change_unreached(const problem *p, size_t worker, int32_t server);

/* ---- search ---- */

/* Starts at the plan in force, without the workers that are no more; those that have no server get
 * one. */
edgeps_err search_make(const problem *p, const plan *old, const adapt_options *options,
                       search *out);
void search_free(search *s);

/* The plan where the search stands, good until it moves on. */
const plan *search_plan(const search *s);

/* Stands at `pl` instead, a plan that plan_check accepts. */
edgeps_err search_stand(search *s, const plan *pl);

/* The verdict on the plan as it stands, the change that is tried included, with lower bounds for
 * both times. O(local servers) beside what the change touched. */
verdict search_weigh(search *s);

/* Back to the plan without the change. */
void search_take_back(search *s);

/* Descends until no constraint is broken, or no single change breaks fewer: see s->base. */
edgeps_err search_repair(search *s);

/* From a plan that breaks nothing: takes changes as long as they lower the objective. */
edgeps_err search_improve(search *s);

/* Descends from `other` too, and stands at the better of the two ends. */
edgeps_err search_try(search *s, const plan *other);

/* The transition from the plan in force to `next`, whose children go to s->children. */
transition search_transition(search *s, const plan *next);

#endif
