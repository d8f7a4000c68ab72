#include "loop/loop_int.h"

#include <errno.h>

static size_t length_of(const struct iovec *pieces, int count)
{
    size_t bytes = 0;
    for (int k = 0; k < count; k++)
        bytes += pieces[k].iov_len;
    return bytes;
}

/* Moves the begin of the pieces by `bytes`; returns the first that is not empty. */
static int skip(struct iovec *pieces, int count, int first, size_t bytes)
{
    while (first < count && bytes >= pieces[first].iov_len)
        bytes -= pieces[first++].iov_len;
    if (first < count) {
        pieces[first].iov_base = (uint8_t *)pieces[first].iov_base + bytes;
        pieces[first].iov_len -= bytes;
    }
    return first;
}

/* What a step that moved nothing is to a caller of read or write. */
static ssize_t fail_as(trust_step step)
{
    if (step == TRUST_ENDED)
        return 0;
    errno = step == TRUST_BROKEN ? EPROTO : EAGAIN;
    return -1;
}

static ssize_t read_session(conn *c, struct iovec *pieces, int count, bool *more)
{
    ssize_t done = 0;
    trust_step step = TRUST_DONE;
    for (int k = skip(pieces, count, 0, 0); k < count && step == TRUST_DONE;) {
        size_t n = 0;
        step = trust_read(c->session, pieces[k].iov_base, pieces[k].iov_len, &n);
        if (step == TRUST_DONE) {
            done += (ssize_t)n;
            k = skip(pieces, count, k, n);
        }
    }
    *more = step != TRUST_READS && step != TRUST_WRITES;
    return done > 0 ? done : fail_as(step);
}

static ssize_t write_session(conn *c, struct iovec *pieces, int count, bool *more)
{
    ssize_t done = 0;
    trust_step step = TRUST_DONE;
    for (int k = skip(pieces, count, 0, 0); k < count && step == TRUST_DONE;) {
        size_t n = 0;
        step = trust_write(c->session, pieces + k, count - k, &n);
        if (step == TRUST_DONE) {
            done += (ssize_t)n;
            k = skip(pieces, count, k, n);
        }
    }
    *more = step != TRUST_WRITES && step != TRUST_READS;
    return done > 0 ? done : fail_as(step == TRUST_ENDED ? TRUST_BROKEN : step);
}

ssize_t stream_read(conn *c, struct iovec *pieces, int count, bool *more)
{
    size_t asked = length_of(pieces, count);
    ssize_t n;
    if (c->session)
        return read_session(c, pieces, count, more);
    do {
        n = readv(c->fd, pieces, count);
    } while (n < 0 && errno == EINTR);
    *more = n == (ssize_t)asked;
    return n;
}

ssize_t stream_write(conn *c, struct iovec *pieces, int count, bool *more)
{
    size_t asked = length_of(pieces, count);
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
    ssize_t n;
    if (c->session)
        return write_session(c, pieces, count, more);
    do {
        n = sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    *more = n == (ssize_t)asked;
    return n;
}

const char *stream_error(const conn *c, int error)
{
    const char *why = c->session ? trust_why(c->session) : "";
    return why[0] ? why : address_errno_text(error);
}
