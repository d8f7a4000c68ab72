/* The messages between coordinator and agents, and the frame types of both planes. Each message is
 * a plain struct with an encoder and a decoder; the bytes are those of wire/codec.h. Texts that a
 * decoder lends live as long as the payload. docs/protocol.md lists them.
 */
#ifndef EDGEPS_NODE_MESSAGE_H
#define EDGEPS_NODE_MESSAGE_H

#include "base/err.h"
#include "plan/plan.h"
#include "proto/proto.h"
#include "wire/codec.h"
#include "wire/wire.h"

typedef enum message_type {
    /* data plane, child <-> parent; what the header's fields mean stands in docs/protocol.md */
    MESSAGE_ATTACH = 1,
    MESSAGE_ATTACHED,
    MESSAGE_PUSH,
    MESSAGE_PULL,
    MESSAGE_HAVE,
    MESSAGE_ASK,
    MESSAGE_GIVE,
    MESSAGE_PASS,
    MESSAGE_PUSH_AGAIN,
    /* state of a server on its way to another node, or to and from the coordinator */
    MESSAGE_STATE_BEGIN = 16,
    MESSAGE_STATE_PARAMETERS,
    MESSAGE_STATE_VELOCITY,
    MESSAGE_STATE_END,
    /* control plane, agent -> coordinator */
    MESSAGE_HELLO = 32,
    MESSAGE_BEAT,
    MESSAGE_READY,
    MESSAGE_ROUND,
    MESSAGE_DONE,
    MESSAGE_MEASURED,
    MESSAGE_MOVED,
    MESSAGE_TROUBLE,
    MESSAGE_LATE,
    MESSAGE_PROBED,
    MESSAGE_STILL,
    /* control plane, coordinator -> agent */
    MESSAGE_WELCOME = 64,
    MESSAGE_PLAN,
    MESSAGE_ALLOW,
    MESSAGE_SET,
    MESSAGE_MEASURE,
    MESSAGE_MOVE,
    MESSAGE_RELEASE,
    MESSAGE_SAVE,
    MESSAGE_STOP,
    MESSAGE_ABANDON,
    MESSAGE_KEEP,
    MESSAGE_REFUSE,
    MESSAGE_PROBE,
} message_type;

#define MESSAGE_MAX_BYTES (INT64_C(1) << 28) /* of a control payload */
#define MESSAGE_MOST_PEERS 64                /* of one probe */
#define MESSAGE_STATE_BYTES 64               /* most of the announcement of a state */

typedef enum message_role { MESSAGE_LOCAL, MESSAGE_GLOBAL } message_role;

/* The servers that its plan gives to a node: they serve; a local one is released; the global one
 * is. */
typedef enum message_servers {
    MESSAGE_SETTLED,
    MESSAGE_UNSETTLED,
    MESSAGE_HOMELESS
} message_servers;

/* A process that has lost its coordinator says what it belongs to; a new one has zeros. */
typedef struct message_hello {
    const char *name;
    uint64_t job;
    uint32_t incarnation;
    uint64_t generation; /* of the plan that it follows */
    uint8_t servers;     /* message_servers */
} message_hello;

/* All an agent must know; the job's sizes come from model and transfer as in job.h. */
typedef struct message_welcome {
    uint64_t job;
    uint32_t node;
    uint32_t incarnation; /* of the node: counts its processes in this job */
    uint32_t node_count;
    const char *model;
    uint8_t store_and_forward;
    uint8_t reference_backend;
    uint8_t emulate; /* keep the links' rates and the node's speed */
    uint8_t dirichlet;
    double alpha;
    uint64_t seed;
    int64_t sample_count;
    int64_t batch_samples;
    int64_t local_steps;
    int64_t rounds; /* of an epoch */
    double rate;    /* learning rate */
    double momentum;
    proto_patience patience;
    uint32_t shard; /* this worker's part of the data, of `shard_count`; equal when it has none */
    uint32_t shard_count;
    const char *data_dir;
    const char *storage_dir;
    double up_bytes_per_s;
    double down_bytes_per_s;
    double samples_per_s;
    int64_t free_bytes;
    double silent_s;     /* who is not heard for so long is gone */
    double beat_s;       /* how often the agent says that it lives */
    double orphan_s;     /* how long it lives without a coordinator */
    const double *peers; /* 3 x node_count: latency to, cap to, cap from; owned when decoded */
    const char *const *addresses; /* where each node listens; the array is owned when decoded */
    const char *const *names;     /* of the nodes; likewise */
} message_welcome;

/* A generation, with the port of each node's data plane (0: absent). Owns its arrays when decoded.
 */
typedef struct message_plan {
    plan plan;
    int32_t standby; /* node whose local server keeps the optimizer's velocity, too; or PLAN_NONE */
    uint32_t *port;
} message_plan;

