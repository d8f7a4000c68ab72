/* The agent's insides, shared by agent.c (control plane), edges.c (data plane), roles.c (machines
 * and what they ask for), departure.c (state out) and moves.c (state in, and the end of both). All
 * runs on the loop's thread. */
#ifndef EDGEPS_NODE_AGENT_INT_H
#define EDGEPS_NODE_AGENT_INT_H

#include "loop/loop.h"
#include "node/agent.h"
#include "node/buffers.h"
#include "node/frame.h"
#include "node/message.h"
#include "node/state.h"
#include "node/trainer.h"
#include "proto/copier.h"
#include "proto/global.h"
#include "proto/local.h"
#include "proto/worker.h"
#include "store/store.h"

typedef enum agent_role { AGENT_WORKER, AGENT_LOCAL, AGENT_GLOBAL } agent_role;

typedef struct agent agent;

/* A probe at work, see probing.c. */
typedef struct probing probing;

/* A copied chunk on its way, see edges_send. */
typedef struct parcel parcel;

/* What an edge is sending of one chunk, and what it sends next. */
typedef struct slot {
    parcel *under_way;
    parcel *next;
} slot;

/* A connection of the tree, or one that brings state. The child opens it and asks to attach. */
typedef struct edge {
    agent *agent;
    conn *conn;
    bool outgoing;
    agent_role child; /* role at the child's end; AGENT_GLOBAL: not known yet */
    int32_t peer;     /* node at the other end, -1: not known yet */
    uint64_t generation;
    uint8_t *staging;  /* a chunk, where the parent's chunks arrive; owned */
    uint8_t *inbox;    /* a chunk of the server's inbox, where the child's chunks arrive */
    slot *slots;       /* per chunk; NULL: chunks are lent, not copied */
    uint8_t *words;    /* where versions and the announcement of a state arrive; owned */
    struct edge *next; /* in the list of all edges */
} edge;

/* Of a chunk that was sent, as it was then. */
typedef struct departure_hashes {
    uint64_t parameters;
    uint64_t velocity;
} departure_hashes;

/* A server's state on its way out of this node, while the server goes on. Zeroed: none. */
typedef struct departure {
    state_label label;
    edge *edge; /* NULL: it has ended */
    state_view state;
    const versions *have; /* of the machine whose state it is */
    copier copier;
    departure_hashes *hashes; /* per chunk; owned */
    int under_way;            /* frames that the kernel has not taken */
    bool over;                /* all is queued */
} departure;

/* A server's state on its way into this node, or here and not yet in force. Zeroed: none. */
typedef struct passage {
    state_label label;
    edge *edge; /* NULL: it has ended, or the state comes from the coordinator */
} passage;

/* What the child wants of its parent: reached when there is a connection. */
typedef struct wish {
    bool wanted;
    int32_t parent;
    uint64_t generation;
    edge *edge;
    loop_timer *retry;
    struct wish_context {
        agent *agent;
        agent_role child;
    } context;
} wish;

/* A step to come for a machine of this node: events of edges within the node, and answers. */
typedef struct letter {
    agent_role role;
    proto_event event;
    const void *payload;
} letter;

/* The time-out of a server's present round. */
typedef struct patience {
    agent *agent;
    agent_role role;
    proto_event event;
    loop_timer *timer; /* NULL: none runs */
} patience;

/* Times of the worker's present round, and sums over the epoch. */
typedef struct stopwatch {
    int64_t computed_ns;
    int64_t pushed_ns;
    int64_t pulling_ns; /* first chunk back; 0: none yet */
    int64_t unsent;     /* chunks not yet with the kernel */
    message_done epoch;
} stopwatch;

struct agent {
    const agent_options *options;
    edgeps_diag *diag;
    edgeps_err outcome;
    trust *keys;
    loop *loop;
    loop_listener *listener;
    conn *control; /* NULL: without a coordinator */
    conn *pulse;   /* to it, for heartbeats alone: state on its way does not hold them up */
    conn *calling; /* the way to one that has not answered yet */
    uint8_t *control_payload;
    bool welcomed;
    probing *probing; /* before it is welcomed, where it is asked to measure; owned */
    int64_t begun_ns;
    loop_timer *orphaned; /* when it ends, unless a coordinator takes over; NULL: it has one */
    char lost_why[256];   /* how the last one went */
    bool stopping;
    message_welcome settings;
    uint8_t *settings_bytes; /* what `settings` lends its texts from */
    frame_stamp stamp;
    job job;
    store *store;
    trainer *trainer; /* NULL on a node that does not train */
    worker worker;
    local local;
    global global;
    buffers local_buffers;
    buffers global_buffers;
    message_plan plan;
    int64_t allowed;
    wish wishes[2];       /* of the worker and of the local server */
    patience patience[2]; /* of the local and of the global server */
    edge *edges;
    letter *letters; /* a queue: head..count */
    size_t letter_head;
    size_t letter_count;
    size_t letter_room;
    bool delivering;
    proto_effects effects;
    departure leaving;
    passage coming;
    state_arrival arrival;
    int64_t *arrival_versions;
    stopwatch watch;
    message_done last_done; /* for a coordinator that has not heard of it; round 0: none */
    int64_t *late_round[2]; /* per node: the last round of a contribution that its local server, or
                               the global one, here refused as late */
    double sum_s;           /* since the last measurement */
    double computed_s;      /* likewise */
    int64_t computed_samples;
};

