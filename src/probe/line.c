#include "probe/line_int.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

edgeps_err line_open(line *l, int fd, const trust *keys, bool accepts)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *l = (line){.fd = fd, .greets = keys != NULL};
    return keys ? trust_session_make(keys, fd, accepts, &l->session) : EDGEPS_OK;
}

void line_close(line *l)
{
    trust_session_free(l->session);
    close(l->fd);
    *l = (line){.fd = -1};
}

static trust_step greet(line *l)
{
    trust_step step = l->greets ? trust_greet(l->session) : TRUST_DONE;
    l->greets = step != TRUST_DONE;
    return step;
}

/* Of a plain recv or send. */
static trust_step judge(line *l, ssize_t moved, trust_step later)
{
    if (moved > 0)
        return TRUST_DONE;
    if (moved < 0 && (errno == EAGAIN || errno == EINTR))
        return later;
    l->error = moved < 0 ? errno : ECONNRESET;
    return moved < 0 ? TRUST_BROKEN : TRUST_ENDED;
}

static trust_step read_some(line *l, void *bytes, size_t count, size_t *got)
{
    if (l->session)
        return trust_read(l->session, bytes, count, got);
    ssize_t moved = recv(l->fd, bytes, count, MSG_DONTWAIT);
    *got = moved > 0 ? (size_t)moved : 0;
    return judge(l, moved, TRUST_READS);
}

static trust_step write_some(line *l, const void *bytes, size_t count, size_t *taken)
{
    struct iovec piece = {.iov_base = (void *)bytes, .iov_len = count};
    if (l->session)
        return trust_write(l->session, &piece, 1, taken);
    ssize_t moved = send(l->fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    *taken = moved > 0 ? (size_t)moved : 0;
    return judge(l, moved, TRUST_WRITES);
}

trust_step line_read(line *l, void *bytes, size_t count, size_t *got)
{
    size_t more = 0;
    trust_step step = greet(l);
    for (*got = 0; step == TRUST_DONE && *got < count; *got += more) {
        more = 0;
        step = read_some(l, (char *)bytes + *got, count - *got, &more);
    }
    return *got > 0 ? TRUST_DONE : step;
}

trust_step line_write(line *l, const void *bytes, size_t count, size_t *taken)
{
    size_t more = 0;
    trust_step step = greet(l);
    for (*taken = 0; step == TRUST_DONE && *taken < count; *taken += more) {
        more = 0;
        step = write_some(l, (const char *)bytes + *taken, count - *taken, &more);
    }
    return *taken > 0 ? TRUST_DONE : step;
}

const char *line_why(const line *l)
{
    if (!l->session)
        return strerror(l->error);
    return *trust_why(l->session) ? trust_why(l->session) : strerror(ECONNRESET);
}
