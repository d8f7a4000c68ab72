/* Where a server's state lies: files in the node's storage folder, really allocated and mapped,
 * exactly the bytes that job.h says a server needs. Checkpoints, which a global server's need
 * includes, are written by the store when they are due. */
#ifndef EDGEPS_NODE_BUFFERS_H
#define EDGEPS_NODE_BUFFERS_H

#include "job/job.h"
#include "node/message.h"
#include "store/store.h"

typedef struct buffers {
    message_role role;
    float *parameters; /* NULL: the server is not here */
    float *velocity;   /* of a global server, and of the local one that stands by */
    float *sum;
    uint8_t *inbox; /* a chunk per child */
    int64_t children;
} buffers;

/* Makes room for a server with `children`; what it has stays as it is. EDGEPS_FULL when the quota
 * does not allow it. */
edgeps_err buffers_fit(buffers *b, store *s, const job *j, int64_t children, edgeps_diag *diag);

/* Whether a local server keeps the optimizer's velocity, too; it begins with zeros. */
edgeps_err buffers_stand_by(buffers *b, store *s, const job *j, bool wanted, edgeps_diag *diag);

/* Gives all back. */
void buffers_release(buffers *b, store *s);

#endif
