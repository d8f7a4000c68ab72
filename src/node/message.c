#include "node/message.h"

#include "base/mem.h"

void message_put_hello(wire_writer *w, const message_hello *m) { wire_put_text(w, m->name); }

bool message_get_hello(const void *bytes, size_t count, message_hello *m)
{
    wire_reader r = wire_reader_make(bytes, count);
    m->name = wire_get_text(&r);
    return wire_reader_done(&r);
}

void message_put_welcome(wire_writer *w, const message_welcome *m)
{
    wire_put_u64(w, m->job);
    wire_put_u32(w, m->node);
    wire_put_u32(w, m->node_count);
    wire_put_text(w, m->model);
    wire_put_u8(w, m->store_and_forward);
    wire_put_u8(w, m->reference_backend);
    wire_put_u8(w, m->emulate);
    wire_put_u8(w, m->dirichlet);
    wire_put_f64(w, m->alpha);
    wire_put_u64(w, m->seed);
    wire_put_i64(w, m->sample_count);
    wire_put_i64(w, m->batch_samples);
    wire_put_i64(w, m->rounds);
    wire_put_f64(w, m->rate);
    wire_put_f64(w, m->momentum);
    wire_put_u32(w, m->shard);
    wire_put_u32(w, m->shard_count);
    wire_put_text(w, m->data_dir);
    wire_put_text(w, m->storage_dir);
    wire_put_f64(w, m->up_bytes_per_s);
    wire_put_f64(w, m->down_bytes_per_s);
    wire_put_f64(w, m->samples_per_s);
    wire_put_i64(w, m->free_bytes);
    for (size_t k = 0; k < 3 * (size_t)m->node_count; k++)
        wire_put_f64(w, m->peers[k]);
}

bool message_get_welcome(const void *bytes, size_t count, message_welcome *m)
{
    wire_reader r = wire_reader_make(bytes, count);
    m->job = wire_get_u64(&r);
    m->node = wire_get_u32(&r);
    m->node_count = wire_get_u32(&r);
    m->model = wire_get_text(&r);
    m->store_and_forward = wire_get_u8(&r);
    m->reference_backend = wire_get_u8(&r);
    m->emulate = wire_get_u8(&r);
    m->dirichlet = wire_get_u8(&r);
    m->alpha = wire_get_f64(&r);
    m->seed = wire_get_u64(&r);
    m->sample_count = wire_get_i64(&r);
    m->batch_samples = wire_get_i64(&r);
    m->rounds = wire_get_i64(&r);
    m->rate = wire_get_f64(&r);
    m->momentum = wire_get_f64(&r);
    m->shard = wire_get_u32(&r);
    m->shard_count = wire_get_u32(&r);
    m->data_dir = wire_get_text(&r);
    m->storage_dir = wire_get_text(&r);
    m->up_bytes_per_s = wire_get_f64(&r);
    m->down_bytes_per_s = wire_get_f64(&r);
    m->samples_per_s = wire_get_f64(&r);
    m->free_bytes = wire_get_i64(&r);
    m->peers = NULL;
    size_t left = (size_t)(r.end - r.pos);
    if (r.failed || m->node >= m->node_count || left != 24 * (size_t)m->node_count)
        return false;
    double *peers = mem_alloc(3 * (size_t)m->node_count, sizeof *peers);
    if (!peers)
        return false;
    for (size_t k = 0; k < 3 * (size_t)m->node_count; k++)
        peers[k] = wire_get_f64(&r);
    m->peers = peers;
    return true;
}

void message_welcome_free(message_welcome *m)
{
    mem_free((void *)m->peers);
    m->peers = NULL;
}

void message_put_plan(wire_writer *w, const message_plan *m)
{
    wire_put_u64(w, m->plan.generation);
    wire_put_u32(w, (uint32_t)m->plan.count);
    wire_put_u32(w, (uint32_t)m->plan.global);
    wire_put_u8(w, m->forget);
    for (size_t i = 0; i < m->plan.count; i++) {
        wire_put_u32(w, (uint32_t)m->plan.parent[i]);
        wire_put_u32(w, m->port[i]);
    }
}