/* agent.c: ends the agent's run with the text in diag. */
void agent_fail(agent *a, edgeps_err err);

/* agent.c: a message without or with a payload to the coordinator. */
void agent_report(agent *a, uint16_t type, uint64_t generation, int64_t round, wire_writer *w);

/* agent.c: tells the coordinator why this agent cannot go on, or (EDGEPS_FULL) that it has no room
 * for a server. */
void agent_trouble(agent *a, edgeps_err err, const char *text);

/* agent.c: plain bytes stay on loopback, or where they may go; `whose` address it is. */
edgeps_err agent_check_secrecy(const agent *a, const char *whose, const char *host);

/* edges.c */
edgeps_err edges_listen(agent *a);
void edges_wish(agent *a, agent_role child, const proto_effect *connect);
void edges_drop_wish(agent *a, agent_role child);
void edges_close_older(agent *a, uint64_t generation); /* but for guests that wait for it */
void edges_close_children(agent *a, agent_role child);
edge *edges_to_child(const agent *a, agent_role child, int32_t node);

/* Sends a frame with a chunk or without. Where everyone is waited for, the chunk is lent until
 * sent: a server's or worker's buffer of it changes only when all have answered to what it holds.
 * What is pushed again may have been answered before it is sent, and so is copied.
 * With a quorum nobody waits for a slow edge, so the chunk is copied; and of each chunk the edge
 * has one in the queue, behind which only the newest waits, so that a slow edge does not fall
 * further back. */
void edges_send(agent *a, edge *e, wire_header header, const void *chunk);
void edges_send_copy(agent *a, edge *e, wire_header header, const void *payload, size_t bytes);
edgeps_err edges_lead(agent *a, int32_t node, uint32_t port, edge **out); /* for state */

/* probing.c */
void probing_begin(agent *a, const void *payload, size_t bytes);
void probing_close(agent *a); /* there is a job: no probes any more */
void probing_free(agent *a);  /* after the loop has ended */

/* roles.c */
void roles_post(agent *a, agent_role role, const proto_event *event, const void *payload);
void roles_deliver(agent *a);
edgeps_err roles_make(agent *a);
void roles_free(agent *a);
edgeps_err roles_plan(agent *a);
void roles_allow(agent *a, int64_t round);
void roles_serve_on(agent *a); /* the global server, if it stands still and is here, serves on */

/* departure.c */
state_view departure_view(agent *a,
                          message_role role); /* parameters NULL: no such server is here */
void departure_begin(agent *a, const message_move *m, const wire_header *h);
void departure_end(agent *a);
void departure_lost(agent *a, const char *text); /* its connection has ended */
void departure_report(agent *a, const state_label *label, bool ok, const char *text);

/* moves.c */
void moves_save(agent *a, uint64_t generation, int64_t round);
void moves_release(agent *a, message_role role);
void moves_drop_checkpoints(agent *a);
bool moves_begin(agent *a, edge *e, const message_state *m, const wire_header *h);
void moves_end(agent *a, const message_state *m, const wire_header *h);
void moves_abandon(agent *a, int64_t number);
void moves_forget(agent *a);   /* a generation begins: its servers are those that moved */
void moves_revert(agent *a);   /* the generation goes on: none has moved */
void moves_orphaned(agent *a); /* without a coordinator none can be committed */
void moves_lost(agent *a, const edge *e, const char *text); /* an edge that may carry state ended */

/* The versions that the child of an edge tells its parent. */
static inline const int64_t *agent_versions(const agent *a, agent_role child)
{
    return child == AGENT_WORKER ? a->worker.have.of : a->local.have.of;
}

/* Whether these cover all that is below the child. */
static inline bool agent_whole(const agent *a, agent_role child)
{
    return child == AGENT_WORKER || a->local.family.whole;
}

/* Bytes of chunk `k` of a vector. */
static inline float *agent_chunk(const agent *a, float *values, int64_t k)
{
    return values + k * (a->job.chunk_bytes / JOB_VALUE_BYTES);
}

static inline size_t agent_chunk_values(const agent *a, int64_t k)
{
    return (size_t)(job_chunk_payload_bytes(&a->job, k) / JOB_VALUE_BYTES);
}

#endif
