/* The lab measured against its file: every link's rate both ways, the caps of pairs, latencies, and
 * what storage holds, and shares of cores. Of large labs a sample, and the answer says of how many.
 */
#ifndef EDGEPS_LAB_CHECK_H
#define EDGEPS_LAB_CHECK_H

#include "lab/lab.h"

#include <stdio.h>

#define CHECK_TOLERANCE 0.05         /* of a rate or a latency */
#define CHECK_TOLERANCE_S 1e-3       /* of a latency, if that is more */
#define CHECK_MOST_NODES 40          /* whose links are measured, spread over all */
#define CHECK_MOST_PAIRS 40          /* likewise, of those with a cap */
#define CHECK_MOST_BYTES (1LL << 30) /* of storage, which are filled one node after the other */
#define CHECK_MOST_DISTANT 24        /* nodes between which latencies are measured */

/* A node's link up (to LAB_HUB) or down (from it), or a pair with a cap. */
typedef struct check_link {
    size_t from;
    size_t to;
    double asked_bytes_per_s;
    double measured_bytes_per_s;
} check_link;

typedef struct check_path {
    size_t from;
    size_t to;
    double asked_s;    /* one way */
    double measured_s; /* NAN: nothing arrived */
} check_path;

typedef struct check_disk {
    size_t node;
    int64_t asked_bytes; /* in whole pages */
    int64_t measured_bytes;
} check_disk;

typedef struct check_share {
    size_t node;
    double asked_cores;
    double measured_cores;
} check_share;

typedef struct lab_check {
    const lab *lab; /* lent */
    check_link *links;
    size_t link_count;
    size_t links_of; /* how many there are, measured or not */
    check_path *paths;
    size_t path_count;
    size_t paths_of;
    check_disk *disks;
    size_t disk_count;
    size_t disks_of;
    check_share *shares;
    size_t share_count;
    size_t shares_of; /* 0: nobody is limited */
    char kernel[128];
} lab_check;

/* Measures; takes half a second per Gbit/s of all links together, more where links are slow. What
 * is off beyond the tolerance is measured again by itself. lab_check_free frees the answer. */
edgeps_err lab_check_run(const lab *l, edgeps_diag *diag, lab_check *out);
void lab_check_free(lab_check *check);

/* A table for people. */
void lab_check_print(const lab_check *check, FILE *file);

/* "lab-check/1", described in docs/lab.md; the caller frees it with mem_free. EDGEPS_NOMEM. */
edgeps_err lab_check_json(const lab_check *check, char **text);

/* EDGEPS_INFEASIBLE when something is off beyond the tolerance, with what is worst. */
edgeps_err lab_check_verdict(const lab_check *check, edgeps_diag *diag);

#endif
