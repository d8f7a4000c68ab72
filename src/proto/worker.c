#include "proto/worker.h"

#include "base/mem.h"

#include <string.h>

edgeps_err worker_make(int64_t chunk_count, worker *out)
{
    worker w = {.parent = PROTO_NO_NODE};
    edgeps_err err = versions_make(chunk_count, &w.have);
    if (!err)
        err = versions_make(chunk_count, &w.seen);
    w.passed = mem_alloc((size_t)chunk_count, sizeof *w.passed);
    if (!err && !w.passed)
        err = EDGEPS_NOMEM;
    if (err)
        worker_free(&w);
    else
        *out = w;
    return err;
}

void worker_free(worker *w)
{
    versions_free(&w->have);
    versions_free(&w->seen);
    mem_free(w->passed);
}

static edgeps_err connect(const worker *w, proto_effects *effects)
{
    if (w->parent == PROTO_NO_NODE)
        return EDGEPS_OK;
    return proto_effects_add(
        effects,
        (proto_effect){.kind = PROTO_CONNECT, .node = w->parent, .generation = w->generation});
}

/* The job goes on without this worker, and a server that it was given up with may have told it what
 * nobody else knows. */
static void forget(worker *w)
{
    versions_fill(&w->have, PROTO_NOTHING);
    if (w->state == WORKER_PUSHING)
        w->state = WORKER_IDLE;
}

edgeps_err worker_plan(worker *w, uint64_t generation, int32_t parent, proto_effects *effects)
{
    if (generation <= w->generation)
        return EDGEPS_OK;
    edgeps_err err = EDGEPS_OK;
    if (w->parent != PROTO_NO_NODE)
        err = proto_effects_add(effects, (proto_effect){.kind = PROTO_DISCONNECT});
    w->generation = generation;
    w->parent = parent;
    w->attached = w->said_ready = false;
    if (parent == PROTO_NO_NODE)
        forget(w);
    versions_set(&w->seen, w->have.of); /* what was seen beyond may be lost with the old servers */
    return err ? err : connect(w, effects);
}

/* Pushes every chunk that may still count: one that may have been taken before (`again`) only for
 * its own round, a first one also into the rounds that may take it late. */
static edgeps_err push(worker *w, bool again, proto_effects *effects)
{
    edgeps_err err = EDGEPS_OK;
    int64_t lateness = again ? 0 : w->staleness;
    for (int64_t c = 0; !err && c < w->have.count; c++)
        if (w->have.of[c] < w->round && w->seen.of[c] < w->round + lateness)
            err = proto_effects_add(effects, (proto_effect){.kind = PROTO_SEND_UP,
                                                            .generation = w->generation,
                                                            .round = w->round,
                                                            .chunk = c,
                                                            .weight = w->weight,
                                                            .again = again});
    return err;
}

/* Who came in the middle of a round holds some chunks with its update and some without: it cannot
 * compute that round any more, and the sums of the latter do not wait for it. */
static edgeps_err pass(worker *w, proto_effects *effects)
{
    edgeps_err err = EDGEPS_OK;
    for (int64_t c = 0; !err && w->state == WORKER_IDLE && c < w->have.count; c++) {
        int64_t round = w->have.of[c] + 1;
        if (w->have.of[c] == PROTO_NOTHING || round > w->have.top || round <= w->passed[c])
            continue;
        w->passed[c] = round;
        err = proto_effects_add(effects, (proto_effect){.kind = PROTO_PASS,
                                                        .generation = w->generation,
                                                        .round = round,
                                                        .chunk = c});
    }
    return err;
}

static edgeps_err say_ready(worker *w, proto_effects *effects)
{
    bool can_go_on =
        w->state != WORKER_IDLE || (versions_agree(&w->have) && w->have.top != PROTO_NOTHING);
    if (w->said_ready || !w->attached || !can_go_on)
        return EDGEPS_OK;
    w->said_ready = true;
    return proto_effects_add(effects,
                             (proto_effect){.kind = PROTO_READY, .generation = w->generation});
}

static edgeps_err start_round(worker *w, proto_effects *effects)
{
    bool whole = versions_agree(&w->have) && w->have.top != PROTO_NOTHING;
    if (w->state != WORKER_IDLE || !w->attached || !whole || w->have.top >= w->allowed)
        return EDGEPS_OK;
    w->state = WORKER_COMPUTING;
    w->round = w->have.top + 1;
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_COMPUTE, .round = w->round});
}

static edgeps_err attached(worker *w, const proto_event *event, proto_effects *effects)
{
    if (event->generation != w->generation || w->attached)
        return EDGEPS_OK;
    w->attached = true;
    w->missed = false; /* the parent was told what is here */
    memset(w->passed, 0, (size_t)w->have.count * sizeof *w->passed);
    edgeps_err err = w->state == WORKER_PUSHING ? push(w, true, effects) : pass(w, effects);
    if (!err)
        err = say_ready(w, effects);
    return err ? err : start_round(w, effects);
}

