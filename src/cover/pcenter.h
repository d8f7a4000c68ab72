/* The vertex p-center problem: p of the points as centers, so that the farthest point from its
 * center is as near as can be. Distances may be asymmetric and need not be a metric.
 *
 * Binary search over the distances with set covering for a part of the points: whoever is left out
 * by a covering joins them (Chen and Chen 2009; Contardo, Iori and Kramer 2019). A radius that does
 * not do for some points does not do for all, so every "no" counts at once, and the covering
 * problems stay small.
 */
#ifndef EDGEPS_COVER_PCENTER_H
#define EDGEPS_COVER_PCENTER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pcenter_instance {
    size_t points;
    size_t centers;                                                       /* p, >= 1 */
    double (*distance)(const void *context, size_t center, size_t point); /* >= 0 */
    const void *context;
} pcenter_instance;

typedef struct pcenter_options {
    double deadline_s;          /* 0: none */
    bool (*go_on)(void *asked); /* asked now and then; false: stop; NULL: nobody is asked */
    void *asked;
} pcenter_options;

typedef struct pcenter_answer {
    double lower, upper; /* of the radius; equal when the optimum is proved */
    uint32_t *center;    /* centers of radius `upper` */
    size_t center_count; /* at most p */
    size_t rows;         /* points that had to be looked at */
    size_t coverings;    /* covering problems solved */
} pcenter_answer;

/* lower < upper only when the search was stopped. Memory: rows x points. EDGEPS_NOMEM, or
 * EDGEPS_INTERNAL when a solver breaks down. pcenter_answer_free releases the answer. */
edgeps_err pcenter_solve(const pcenter_instance *c, const pcenter_options *options,
                         pcenter_answer *out);

void pcenter_answer_free(pcenter_answer *a);

#endif
