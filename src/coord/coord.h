/* What the coordinator must not forget: the plan of each generation and the facts of the job.
 *
 * One SQLite file (sqlite.org), rollback journal, synchronous FULL: what was acknowledged survives
 * a killed process and a power cut. A commit is a compare-and-swap on the generation, so of two
 * coordinators that both believe to be in charge one is refused. Records are JSON that this room
 * does not read.
 */
#ifndef EDGEPS_COORD_COORD_H
#define EDGEPS_COORD_COORD_H

#include "base/err.h"

#include <stdint.h>

typedef struct coord coord;

/* Opens or makes the file. EDGEPS_FORMAT in one line when it is damaged or something else. */
edgeps_err coord_open(const char *path, edgeps_diag *diag, coord **out);

/* NULL is fine. */
void coord_close(coord *c);

/* Stores `record_json` as `generation`, which is above `expected_generation`, provided that the
 * latest stored one is `expected_generation` (0: none yet). Otherwise EDGEPS_PROTOCOL names both
 * and nothing changes. On return with EDGEPS_OK the record is on disk. */
edgeps_err coord_commit(coord *c, uint64_t expected_generation, uint64_t generation,
                        const char *record_json, edgeps_diag *diag);

/* The latest generation and its record, which the caller frees with mem_free; 0 and NULL when there
 * is none. */
edgeps_err coord_latest(coord *c, edgeps_diag *diag, uint64_t *generation, char **record_json);

/* The record of one generation, NULL when there is none; the caller frees. */
edgeps_err coord_record(coord *c, uint64_t generation, edgeps_diag *diag, char **record_json);

/* A fact of the job (its id, its seed, the network's text): set replaces, get gives NULL for a key
 * that was never set; the caller frees with mem_free. */
edgeps_err coord_set(coord *c, const char *key, const char *value, edgeps_diag *diag);
edgeps_err coord_get(coord *c, const char *key, edgeps_diag *diag, char **value);

#endif
