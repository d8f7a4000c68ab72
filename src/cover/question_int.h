/* The parts of deciding a question: servers as columns, and their flow. Private to this room. */
#ifndef EDGEPS_COVER_QUESTION_INT_H
#define EDGEPS_COVER_QUESTION_INT_H

#include "cover/question.h"

#define COVER_WORD 64 /* workers in a word of a set */

static inline bool cover_has(const uint64_t *set, size_t worker)
{
    return set[worker / COVER_WORD] >> (worker % COVER_WORD) & 1;
}

static inline void cover_put(uint64_t *set, size_t worker)
{
    set[worker / COVER_WORD] |= (uint64_t)1 << (worker % COVER_WORD);
}

/* A server in the LP. */
typedef struct cover_column {
    uint32_t server;
    uint32_t capacity;
    uint32_t aside;
    uint64_t *serves; /* the workers that it can serve, the one aside left out */
    double share;     /* y */
} cover_column;

/* ---- shares of servers to workers ---- */

typedef struct cover_flow {
    size_t workers;
    double *take;    /* [column * workers + worker] */
    double *left;    /* per worker: what nobody took */
    double *room;    /* per column: what it could still take */
    uint32_t *level; /* scratch of the search, workers first */
    uint32_t *next;
    uint32_t *queue;
    uint32_t *unseen; /* columns */
    size_t unseen_count;
    uint32_t *path;
} cover_flow;

edgeps_err cover_flow_make(size_t workers, size_t servers, cover_flow *out);
void cover_flow_free(cover_flow *f);

/* The largest flow to `count` columns by their shares; returns what is left over. */
double cover_flow_run(cover_flow *f, const cover_column *columns, size_t count);

/* After a flow that left something over: is the worker of the set that these shares do not cover?
 */
bool cover_flow_stuck(const cover_flow *f, size_t worker);

#endif