bool message_get_plan(const void *bytes, size_t count, message_plan *m)
{
    wire_reader r = wire_reader_make(bytes, count);
    uint64_t generation = wire_get_u64(&r);
    uint32_t nodes = wire_get_u32(&r);
    int32_t global = (int32_t)wire_get_u32(&r);
    uint8_t forget = wire_get_u8(&r);
    bool fits = !r.failed && (size_t)(r.end - r.pos) == 8 * (size_t)nodes;
    if (!fits || global < 0 || (uint32_t)global >= nodes || plan_make(nodes, &m->plan))
        return false;
    m->plan.generation = generation;
    m->plan.global = global;
    m->forget = forget;
    m->port = mem_alloc(nodes, sizeof *m->port);
    bool good = m->port != NULL;
    for (uint32_t i = 0; good && i < nodes; i++) {
        m->plan.parent[i] = (int32_t)wire_get_u32(&r);
        m->port[i] = wire_get_u32(&r);
        good = m->plan.parent[i] >= PLAN_NONE && m->plan.parent[i] < (int32_t)nodes;
    }
    if (!good)
        message_plan_free(m);
    return good;
}

void message_plan_free(message_plan *m)
{
    plan_free(&m->plan);
    mem_free(m->port);
    m->port = NULL;
}

void message_put_done(wire_writer *w, const message_done *m)
{
    wire_put_i64(w, m->round);
    wire_put_i64(w, m->samples);
    wire_put_f64(w, m->loss);
    wire_put_f64(w, m->compute_s);
    wire_put_f64(w, m->push_s);
    wire_put_f64(w, m->wait_s);
    wire_put_f64(w, m->pull_s);
}

bool message_get_done(const void *bytes, size_t count, message_done *m)
{
    wire_reader r = wire_reader_make(bytes, count);
    m->round = wire_get_i64(&r);
    m->samples = wire_get_i64(&r);
    m->loss = wire_get_f64(&r);
    m->compute_s = wire_get_f64(&r);
    m->push_s = wire_get_f64(&r);
    m->wait_s = wire_get_f64(&r);
    m->pull_s = wire_get_f64(&r);
    return wire_reader_done(&r);
}

void message_put_measured(wire_writer *w, const message_measured *m)
{
    wire_put_u32(w, m->port);
    wire_put_i64(w, m->free_bytes);
    wire_put_f64(w, m->samples_per_s);
    wire_put_f64(w, m->sum_s);
}

bool message_get_measured(const void *bytes, size_t count, message_measured *m)
{
    wire_reader r = wire_reader_make(bytes, count);
    m->port = wire_get_u32(&r);
    m->free_bytes = wire_get_i64(&r);
    m->samples_per_s = wire_get_f64(&r);
    m->sum_s = wire_get_f64(&r);
    return wire_reader_done(&r) && m->port > 0 && m->port < 65536;
}

void message_put_moved(wire_writer *w, const message_moved *m)
{
    wire_put_u8(w, m->ok);
    wire_put_text(w, m->text);
}

bool message_get_moved(const void *bytes, size_t count, message_moved *m)
{
    wire_reader r = wire_reader_make(bytes, count);
    m->ok = wire_get_u8(&r);
    m->text = wire_get_text(&r);
    return wire_reader_done(&r);
}

void message_put_set(wire_writer *w, const message_set *m)
{
    wire_put_u8(w, m->change);
    wire_put_f64(w, m->value);
}

bool message_get_set(const void *bytes, size_t count, message_set *m)
{
    wire_reader r = wire_reader_make(bytes, count);
    m->change = wire_get_u8(&r);
    m->value = wire_get_f64(&r);
    return wire_reader_done(&r) && m->value >= 0;
}

void message_put_move(wire_writer *w, const message_move *m)
{
    wire_put_u8(w, m->role);
    wire_put_u32(w, m->node);
    wire_put_u32(w, m->port);
    wire_put_u32(w, m->children);
}

bool message_get_move(const void *bytes, size_t count, message_move *m)
{
    wire_reader r = wire_reader_make(bytes, count);
    m->role = wire_get_u8(&r);
    m->node = wire_get_u32(&r);
    m->port = wire_get_u32(&r);
    m->children = wire_get_u32(&r);
    return wire_reader_done(&r) && m->role <= MESSAGE_GLOBAL;
}

void message_put_state(wire_writer *w, const message_state *m)
{
    wire_put_u8(w, m->role);
    wire_put_u32(w, m->children);
    wire_put_u64(w, m->parameters_hash);
    wire_put_u64(w, m->velocity_hash);
}

bool message_get_state(const void *bytes, size_t count, message_state *m)
{
    wire_reader r = wire_reader_make(bytes, count);
    m->role = wire_get_u8(&r);
    m->children = wire_get_u32(&r);
    m->parameters_hash = wire_get_u64(&r);
    m->velocity_hash = wire_get_u64(&r);
    return wire_reader_done(&r) && m->role <= MESSAGE_GLOBAL;
}