static edgeps_err computed(worker *w, const proto_event *event, proto_effects *effects)
{
    if (w->state != WORKER_COMPUTING || event->round != w->round)
        return EDGEPS_OK;
    bool forgotten = versions_lowest(&w->have) == PROTO_NOTHING;
    w->state = forgotten ? WORKER_IDLE : WORKER_PUSHING;
    w->weight = event->weight;
    if (!w->attached)
        return EDGEPS_OK;
    size_t before = effects->count;
    edgeps_err err = forgotten ? EDGEPS_OK : push(w, false, effects);
    if (!err && effects->count == before) /* all of it would be refused */
        err = proto_effects_add(
            effects, (proto_effect){.kind = PROTO_DROP, .why = PROTO_TOO_LATE, .round = w->round});
    if (!err && w->missed)
        err = proto_effects_add(effects,
                                (proto_effect){.kind = PROTO_HAVE, .generation = w->generation});
    w->missed = false;
    return err;
}

static edgeps_err drop(proto_why why, proto_effects *effects)
{
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_DROP, .why = why});
}

/* All chunks are at the same version. */
static edgeps_err round_done(worker *w, proto_effects *effects)
{
    edgeps_err err = say_ready(w, effects);
    if (!err && w->state == WORKER_IDLE && w->have.top > w->told) {
        w->told = w->have.top;
        err =
            proto_effects_add(effects, (proto_effect){.kind = PROTO_ROUND_DONE, .round = w->told});
    }
    return err ? err : start_round(w, effects);
}

/* A newer chunk came while the parameters must not change. */
static edgeps_err miss(worker *w, proto_effects *effects)
{
    w->missed = true;
    edgeps_err err = drop(PROTO_REPEATED, effects);
    if (err || !versions_agree(&w->seen) || w->seen.top <= w->told)
        return err;
    w->told = w->seen.top;
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_ROUND_MISSED, .round = w->told});
}

/* The gradient is worth nothing any more once every chunk has its round's update, or a later one:
 * that all chunks are looked at is for rounds that this worker missed. */
static bool is_over(const worker *w)
{
    if (versions_agree(&w->have))
        return w->have.top >= w->round;
    return w->have.top > w->round && versions_lowest(&w->have) >= w->round;
}

static edgeps_err pulled(worker *w, const proto_event *event, proto_effects *effects)
{
    if (event->generation != w->generation)
        return drop(PROTO_OLD_GENERATION, effects);
    if (!w->attached)
        return drop(PROTO_NOT_ATTACHED, effects);
    if (event->chunk < 0 || event->chunk >= w->have.count)
        return drop(PROTO_BAD_CHUNK, effects);
    if (event->round > w->seen.of[event->chunk])
        versions_raise(&w->seen, event->chunk, event->round);
    if (event->round <= w->have.of[event->chunk])
        return drop(PROTO_REPEATED, effects);
    if (w->state == WORKER_COMPUTING)
        return miss(w, effects);
    edgeps_err err = proto_effects_add(effects, (proto_effect){.kind = PROTO_STORE,
                                                               .round = event->round,
                                                               .chunk = event->chunk,
                                                               .before = w->have.of[event->chunk]});
    versions_raise(&w->have, event->chunk, event->round);
    if (err)
        return err;
    if (w->state == WORKER_PUSHING && is_over(w))
        w->state = WORKER_IDLE;
    return versions_agree(&w->have) ? round_done(w, effects) : pass(w, effects);
}

static edgeps_err asked(const worker *w, const proto_event *event, proto_effects *effects)
{
    bool can = event->generation == w->generation && w->attached && event->chunk >= 0 &&
               event->chunk < w->have.count && w->have.of[event->chunk] != PROTO_NOTHING;
    if (!can)
        return EDGEPS_OK;
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_GIVE,
                                                     .generation = w->generation,
                                                     .round = w->have.of[event->chunk],
                                                     .chunk = event->chunk});
}

edgeps_err worker_step(worker *w, const proto_event *event, proto_effects *effects)
{
    switch (event->kind) {
    case PROTO_ATTACHED:
        return attached(w, event, effects);
    case PROTO_PARENT_LOST:
        w->attached = false;
        return connect(w, effects);
    case PROTO_PULLED:
        return pulled(w, event, effects);
    case PROTO_ASKED:
        return asked(w, event, effects);
    case PROTO_COMPUTED:
        return computed(w, event, effects);
    case PROTO_ALLOWED:
        if (event->round > w->allowed)
            w->allowed = event->round;
        return start_round(w, effects);
    default:
        return EDGEPS_OK;
    }
}
