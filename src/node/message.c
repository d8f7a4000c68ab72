#include "node/message.h"

#include "base/mem.h"

/* One walk over a message's fields serves both ways: with a writer it puts them, without one it
 * gets them, so that encoder and decoder cannot differ. */
typedef struct walk {
    wire_writer *out;
    wire_reader in;
} walk;

#define WALK(kind, type)                                                                           \
    static void walk_##kind(walk *k, __typeof__(type) *value)                                      \
    {                                                                                              \
        if (k->out)                                                                                \
            wire_put_##kind(k->out, *value);                                                       \
        else                                                                                       \
            *value = wire_get_##kind(&k->in);                                                      \
    }

WALK(u8, uint8_t)
WALK(u32, uint32_t)
WALK(u64, uint64_t)
WALK(i64, int64_t)
WALK(f64, double)
WALK(text, const char *)

/* message_put_NAME and message_get_NAME from the walk over NAME's fields. */
#define MESSAGE(name)                                                                              \
    void message_put_##name(wire_writer *w, const message_##name *m)                               \
    {                                                                                              \
        message_##name copy = *m;                                                                  \
        walk_##name(&(walk){.out = w}, &copy);                                                     \
    }                                                                                              \
    bool message_get_##name(const void *bytes, size_t count, message_##name *m)                    \
    {                                                                                              \
        walk k = {.in = wire_reader_make(bytes, count)};                                           \
        walk_##name(&k, m);                                                                        \
        return wire_reader_done(&k.in) && is_##name(m);                                            \
    }

static void walk_hello(walk *k, message_hello *m)
{
    walk_text(k, &m->name);
    walk_u64(k, &m->job);
    walk_u32(k, &m->incarnation);
    walk_u64(k, &m->generation);
    walk_u8(k, &m->servers);
}

static bool is_hello(const message_hello *m)
{
    return m->name[0] != '\0' && m->servers <= MESSAGE_HOMELESS;
}

MESSAGE(hello)

static void walk_done(walk *k, message_done *m)
{
    walk_i64(k, &m->round);
    walk_i64(k, &m->samples);
    walk_f64(k, &m->loss);
    walk_f64(k, &m->compute_s);
    walk_f64(k, &m->push_s);
    walk_f64(k, &m->wait_s);
    walk_f64(k, &m->pull_s);
}

static bool is_done(const message_done *m) { return m->samples >= 0; }

MESSAGE(done)

static void walk_measured(walk *k, message_measured *m)
{
    walk_u32(k, &m->port);
    walk_i64(k, &m->free_bytes);
    walk_f64(k, &m->samples_per_s);
    walk_f64(k, &m->sum_s);
}

static bool is_measured(const message_measured *m) { return m->port > 0 && m->port < 65536; }

MESSAGE(measured)

static void walk_moved(walk *k, message_moved *m)
{
    walk_u8(k, &m->ok);
    walk_text(k, &m->text);
}

static bool is_moved(const message_moved *m) { return m->ok <= 1; }

MESSAGE(moved)

static void walk_trouble(walk *k, message_trouble *m)
{
    walk_u32(k, &m->code);
    walk_text(k, &m->text);
}

static bool is_trouble(const message_trouble *m)
{
    return m->code != EDGEPS_OK && m->code <= EDGEPS_CANCELLED;
}

MESSAGE(trouble)

static void walk_late(walk *k, message_late *m)
{
    walk_u32(k, &m->node);
    walk_u8(k, &m->role);
}

static bool is_late(const message_late *m) { return m->role <= MESSAGE_GLOBAL; }

MESSAGE(late)

static void walk_set(walk *k, message_set *m)
{
    walk_u8(k, &m->change);
    walk_f64(k, &m->value);
}

static bool is_set(const message_set *m) { return m->value >= 0; }

MESSAGE(set)

static void walk_move(walk *k, message_move *m)
{
    walk_u8(k, &m->role);
    walk_u32(k, &m->node);
    walk_u32(k, &m->port);
    walk_u32(k, &m->children);
}

static bool is_move(const message_move *m) { return m->role <= MESSAGE_GLOBAL; }

MESSAGE(move)

static void walk_state(walk *k, message_state *m)
{
    walk_u8(k, &m->role);
    walk_u32(k, &m->children);
    walk_u64(k, &m->parameters_hash);
    walk_u64(k, &m->velocity_hash);
}

static bool is_state(const message_state *m) { return m->role <= MESSAGE_GLOBAL; }

MESSAGE(state)

static void walk_probe(walk *k, message_probe *m)
{
    walk_u8(k, &m->kind);
    walk_u64(k, &m->token);
    walk_text(k, &m->address);
    walk_text(k, &m->model);
    walk_f64(k, &m->settle_s);
    walk_f64(k, &m->window_s);
    walk_u8(k, &m->restrained);
    walk_u32(k, &m->count);
    for (uint32_t p = 0; p < m->count && p < MESSAGE_MOST_PEERS; p++) {
        walk_text(k, &m->names[p]);
        walk_text(k, &m->addresses[p]);
        walk_u32(k, &m->ports[p]);
        walk_f64(k, &m->paces[p]);
    }
}

