#include "node/state.h"

static edgeps_err send_mark(conn *c, const frame_stamp *stamp, uint16_t type,
                            const state_label *label, const message_state *m)
{
    wire_writer w = {0};
    message_put_state(&w, m);
    return frame_send(c, stamp, type, label->generation, label->number, &w);
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
        err = frame_lend(c, stamp, header, (const uint8_t *)values + k * j->chunk_bytes, 0);
    }
    return err;
}

edgeps_err state_send(conn *c, const frame_stamp *stamp, const job *j, const state_view *state,
                      const state_label *label)
{
    uint64_t bytes = (uint64_t)job_parameter_bytes(j);
    message_state m = {.role = (uint8_t)state->role, .children = label->children};
    edgeps_err err = send_mark(c, stamp, MESSAGE_STATE_BEGIN, label, &m);
    wire_header header = {.type = MESSAGE_STATE_PARAMETERS, .generation = label->generation};
    if (!err)
        err = send_chunks(c, stamp, j, state, header);
    header.type = MESSAGE_STATE_VELOCITY;
    if (!err && state->velocity)
        err = send_chunks(c, stamp, j, state, header);
    m.parameters_hash = wire_hash(state->parameters, bytes);
    m.velocity_hash = state->velocity ? wire_hash(state->velocity, bytes) : 0;
    return err ? err : send_mark(c, stamp, MESSAGE_STATE_END, label, &m);
}

void state_expect(state_arrival *a, const job *j, state_view target)
{
    int64_t chunks = job_chunk_count(j);
    *a = (state_arrival){.open = true,
                         .target = target,
                         .parameters_left = chunks,
                         .velocity_left = target.velocity ? chunks : 0};
    for (int64_t k = 0; k < chunks; k++)
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

void state_took(state_arrival *a, const wire_header *h)
{
    if (h->type == MESSAGE_STATE_PARAMETERS) {
        a->target.versions[h->chunk] = h->round;
        a->parameters_left--;
    } else {
        a->velocity_left--;
    }
}

edgeps_err state_finish(state_arrival *a, const job *j, const message_state *end, edgeps_diag *diag)
{
    uint64_t bytes = (uint64_t)job_parameter_bytes(j);
    const state_view *t = &a->target;
    bool whole = a->open && a->parameters_left == 0 && a->velocity_left == 0;
    a->open = false;
    if (!whole)
        return diag_fail(diag, EDGEPS_PROTOCOL,
                         "the state of a server arrived with chunks missing");
    bool same = wire_hash(t->parameters, bytes) == end->parameters_hash &&
                (!t->velocity || wire_hash(t->velocity, bytes) == end->velocity_hash);
    if (!same)
        return diag_fail(diag, EDGEPS_PROTOCOL,
                         "the state of a server arrived changed: the hashes differ");
    return EDGEPS_OK;
}
