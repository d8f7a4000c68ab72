#include "node/state.h"

static edgeps_err send_mark(conn *c, const frame_stamp *stamp, uint16_t type,
                            const state_label *label, const message_state *m)
{
    wire_writer w = {0};
    message_put_state(&w, m);
    return frame_send(c, stamp, type, label->generation, label->number, &w);
}

edgeps_err state_begin(conn *c, const frame_stamp *stamp, const state_label *label)
{
    message_state m = {.role = (uint8_t)label->role, .children = label->children};
    return send_mark(c, stamp, MESSAGE_STATE_BEGIN, label, &m);
}

edgeps_err state_end(conn *c, const frame_stamp *stamp, const state_label *label,
                     uint64_t parameters_hash, uint64_t velocity_hash)
{
    message_state m = {.role = (uint8_t)label->role,
                       .children = label->children,
                       .parameters_hash = parameters_hash,
                       .velocity_hash = velocity_hash};
    return send_mark(c, stamp, MESSAGE_STATE_END, label, &m);
}

uint64_t state_chain(uint64_t before, uint64_t chunk_hash, int64_t version)
{
    const uint64_t words[] = {before, chunk_hash, (uint64_t)version};
    return wire_hash(words, sizeof words);
}

static const uint8_t *chunk_of(const job *j, const float *values, int64_t k)
{
    return (const uint8_t *)values + k * j->chunk_bytes;
}

/* 0 for no values. */
static uint64_t hash_of(const job *j, const float *values, const int64_t *versions)
{
    uint64_t hash = 0;
    for (int64_t k = 0; values && k < job_chunk_count(j); k++) {
        uint64_t bytes = (uint64_t)job_chunk_payload_bytes(j, k);
        hash = state_chain(hash, wire_hash(chunk_of(j, values, k), bytes), versions[k]);
    }
    return hash;
}

static edgeps_err send_chunks(conn *c, const frame_stamp *stamp, const job *j,
                              const state_view *state, wire_header header)
{
    const float *values =
        header.type == MESSAGE_STATE_PARAMETERS ? state->parameters : state->velocity;
    edgeps_err err = EDGEPS_OK;
    for (int64_t k = 0; !err && k < job_chunk_count(j); k++) {
        header.chunk = (uint32_t)k;
        header.round = state->versions[k];
        header.length = (uint64_t)job_chunk_payload_bytes(j, k);
        err = frame_lend(c, stamp, header, chunk_of(j, values, k), NULL, NULL);
    }
    return err;
}

edgeps_err state_send(conn *c, const frame_stamp *stamp, const job *j, const state_view *state,
                      const state_label *label)
{
    edgeps_err err = state_begin(c, stamp, label);
    wire_header header = {.type = MESSAGE_STATE_PARAMETERS, .generation = label->generation};
    if (!err)
        err = send_chunks(c, stamp, j, state, header);
    header.type = MESSAGE_STATE_VELOCITY;
    if (!err && state->velocity)
        err = send_chunks(c, stamp, j, state, header);
    if (err)
        return err;
    return state_end(c, stamp, label, hash_of(j, state->parameters, state->versions),
                     hash_of(j, state->velocity, state->versions));
}

void state_expect(state_arrival *a, const job *j, state_view target)
{
    *a = (state_arrival){.open = true, .target = target};
    for (int64_t k = 0; k < job_chunk_count(j); k++)
        target.versions[k] = -1;
}

void *state_buffer(const state_arrival *a, const job *j, const wire_header *h)
{
    bool parameters = h->type == MESSAGE_STATE_PARAMETERS;
    float *values = parameters ? a->target.parameters : a->target.velocity;
    bool fits = a->open && values && h->chunk < job_chunk_count(j) &&
                h->length == (uint64_t)job_chunk_payload_bytes(j, h->chunk);
    return fits ? (uint8_t *)values + h->chunk * j->chunk_bytes : NULL;
}

/* Both parts of a chunk come at one version. */
void state_took(state_arrival *a, const wire_header *h) { a->target.versions[h->chunk] = h->round; }

edgeps_err state_finish(state_arrival *a, const job *j, const message_state *end, edgeps_diag *diag)
{
    const state_view *t = &a->target;
    bool whole = a->open && hash_of(j, t->parameters, t->versions) == end->parameters_hash &&
                 hash_of(j, t->velocity, t->versions) == end->velocity_hash;
    a->open = false;
    return whole ? EDGEPS_OK
                 : diag_fail(diag, EDGEPS_PROTOCOL,
                             "the state of a server arrived incomplete or changed: the hashes "
                             "differ");
}
