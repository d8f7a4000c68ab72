#include "loop/lane.h"

#define FREE_TURN_BYTES 1048576 /* of a connection that is not limited */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

bool lane_limits(const lane *l, const lane_member *m)
{
    return m->shaped && (link_is_limited(&l->link) || link_is_limited(&m->cap));
}

static void unblock(lane *l, lane_member *m)
{
    l->blocked -= m->blocked;
    m->blocked = false;
}

void lane_join(lane *l, lane_member *m)
{
    unblock(l, m);
    if (m->in)
        return;
    if (m->turn_bytes > 0)
        TAILQ_INSERT_HEAD(&l->members, m, places);
    else
        TAILQ_INSERT_TAIL(&l->members, m, places);
    l->count++;
    m->in = l;
}

void lane_leave(lane *l, lane_member *m)
{
    unblock(l, m);
    if (!m->in)
        return;
    TAILQ_REMOVE(&l->members, m, places);
    l->count--;
    m->in = NULL;
}

/* Bytes that may go at once out of `wanted`, or 0: then `*when_ns` says when to ask again. */
static int64_t allowed(lane *l, lane_member *m, int64_t wanted, int64_t now_ns, int64_t *when_ns)
{
    if (l->waited)
        return 0; /* the first in line waits, and a smaller piece must not overtake it */
    int64_t most = smaller(m->turn_bytes, link_quantum_bytes(&m->cap));
    /* A small rest goes along: a turn does not end in crumbs. */
    int64_t bytes = wanted > most + most / 4 ? most : wanted;
    *when_ns = link_ready_ns(&m->cap, bytes, now_ns);
    if (*when_ns > now_ns)
        return 0;
    *when_ns = link_ready_ns(&l->link, bytes, now_ns);
    if (*when_ns <= now_ns)
        return bytes;
    l->waited = true;
    m->cap.waited = true; /* its time has passed and does not begin anew while the link's passes */
    return 0;
}

/* Gives a member its turn, or what is left of it. */
static lane_result serve(lane *l, lane_member *m, int64_t now_ns, int64_t *wake_ns)
{
    bool limited = lane_limits(l, m);
    if (m->turn_bytes <= 0)
        m->turn_bytes = limited ? link_quantum_bytes(&l->link) : FREE_TURN_BYTES;
    lane_result result = LANE_MORE;
    while (result == LANE_MORE && m->turn_bytes > 0) {
        int64_t when_ns = LINK_NEVER, moved = 0;
        int64_t bytes = l->wants(m->owner, now_ns, &when_ns);
        if (bytes == 0)
            link_rest(&m->cap, l->receives);
        else
            bytes =
                limited ? allowed(l, m, bytes, now_ns, &when_ns) : smaller(bytes, m->turn_bytes);
        if (bytes == 0) {
            *wake_ns = smaller(*wake_ns, when_ns);
            return LANE_LATER;
        }
        result = l->move(m->owner, bytes, &moved);
        m->turn_bytes -= moved;
        if (limited) {
            link_spend(&m->cap, moved, now_ns);
            link_spend(&l->link, moved, now_ns);
        }
    }
    return result;
}

static void settle(lane *l, lane_member *m, lane_result result)
{
    if (result == LANE_LATER)
        return;
    if (result == LANE_MORE) {
        TAILQ_REMOVE(&l->members, m, places);
        TAILQ_INSERT_TAIL(&l->members, m, places);
        return;
    }
    lane_leave(l, m);
    m->blocked = result == LANE_BLOCKED && m->shaped;
    l->blocked += m->blocked;
    link_rest(&m->cap, m->blocked || l->receives);
}

bool lane_pass(lane *l, int64_t now_ns, int64_t *wake_ns)
{
    bool again = false;
    l->waited = false;
    lane_member *m = TAILQ_FIRST(&l->members), *next;
    for (size_t steps = l->count; m && steps > 0; steps--, m = next) {
        lane_result result = serve(l, m, now_ns, wake_ns);
        if (!m->in)
            return true; /* closed by its own callback, and who follows may be gone as well */
        next = TAILQ_NEXT(m, places);
        settle(l, m, result);
        again |= result == LANE_MORE;
    }
    if (!again && !l->waited)
        link_rest(&l->link, l->blocked > 0 || l->receives);
    return again;
}
