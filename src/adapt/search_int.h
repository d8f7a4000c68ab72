/* Local search from the plan in force: the changes that a plan can undergo, what each costs in
 * moves and gains in round time, and the two descents (repair, improve). Private to adapt.
 */
#ifndef EDGEPS_ADAPT_SEARCH_INT_H
#define EDGEPS_ADAPT_SEARCH_INT_H

#include "adapt/moves_int.h"

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

/* Every change of `pl` into `list`, which is emptied first and grown as needed. */
edgeps_err change_list(const problem *p, const plan *pl, const int32_t *children, changes *list);

/* `pl` with the change into `out`, a plan of as many nodes; `order` is scratch of count entries,
 * `children` are those of `pl` and are not kept. */
void change_apply(const problem *p, const plan *pl, const change *c, int32_t *children,
                  int32_t *order, plan *out);

/* What a plan is worth. Smaller is better, field by field. */
typedef struct verdict {
    double broken;      /* violated constraints; 0: plan_check accepts it */
    bool apart;         /* its servers and those of the plan in force do not fit together */
    double objective_s; /* weighted round time and time of the moves */
    double move_s;
    double round_s; /* a bound or exact; not set while broken */
} verdict;

typedef struct search {
    const problem *p;
    const plan *old;
    double round_weight; /* rounds that the plan is expected to hold */
    double move_weight;
    plan base; /* where the search stands */
    verdict base_verdict;

    int32_t *old_children;
    size_t old_locals;
    int32_t *children;
    int32_t *base_children;
    int32_t *order;
    double *scratch;
    adapt_move *moves;
    plan trial;
    plan best;
    changes changes;
    struct ranked *ranked;
    size_t ranked_room;
} search;

/* Starts at the plan in force, without the workers that are no more. */
edgeps_err search_make(const problem *p, const plan *old, const adapt_options *options,
                       search *out);
void search_free(search *s);

/* Stands at `pl` instead. */
edgeps_err search_stand(search *s, const plan *pl);

/* Descends until no constraint is broken, or no single change breaks fewer: see base_verdict. */
edgeps_err search_repair(search *s);

/* From a plan that breaks nothing: takes changes as long as they lower the objective. */
edgeps_err search_improve(search *s);

/* Descends from `other` too, and stands at the better of the two ends. */
edgeps_err search_try(search *s, const plan *other);

/* The transition from the plan in force to `next`, whose children go to s->children. */
transition search_transition(search *s, const plan *next);

#endif