static bool is_probe(const message_probe *m)
{
    bool times = m->settle_s >= 0 && m->settle_s <= 20 && m->window_s >= 0 && m->window_s <= 20;
    return m->kind <= MESSAGE_PING && m->count <= MESSAGE_MOST_PEERS && times;
}

MESSAGE(probe)

static void walk_probed(walk *k, message_probed *m)
{
    walk_text(k, &m->trouble);
    walk_u32(k, &m->port);
    walk_i64(k, &m->free_bytes);
    walk_f64(k, &m->samples_per_s);
    walk_u32(k, &m->count);
    for (uint32_t p = 0; p < m->count && p < MESSAGE_MOST_PEERS; p++)
        walk_f64(k, &m->values[p]);
}

static bool is_probed(const message_probed *m)
{
    bool good = m->count <= MESSAGE_MOST_PEERS && m->port <= 65535 && m->free_bytes >= 0 &&
                m->samples_per_s >= 0 && m->samples_per_s <= 1e18;
    for (uint32_t p = 0; good && p < m->count; p++)
        good = m->values[p] >= 0 && m->values[p] <= 1e18;
    return good;
}

MESSAGE(probed)

static void walk_settings(walk *k, message_welcome *m)
{
    walk_u64(k, &m->job);
    walk_u32(k, &m->node);
    walk_u32(k, &m->incarnation);
    walk_u32(k, &m->node_count);
    walk_text(k, &m->model);
    walk_u8(k, &m->store_and_forward);
    walk_u8(k, &m->reference_backend);
    walk_u8(k, &m->emulate);
    walk_u8(k, &m->dirichlet);
    walk_f64(k, &m->alpha);
    walk_u64(k, &m->seed);
    walk_i64(k, &m->sample_count);
    walk_i64(k, &m->batch_samples);
    walk_i64(k, &m->local_steps);
    walk_i64(k, &m->rounds);
    walk_f64(k, &m->rate);
    walk_f64(k, &m->momentum);
    walk_f64(k, &m->patience.quorum);
    walk_i64(k, &m->patience.timeout_ns);
    walk_f64(k, &m->patience.times_median);
    walk_i64(k, &m->patience.staleness);
    walk_u32(k, &m->shard);
    walk_u32(k, &m->shard_count);
    walk_text(k, &m->data_dir);
    walk_text(k, &m->storage_dir);
    walk_f64(k, &m->up_bytes_per_s);
    walk_f64(k, &m->down_bytes_per_s);
    walk_f64(k, &m->samples_per_s);
    walk_i64(k, &m->free_bytes);
    walk_f64(k, &m->silent_s);
    walk_f64(k, &m->beat_s);
    walk_f64(k, &m->orphan_s);
}

void message_put_welcome(wire_writer *w, const message_welcome *m)
{
    message_welcome copy = *m;
    walk_settings(&(walk){.out = w}, &copy);
    for (size_t k = 0; k < 3 * (size_t)m->node_count; k++)
        wire_put_f64(w, m->peers[k]);
    for (size_t k = 0; k < m->node_count; k++)
        wire_put_text(w, m->addresses[k]);
    for (size_t k = 0; k < m->node_count; k++)
        wire_put_text(w, m->names[k]);
}

static const char **get_texts(wire_reader *in, size_t count)
{
    const char **texts = mem_alloc(count, sizeof *texts);
    for (size_t k = 0; texts && k < count; k++)
        texts[k] = wire_get_text(in);
    return texts;
}

bool message_get_welcome(const void *bytes, size_t count, message_welcome *m)
{
    walk k = {.in = wire_reader_make(bytes, count)};
    walk_settings(&k, m);
    size_t n = m->node_count, left = (size_t)(k.in.end - k.in.pos);
    m->peers = NULL;
    m->addresses = m->names = NULL;
    if (k.in.failed || m->node >= n || left < 24 * n || m->rounds <= 0)
        return false;
    double *peers = mem_alloc(3 * n, sizeof *peers);
    m->peers = peers;
    for (size_t p = 0; peers && p < 3 * n; p++)
        peers[p] = wire_get_f64(&k.in);
    m->addresses = get_texts(&k.in, n);
    m->names = get_texts(&k.in, n);
    bool good = peers && m->addresses && m->names && !k.in.failed && k.in.pos == k.in.end;
    if (!good)
        message_welcome_free(m);
    return good;
}

void message_welcome_free(message_welcome *m)
{
    mem_free((void *)m->peers);
    mem_free((void *)m->addresses);
    mem_free((void *)m->names);
    m->peers = NULL;
    m->addresses = m->names = NULL;
}

void message_put_plan(wire_writer *w, const message_plan *m)
{
    wire_put_u64(w, m->plan.generation);
    wire_put_u32(w, (uint32_t)m->plan.count);
    wire_put_u32(w, (uint32_t)m->plan.global);
    wire_put_u32(w, (uint32_t)m->standby);
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
    int32_t standby = (int32_t)wire_get_u32(&r);
    bool fits = !r.failed && (size_t)(r.end - r.pos) == 8 * (size_t)nodes && standby >= PLAN_NONE &&
                standby < (int32_t)nodes;
    if (!fits || global < 0 || (uint32_t)global >= nodes || plan_make(nodes, &m->plan))
        return false;
    m->plan.generation = generation;
    m->plan.global = global;
    m->standby = standby;
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
