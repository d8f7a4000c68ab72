#include "loop/loop_int.h"

#include "base/clock.h"

#define PATIENCE_NS (10 * INT64_C(1000000000)) /* for a greeting, or a plain one's first header */
#define KNOCKING_MOST 256

void stranger_begin(conn *c, loop_listener *door)
{
    loop *l = c->owner;
    c->door = door;
    c->stranger_until_ns = clock_now_ns() + PATIENCE_NS;
    TAILQ_INSERT_TAIL(&l->strangers, c, strangers);
    l->knocking += door != NULL;
    if (l->knocking <= KNOCKING_MOST)
        return;
    conn *oldest = TAILQ_FIRST(&l->strangers);
    while (!oldest->door)
        oldest = TAILQ_NEXT(oldest, strangers);
    conn_fail(oldest, EDGEPS_IO, "too many are at the door");
}

void stranger_end(conn *c)
{
    if (c->stranger_until_ns == 0)
        return;
    if (c->closing && c->door && c->fate != EDGEPS_CANCELLED)
        loop_refuse(c->owner, c->fate_text);
    TAILQ_REMOVE(&c->owner->strangers, c, strangers);
    c->owner->knocking -= c->door != NULL;
    c->stranger_until_ns = 0;
    c->door = NULL;
}

bool strangers_expire(loop *l, int64_t now_ns, int64_t *wake_ns)
{
    bool any = false;
    conn *c;
    while ((c = TAILQ_FIRST(&l->strangers)) != NULL && c->stranger_until_ns <= now_ns) {
        conn_fail(c, EDGEPS_IO, "has not said who it is in time");
        any = true;
    }
    if (c && c->stranger_until_ns < *wake_ns)
        *wake_ns = c->stranger_until_ns;
    return any;
}

bool greet_begin(conn *c, bool accepts)
{
    c->greeting = true;
    if (!c->session && trust_session_make(c->owner->keys, c->fd, accepts, &c->session))
        conn_fail(c, EDGEPS_NOMEM, "no memory for TLS");
    return !c->closing;
}

/* The peer is known. */
static void arrive(conn *c)
{
    loop_listener *door = c->door;
    c->greeting = false;
    stranger_end(c);
    if (!door) {
        conn_open(c);
    } else {
        door->acceptor.accepted(door->acceptor.ctx, c);
        if (!c->attached)
            conn_close(c);
    }
    /* The first frames may have come along with the greeting. */
    if (!c->closing)
        lane_join(&c->owner->down, &c->down);
}

void greet_on(conn *c)
{
    switch (trust_greet(c->session)) {
    case TRUST_DONE:
        arrive(c);
        break;
    case TRUST_READS:
        conn_poll_for(c, UV_READABLE);
        break;
    case TRUST_WRITES:
        conn_poll_for(c, UV_WRITABLE);
        break;
    case TRUST_ENDED:
    case TRUST_BROKEN:
        conn_fail(c, EDGEPS_PROTOCOL, "%s", trust_why(c->session));
        break;
    }
}

void loop_secure(loop *l, const trust *keys) { l->keys = keys; }

void conn_expect(conn *c, const char *who)
{
    if (c->session)
        trust_expect(c->session, who);
}

const char *conn_member(const conn *c) { return c->session ? trust_peer(c->session) : NULL; }
