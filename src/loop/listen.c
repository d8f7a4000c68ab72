#include "loop/loop_int.h"

#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define BACKLOG 511
#define ACCEPTS_AT_ONCE 64

/* Out of descriptors: the connection at the head would wake the loop for ever. The spare descriptor
 * is given up for a moment to take it and drop it. */
static void drop_one(loop_listener *from)
{
    loop *l = from->owner;
    log_line(LOG_WARNING, "a connection was dropped: too many open files");
    if (l->spare_fd >= 0)
        close(l->spare_fd);
    int fd = accept4(from->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        close(fd);
    l->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void take(loop_listener *from, int fd, address *peer)
{
    conn *c = NULL;
    address_describe(peer);
    const char *why = guard_refuses(from->owner, peer);
    if (why) {
        char text[160];
        snprintf(text, sizeof text, "%s: %s", peer->text, why);
        loop_refuse(from->owner, text);
        close(fd);
        return;
    }
    if (conn_make(from->owner, fd, peer->text, &c) != EDGEPS_OK) {
        log_line(LOG_WARNING, "%s: a connection was dropped: out of memory", peer->text);
        return;
    }
    c->accepted = true;
    from->owner->accepted++;
    stranger_begin(c, from);
    if (from->owner->keys) {
        if (greet_begin(c, true))
            conn_poll_for(c, UV_READABLE);
        return;
    }
    from->acceptor.accepted(from->acceptor.ctx, c);
    if (!c->attached)
        conn_close(c);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    loop_listener *from = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_AT_ONCE && from->fd >= 0; i++) {
        address peer = {.length = sizeof peer.storage};
        int fd = accept4(from->fd, (struct sockaddr *)&peer.storage, &peer.length,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            take(from, fd, &peer);
        else if (errno == EMFILE || errno == ENFILE)
            drop_one(from);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
    }
}

static edgeps_err open_listener(const loop *l, const address *at, edgeps_diag *diag, int *out)
{
    int on = 1;
    int fd = address_socket(l, at->storage.ss_family);
    if (fd < 0)
        return diag_fail(diag, EDGEPS_IO, "%s: %s", at->text, address_errno_text(errno));
    /* Lets an agent restart while connections of its former life linger; a second listener on the
     * port is refused all the same. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&at->storage, at->length) != 0 ||
        listen(fd, BACKLOG) != 0) {
        edgeps_err err =
            diag_fail(diag, EDGEPS_IO, "%s: %s; choose another %s", at->text,
                      address_errno_text(errno), errno == EADDRNOTAVAIL ? "address" : "port");
        close(fd);
        return err;
    }
    *out = fd;
    return EDGEPS_OK;
}

edgeps_err loop_listen(loop *l, const char *host, int port, const loop_acceptor *acceptor,
                       edgeps_diag *diag, loop_listener **out)
{
    address at;
    int fd = -1;
    if (l->ending)
        return diag_fail(diag, EDGEPS_CANCELLED, "the loop has ended");
    edgeps_err err = address_parse(host, port, diag, &at);
    if (!err)
        err = open_listener(l, &at, diag, &fd);
    if (err)
        return err;
    loop_listener *made = mem_alloc(1, sizeof *made);
    if (!made || uv_poll_init(&l->uv, &made->poll, fd) != 0) {
        mem_free(made);
        close(fd);
        return diag_fail(diag, EDGEPS_NOMEM, "%s: out of memory", at.text);
    }
    at.length = sizeof at.storage;
    getsockname(fd, (struct sockaddr *)&at.storage, &at.length);
    made->poll.data = made;
    made->owner = l;
    made->fd = fd;
    made->port = address_port(&at);
    made->acceptor = *acceptor;
    TAILQ_INSERT_TAIL(&l->listeners, made, siblings);
    uv_poll_start(&made->poll, UV_READABLE, on_connection);
    *out = made;
    return EDGEPS_OK;
}

int loop_listener_port(const loop_listener *listener) { return listener->port; }

void loop_listener_close(loop_listener *listener)
{
    if (!listener)
        return;
    for (conn *c = TAILQ_FIRST(&listener->owner->strangers), *next; c; c = next) {
        next = TAILQ_NEXT(c, strangers);
        if (c->door != listener)
            continue;
        if (c->greeting)
            conn_fail(c, EDGEPS_CANCELLED, "the door closes");
        else
            stranger_end(c);
    }
    TAILQ_REMOVE(&listener->owner->listeners, listener, siblings);
    uv_close((uv_handle_t *)&listener->poll, loop_free_handle);
    close(listener->fd); /* not before: uv_close takes it out of epoll */
    listener->fd = -1;
}
