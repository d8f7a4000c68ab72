#include "proto/copier.h"

#include "base/mem.h"

#define NOT_SENT (PROTO_NOTHING - 1)
#define FEW 8         /* one of so many chunks is few */
#define MOST_PASSES 5 /* before the server freezes */

edgeps_err copier_make(int64_t chunk_count, bool follows, copier *out)
{
    copier c = {.follows = follows};
    c.sent = mem_alloc((size_t)chunk_count, sizeof *c.sent);
    if (!c.sent)
        return EDGEPS_NOMEM;
    for (int64_t k = 0; k < chunk_count; k++)
        c.sent[k] = NOT_SENT;
    *out = c;
    return EDGEPS_OK;
}

void copier_free(copier *c)
{
    mem_free(c->sent);
    *c = (copier){0};
}

/* The next chunk of the pass that is not as it was sent. */
static bool find_changed(copier *c, const versions *have, int64_t *chunk)
{
    for (; c->next < have->count; c->next++) {
        int64_t k = c->next;
        if (c->sent[k] == have->of[k])
            continue;
        c->sent[k] = have->of[k];
        c->sent_in_pass++;
        c->next++;
        *chunk = k;
        return true;
    }
    return false;
}

static int64_t count_changed(const copier *c, const versions *have)
{
    int64_t changed = 0;
    for (int64_t k = 0; k < have->count; k++)
        changed += c->sent[k] != have->of[k];
    return changed;
}

copier_step copier_next(copier *c, const versions *have, int64_t *chunk)
{
    if (find_changed(c, have, chunk))
        return COPIER_SEND;
    if (!c->follows)
        return COPIER_END;
    int64_t changed = count_changed(c, have), sent = c->sent_in_pass;
    c->sent_in_pass = 0;
    bool enough = FEW * changed <= have->count || 2 * changed > sent;
    if (!c->frozen && (enough || ++c->passes == MOST_PASSES)) {
        c->frozen = true;
        return COPIER_FREEZE;
    }
    c->next = 0;
    return find_changed(c, have, chunk) ? COPIER_SEND : COPIER_END;
}
