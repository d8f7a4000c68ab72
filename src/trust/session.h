/* TLS 1.3 (RFC 8446) over a socket, with certificates on both sides.
 *
 * A `trust` is what one member brings: the job's authority, its own certificate and key. A session
 * is one connection: it reads and writes the socket, which stays the caller's, and never waits. A
 * peer is let in when its certificate chains to the authority, is in date and names a member of the
 * same job; the one that was expected, where one was. There is no resumption, no older version and
 * no plain text to fall back to.
 */
#ifndef EDGEPS_TRUST_SESSION_H
#define EDGEPS_TRUST_SESSION_H

#include "base/err.h"
#include "trust/identity.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define TRUST_RECORD_BYTES 16384      /* of plain text in one record */
#define TRUST_GREETING_BYTES 65536    /* read of a peer at most before it is known */
#define TRUST_REKEY_RECORDS (1 << 20) /* far below what RFC 8446, section 5.5, allows one key */

typedef struct trust trust;
typedef struct trust_session trust_session;

/* What became of a step. */
typedef enum trust_step {
    TRUST_DONE,
    TRUST_READS,  /* go on when the socket is readable */
    TRUST_WRITES, /* go on when it takes more */
    TRUST_ENDED,  /* the peer has said goodbye */
    TRUST_BROKEN, /* trust_why says why */
} trust_step;

/* Reads the files of `who` ("coordinator" or "node/NAME") in a folder of certificates and checks
 * that they belong together and are in date. EDGEPS_USAGE or EDGEPS_FORMAT in one line with the
 * remedy. */
edgeps_err trust_load(const char *folder, const char *who, edgeps_diag *diag, trust **out);

/* After its last session; NULL is fine. */
void trust_free(trust *t);

const char *trust_job(const trust *t);

/* A session over `fd`; `accepts` at the side that was connected to. EDGEPS_NOMEM. */
edgeps_err trust_session_make(const trust *t, int fd, bool accepts, trust_session **out);

/* Sends a goodbye if the socket takes it at once, and frees; NULL is fine. */
void trust_session_free(trust_session *s);

/* Lets in this member only. Before the first trust_greet; `who` is copied. */
void trust_expect(trust_session *s, const char *who);

/* Introduces both sides. TRUST_DONE: the peer is known. The side that connected is done before the
 * other has judged it; a refusal shows when it reads. */
trust_step trust_greet(trust_session *s);

/* Who the peer is, "" before it is known. */
const char *trust_peer(const trust_session *s);

/* Reads up to `count` bytes. What is not TRUST_DONE has read nothing. */
trust_step trust_read(trust_session *s, void *bytes, size_t count, size_t *got);

/* Sends up to TRUST_RECORD_BYTES out of the pieces. TRUST_DONE: the socket has taken `*taken`
 * bytes. After TRUST_WRITES the next call begins with the same bytes; it may bring more. */
trust_step trust_write(trust_session *s, const struct iovec *pieces, int count, size_t *taken);

/* Why the session is broken, one line. */
const char *trust_why(const trust_session *s);

#endif
