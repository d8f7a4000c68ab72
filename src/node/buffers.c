#include "node/buffers.h"

typedef enum part { PARAMETERS, VELOCITY, SUM, INBOX } part;

static const char *const part_names[2][4] = {
    [MESSAGE_LOCAL] = {"local-parameters", "local-velocity", "local-sum", "local-inbox"},
    [MESSAGE_GLOBAL] = {"global-parameters", "global-velocity", "global-sum", "global-inbox"},
};

static edgeps_err reserve(const buffers *b, store *s, part which, int64_t bytes, edgeps_diag *diag,
                          void **out)
{
    return store_reserve(s, part_names[b->role][which], bytes, diag, out);
}

static edgeps_err reserve_vectors(buffers *b, store *s, const job *j, edgeps_diag *diag)
{
    int64_t bytes = job_parameter_bytes(j);
    void *parameters, *sum, *velocity = NULL;
    edgeps_err err = reserve(b, s, PARAMETERS, bytes, diag, &parameters);
    if (err)
        return err;
    err = reserve(b, s, SUM, bytes, diag, &sum);
    if (!err && b->role == MESSAGE_GLOBAL) {
        err = reserve(b, s, VELOCITY, JOB_OPTIMIZER_SLOTS * bytes, diag, &velocity);
        if (err)
            store_release(s, part_names[b->role][SUM]);
    }
    if (err) {
        store_release(s, part_names[b->role][PARAMETERS]);
        return err;
    }
    b->parameters = parameters;
    b->sum = sum;
    b->velocity = velocity;
    return EDGEPS_OK;
}

edgeps_err buffers_fit(buffers *b, store *s, const job *j, int64_t children, edgeps_diag *diag)
{
    edgeps_err err = b->parameters ? EDGEPS_OK : reserve_vectors(b, s, j, diag);
    if (err || b->children == children)
        return err;
    if (b->inbox)
        store_release(s, part_names[b->role][INBOX]);
    b->inbox = NULL;
    b->children = 0;
    void *inbox;
    err = reserve(b, s, INBOX, children * j->chunk_bytes, diag, &inbox);
    if (err)
        return err;
    b->inbox = inbox;
    b->children = children;
    return EDGEPS_OK;
}

edgeps_err buffers_stand_by(buffers *b, store *s, const job *j, bool wanted, edgeps_diag *diag)
{
    void *velocity = NULL;
    if (wanted == (b->velocity != NULL) || !b->parameters)
        return EDGEPS_OK;
    edgeps_err err = EDGEPS_OK;
    if (wanted)
        err =
            reserve(b, s, VELOCITY, JOB_OPTIMIZER_SLOTS * job_parameter_bytes(j), diag, &velocity);
    else
        store_release(s, part_names[b->role][VELOCITY]);
    b->velocity = velocity;
    return err;
}

void buffers_release(buffers *b, store *s)
{
    if (!b->parameters)
        return;
    store_release(s, part_names[b->role][PARAMETERS]);
    store_release(s, part_names[b->role][SUM]);
    if (b->velocity)
        store_release(s, part_names[b->role][VELOCITY]);
    if (b->inbox)
        store_release(s, part_names[b->role][INBOX]);
    *b = (buffers){.role = b->role};
}
