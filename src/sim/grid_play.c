#include "sim/grid_int.h"

#include "base/mem.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* An actor calls little; ten thousand nodes have more than twenty thousand of them. */
#define STACK "--cfg=contexts/stack-size:64" /* KiB */

/* The sanitizers follow no stacks that are switched by hand. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONTEXTS "--cfg=contexts/factory:thread"
#else
#define CONTEXTS "--cfg=contexts/factory:raw"
#endif

typedef struct connection connection;

typedef struct server {
    size_t node;
    uint32_t children;
    uint32_t *missing; /* (chunks) children that have not delivered yet */
    double *all_at_s;  /* (chunks) the last arrival so far */
    sg_sem_t complete;
    connection *first; /* what carries its sums on; linked by `next` */
} server;

/* One direction of an edge of the tree. */
struct connection {
    size_t from;
    size_t to;
    double *ready_s; /* (chunks) may not leave earlier */
    sg_sem_t ready;
    server *adds;       /* at its end: a push */
    connection *relays; /* at its end: the pulls that a local server passes on; by `next` */
    connection *next;
};

static struct play {
    const problem *p;
    int64_t chunks;
    connection *connections;
    server *servers;
    double round_s;
} play;

static void offer(connection *list, int64_t chunk, double at_s)
{
    for (connection *c = list; c; c = c->next) {
        c->ready_s[chunk] = at_s;
        sg_sem_release(c->ready);
    }
}

static void deliver(server *s, int64_t chunk, double at_s)
{
    s->all_at_s[chunk] = fmax(s->all_at_s[chunk], at_s);
    if (--s->missing[chunk] == 0)
        sg_sem_release(s->complete);
}

/* The actor of a connection: its chunks in order, one at a time. */
static void carry(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    connection *c = sg_actor_self_get_data();
    char name[32];
    snprintf(name, sizeof name, "h%zu", c->from);
    sg_host_t from = sg_host_by_name(name);
    snprintf(name, sizeof name, "h%zu", c->to);
    sg_host_t to = sg_host_by_name(name);
    double latency_s = problem_latency_s(play.p, c->from, c->to);
    for (int64_t k = 0; k < play.chunks; k++) {
        sg_sem_acquire(c->ready);
        sg_actor_sleep_until(c->ready_s[k]);
        if (c->from != c->to)
            sg_host_sendto(from, to, (double)job_chunk_wire_bytes(&play.p->job, k));
        double at_s = simgrid_get_clock() + latency_s;
        if (c->adds)
            deliver(c->adds, k, at_s);
        else if (c->relays)
            offer(c->relays, k, at_s);
        else
            play.round_s = fmax(play.round_s, at_s);
    }
}

/* The actor of a server: adds chunk by chunk. */
static void add(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    const server *s = sg_actor_self_get_data();
    double rate = play.p->nodes[s->node].sum_bytes_per_s;
    for (int64_t k = 0; k < play.chunks; k++) {
        sg_sem_acquire(s->complete);
        sg_actor_sleep_until(s->all_at_s[k]);
        double bytes = (double)s->children * (double)job_chunk_payload_bytes(&play.p->job, k);
        sg_actor_sleep_for(bytes / rate);
        offer(s->first, k, simgrid_get_clock());
    }
}

static void start(const char *name, size_t node, xbt_main_func_t code, void *subject)
{
    char host[32];
    snprintf(host, sizeof host, "h%zu", node);
    sg_actor_t actor = sg_actor_init(name, sg_host_by_name(host));
    sg_actor_set_data(actor, subject);
    sg_actor_start_(actor, code, 0, NULL);
}

static void *need(size_t count, size_t size)
{
    void *block = mem_alloc(count, size);
    if (!block)
        _exit(1);
    return block;
}

static connection *connect(size_t number, size_t from, size_t to)
{
    connection *c = &play.connections[number];
    c->from = from;
    c->to = to;
    c->ready_s = need((size_t)play.chunks, sizeof *c->ready_s);
    c->ready = sg_sem_init(0);
    return c;
}

static void hang(connection **list, connection *c)
{
    c->next = *list;
    *list = c;
}

static void open_server(server *s, size_t node)
{
    s->node = node;
    s->missing = need((size_t)play.chunks, sizeof *s->missing);
    s->all_at_s = need((size_t)play.chunks, sizeof *s->all_at_s);
    s->complete = sg_sem_init(0);
}

static void expect_child(server *s)
{
    s->children++;
    for (int64_t k = 0; k < play.chunks; k++)
        s->missing[k]++;
}

/* Server i is the local one of node i, server `count` the global one. Of the connections four stand
 * for each node: its worker's push and pull, its local server's push and pull. */
static void build(const problem *p, const plan *pl)
{
    size_t n = p->count, global = (size_t)pl->global;
    server *top = &play.servers[n];
    open_server(top, global);
    for (size_t i = 0; i < n; i++)
        if (plan_is_local(pl, i)) {
            server *s = &play.servers[i];
            open_server(s, i);
            connection *push = connect(4 * i + 2, i, global), *pull = connect(4 * i + 3, global, i);
            push->adds = top;
            hang(&s->first, push);
            hang(&top->first, pull);
            expect_child(top);
        }
    for (size_t i = 0; i < n; i++) {
        if (pl->parent[i] == PLAN_NONE)
            continue;
        size_t parent = (size_t)pl->parent[i];
        connection *push = connect(4 * i, i, parent), *pull = connect(4 * i + 1, parent, i);
        push->adds = &play.servers[parent];
        hang(&play.connections[4 * parent + 3].relays, pull);
        expect_child(push->adds);
        for (int64_t k = 0; k < play.chunks; k++)
            offer(push, k, p->nodes[i].compute_s);
    }
}

static void start_all(size_t nodes)
{
    for (size_t k = 0; k < 4 * nodes; k++)
        if (play.connections[k].ready)
            start("carry", play.connections[k].from, carry, &play.connections[k]);
    for (size_t k = 0; k <= nodes; k++)
        if (play.servers[k].complete)
            start("add", play.servers[k].node, add, &play.servers[k]);
}

void grid_play(const problem *p, const plan *pl, const char *platform, int out)
{
    char *words[] = {"edgeps",
                     "--log=root.thres:error",
                     "--cfg=network/model:CM02",
                     "--cfg=network/TCP-gamma:0",
                     "--cfg=network/crosstraffic:0",
                     "--cfg=network/latency-factor:1",
                     "--cfg=network/bandwidth-factor:1",
                     CONTEXTS,
                     STACK,
                     NULL};
    int count = sizeof words / sizeof *words - 1;
    play = (struct play){.p = p, .chunks = job_chunk_count(&p->job)};
    play.connections = need(4 * p->count, sizeof *play.connections);
    play.servers = need(p->count + 1, sizeof *play.servers);
    simgrid_init(&count, words);
    simgrid_load_platform(platform);
    build(p, pl);
    start_all(p->count);
    simgrid_run();
    bool whole = write(out, &play.round_s, sizeof play.round_s) == (ssize_t)sizeof play.round_s;
    _exit(whole ? 0 : 1);
}
