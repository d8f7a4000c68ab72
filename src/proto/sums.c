/* The sums of a family: what is taken into them, and when they close. Who is waited for how long
 * follows from `patience`: synchronous training with backup workers (Chen et al., "Revisiting
 * Distributed Synchronous SGD", 2016), with a time-out in place of a number of workers that is
 * never waited for; late gradients up to a bound as in Ho et al., "More Effective Distributed ML
 * via a Stale Synchronous Parallel Parameter Server", 2013. */
#include "proto/family.h"

#include <math.h>

static int64_t *got_of(const family *f, int64_t k, int64_t chunk)
{
    return &f->got[k * f->chunk_count + chunk];
}

/* Who passed is not waited for. */
static bool has_enough(const family *f, const family_sum *sum)
{
    int64_t expected = (int64_t)f->child_count - (sum->arrived - sum->taken);
    double needed = ceil(f->patience.quorum * (double)expected - 1e-9);
    return sum->taken > 0 && f->patience.quorum > 0 && (double)sum->taken >= needed;
}

/* A wave that has begun shows that the rounds before it are over elsewhere. Late gradients alone do
 * not make a round: somebody must have begun it. */
static bool may_close(const family *f, const family_sum *sum)
{
    bool late = sum->round < f->wave.round || (sum->round == f->wave.round && f->wave.late);
    if (sum->arrived == (int64_t)f->child_count)
        return sum->round <= f->begun;
    return f->whole && late && has_enough(f, sum);
}

static edgeps_err close_if_due(family *f, int64_t chunk, const versions *have,
                               proto_effects *effects)
{
    family_sum *sum = &f->sums[chunk];
    bool gathers = sum->arrived && !sum->closed && sum->round > have->of[chunk];
    if (!gathers || !may_close(f, sum))
        return EDGEPS_OK;
    sum->closed = true;
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_SUM,
                                                     .node = (int32_t)sum->taken,
                                                     .generation = f->generation,
                                                     .round = sum->round,
                                                     .chunk = chunk});
}

edgeps_err family_close_late(family *f, const versions *have, proto_effects *effects)
{
    edgeps_err err = EDGEPS_OK;
    for (int64_t c = 0; !err && c < f->chunk_count; c++)
        err = close_if_due(f, c, have, effects);
    return err;
}

edgeps_err family_late(family *f, const proto_event *event, const versions *have,
                       proto_effects *effects)
{
    if (event->generation != f->generation || event->round != f->wave.round)
        return EDGEPS_OK;
    f->wave.late = true;
    return family_close_late(f, have, effects);
}

void family_raised(family *f, const versions *have)
{
    if (versions_agree(have))
        f->opened_ns = f->now_ns;
}

/* Of the rounds remembered; 0: none yet. */
static int64_t usual_ns(const family *f)
{
    int64_t sorted[FAMILY_MEMORY];
    int64_t count = f->took_count < FAMILY_MEMORY ? f->took_count : FAMILY_MEMORY;
    for (int64_t n = 0; n < count; n++) {
        int64_t at = n;
        for (; at > 0 && sorted[at - 1] > f->took_ns[n]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = f->took_ns[n];
    }
    return count ? sorted[count / 2] : 0;
}

/* The first contribution to a round: from now on the others' time runs. */
static edgeps_err begin_wave(family *f, int64_t round, const versions *have, proto_effects *effects)
{
    const proto_patience *p = &f->patience;
    f->wave = (family_wave){.round = round};
    int64_t after_ns =
        p->timeout_ns ? p->timeout_ns : (int64_t)(p->times_median * (double)usual_ns(f));
    if (p->quorum <= 0)
        return EDGEPS_OK;
    edgeps_err err = family_close_late(f, have, effects);
    if (err || after_ns == 0) /* the first round, which teaches how long they take */
        return err;
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_ARM,
                                                     .generation = f->generation,
                                                     .round = round,
                                                     .after_ns = f->waits * after_ns});
}

/* How long the round took as far as stragglers have no part in it. */
static void note_enough(family *f, family_sum *sum)
{
    if (sum->enough || !has_enough(f, sum))
        return;
    sum->enough = true;
    f->wave.enough += sum->round == f->wave.round;
    if (f->wave.enough == f->chunk_count && sum->round == f->wave.round && f->opened_ns)
        f->took_ns[f->took_count++ % FAMILY_MEMORY] = f->now_ns - f->opened_ns;
}