/* What a worker saw in an epoch: seconds, summed over its rounds. */
typedef struct message_done {
    int64_t round;
    int64_t samples;
    double loss;
    double compute_s;
    double push_s;
    double wait_s;
    double pull_s;
} message_done;

typedef struct message_measured {
    uint32_t port; /* where the agent's data plane listens */
    int64_t free_bytes;
    double samples_per_s; /* 0: has not computed since the last time */
    double sum_s;         /* additions and updates of its servers since the last time */
} message_measured;

typedef struct message_moved {
    uint8_t ok;
    const char *text;
} message_moved;

/* Why an agent cannot go on, or is refused: an edgeps_err and its line. */
typedef struct message_trouble {
    uint32_t code;
    const char *text;
} message_trouble;

/* A contribution of a child came after its sum, in the round that the header tells. */
typedef struct message_late {
    uint32_t node;
    uint8_t role; /* of the server that refused it */
} message_late;

/* A change of the scenario: network_change and its value. */
typedef struct message_set {
    uint8_t change;
    double value;
} message_set;

/* To the source: send the state of `role` to `node`, which will have `children`. Of RELEASE only
 * the role counts: the server's room is needed, its state is elsewhere. */
typedef struct message_move {
    uint8_t role;
    uint32_t node;
    uint32_t port;
    uint32_t children;
} message_move;

typedef struct message_state {
    uint8_t role;
    uint32_t children;
    uint64_t parameters_hash; /* of STATE_END */
    uint64_t velocity_hash;   /* 0 for a local server */
} message_state;

typedef enum message_probing { MESSAGE_OPEN, MESSAGE_RATE, MESSAGE_PING } message_probing;

/* What an agent without a job is asked to measure; see docs/protocol.md. */
typedef struct message_probe {
    uint8_t kind; /* message_probing */
    uint64_t token;
    const char *address; /* OPEN: where to listen for others' probes */
    const char *model;   /* OPEN: to be timed; "": none is */
    double settle_s;     /* RATE, likewise the next two */
    double window_s;
    uint8_t restrained;
    uint32_t count; /* of peers, RATE and PING */
    const char *names[MESSAGE_MOST_PEERS];
    const char *addresses[MESSAGE_MOST_PEERS];
    uint32_t ports[MESSAGE_MOST_PEERS];
    double paces[MESSAGE_MOST_PEERS]; /* bytes per second */
} message_probe;

typedef struct message_probed {
    const char *trouble; /* "": none */
    uint32_t port;       /* OPEN, likewise the next two */
    int64_t free_bytes;
    double samples_per_s;
    uint32_t count;                    /* as asked */
    double values[MESSAGE_MOST_PEERS]; /* bytes per second, or seconds there and back */
} message_probed;

void message_put_hello(wire_writer *w, const message_hello *m);
void message_put_welcome(wire_writer *w, const message_welcome *m);
void message_put_plan(wire_writer *w, const message_plan *m);
void message_put_done(wire_writer *w, const message_done *m);
void message_put_measured(wire_writer *w, const message_measured *m);
void message_put_moved(wire_writer *w, const message_moved *m);
void message_put_trouble(wire_writer *w, const message_trouble *m);
void message_put_late(wire_writer *w, const message_late *m);
void message_put_set(wire_writer *w, const message_set *m);
void message_put_move(wire_writer *w, const message_move *m);
void message_put_probe(wire_writer *w, const message_probe *m);
void message_put_probed(wire_writer *w, const message_probed *m);
void message_put_state(wire_writer *w, const message_state *m);

/* Each returns false for a payload that is not exactly such a message; what is in `m` is then of no
 * use, and nothing needs to be freed. */
bool message_get_hello(const void *bytes, size_t count, message_hello *m);
bool message_get_welcome(const void *bytes, size_t count, message_welcome *m);
bool message_get_plan(const void *bytes, size_t count, message_plan *m);
bool message_get_done(const void *bytes, size_t count, message_done *m);
bool message_get_measured(const void *bytes, size_t count, message_measured *m);
bool message_get_moved(const void *bytes, size_t count, message_moved *m);
bool message_get_trouble(const void *bytes, size_t count, message_trouble *m);
bool message_get_late(const void *bytes, size_t count, message_late *m);
bool message_get_set(const void *bytes, size_t count, message_set *m);
bool message_get_move(const void *bytes, size_t count, message_move *m);
bool message_get_probe(const void *bytes, size_t count, message_probe *m);
bool message_get_probed(const void *bytes, size_t count, message_probed *m);
bool message_get_state(const void *bytes, size_t count, message_state *m);

void message_welcome_free(message_welcome *m);
void message_plan_free(message_plan *m);

#endif
