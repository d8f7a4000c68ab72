/* A connection of a probe, plain or a TLS session, that never waits. */
#ifndef EDGEPS_PROBE_LINE_INT_H
#define EDGEPS_PROBE_LINE_INT_H

#include "trust/session.h"

#include <stdbool.h>

typedef struct line {
    int fd;
    trust_session *session; /* NULL: plain */
    bool greets;            /* the peer is not known yet */
    int error;              /* errno where there is no session */
} line;

/* Over a connected socket; `keys` NULL: plain. EDGEPS_NOMEM. */
edgeps_err line_open(line *l, int fd, const trust *keys, bool accepts);

/* Closes the socket, too. */
void line_close(line *l);

/* As trust_read and trust_write, but greets before, and goes on until all of `count` is done or the
 * socket has or takes no more. TRUST_DONE: some bytes are done. */
trust_step line_read(line *l, void *bytes, size_t count, size_t *got);
trust_step line_write(line *l, const void *bytes, size_t count, size_t *taken);

/* After TRUST_BROKEN or TRUST_ENDED. */
const char *line_why(const line *l);

#endif