/* The round of the sum that takes a push, or -1: none does any more. A late one is taken into the
 * sum that is open, where its child has nothing yet; but not one that an earlier sum may hold. */
static int64_t round_for(const family *f, int64_t k, const proto_event *event, const versions *have)
{
    const family_sum *sum = &f->sums[event->chunk];
    int64_t next = have->of[event->chunk] + 1;
    int64_t open = sum->round > next ? sum->round : next;
    bool closed = sum->round == open && sum->closed;
    if (event->round > open || (event->round == open && !closed))
        return event->round;
    bool fresh = event->kind == PROTO_PUSHED && !event->again;
    bool takes = fresh && !closed && open - event->round <= f->patience.staleness &&
                 *got_of(f, k, event->chunk) < open;
    return takes ? open : -1;
}

static bool is_refused(const family *f, int64_t k, const proto_event *event, proto_why *why)
{
    if (event->generation != f->generation)
        *why = PROTO_OLD_GENERATION;
    else if (k < 0)
        *why = PROTO_NOT_A_CHILD;
    else if (!f->attached[k])
        *why = PROTO_NOT_ATTACHED;
    else if (event->chunk < 0 || event->chunk >= f->chunk_count)
        *why = PROTO_BAD_CHUNK;
    else
        return false;
    return true;
}

static edgeps_err drop(const proto_event *event, proto_why why, proto_effects *effects)
{
    return proto_effects_add(effects, (proto_effect){.kind = PROTO_DROP,
                                                     .why = why,
                                                     .node = event->node,
                                                     .generation = event->generation,
                                                     .round = event->round,
                                                     .chunk = event->chunk});
}

static edgeps_err take(family *f, int64_t k, const proto_event *event, int64_t round,
                       proto_effects *effects)
{
    family_sum *sum = &f->sums[event->chunk];
    if (sum->round != round)
        *sum = (family_sum){.round = round};
    *got_of(f, k, event->chunk) = round;
    sum->arrived++;
    if (event->kind == PROTO_PASSED)
        return EDGEPS_OK;
    bool first = sum->taken++ == 0;
    sum->weight += event->weight;
    sum->again |= event->again;
    return proto_effects_add(effects, (proto_effect){.kind = first ? PROTO_TAKE_FIRST : PROTO_TAKE,
                                                     .node = event->node,
                                                     .round = round,
                                                     .chunk = event->chunk,
                                                     .before = event->round});
}

static edgeps_err take_or_drop(family *f, int64_t k, const proto_event *event, const versions *have,
                               proto_effects *effects)
{
    if (event->round <= *got_of(f, k, event->chunk))
        return drop(event, PROTO_REPEATED, effects);
    int64_t round = round_for(f, k, event, have);
    bool first_push = event->kind == PROTO_PUSHED && !event->again;
    if (round < 0)
        return drop(event, first_push ? PROTO_TOO_LATE : PROTO_REPEATED, effects);
    return take(f, k, event, round, effects);
}

edgeps_err family_pushed(family *f, const proto_event *event, const versions *have,
                         proto_effects *effects)
{
    int64_t k = family_index(f, event->node);
    proto_why why;
    if (is_refused(f, k, event, &why))
        return drop(event, why, effects);
    if (event->round > f->begun)
        f->begun = event->round;
    edgeps_err err = take_or_drop(f, k, event, have, effects);
    bool begins = event->kind == PROTO_PUSHED && event->round > f->wave.round &&
                  event->round > have->of[event->chunk];
    if (!err && begins)
        err = begin_wave(f, event->round, have, effects);
    note_enough(f, &f->sums[event->chunk]);
    return err ? err : close_if_due(f, event->chunk, have, effects);
}

family_sum *family_summed(family *f, const proto_event *event, const versions *have)
{
    if (event->generation != f->generation || event->chunk < 0 || event->chunk >= f->chunk_count)
        return NULL;
    family_sum *sum = &f->sums[event->chunk];
    bool counts =
        sum->round == event->round && event->round > have->of[event->chunk] && sum->closed;
    if (!counts || sum->added)
        return NULL;
    sum->added = true;
    return sum;
}
