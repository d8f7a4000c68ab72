/* The host's insides, shared by host.c (members and the loop), door.c (who comes in), drive.c (what
 * the coordinator asks for), faults.c (who is in trouble), replan.c (measure, plan), transfer.c
 * (moves, checkpoints) and record.c (events, files). All runs on the loop's thread but for the
 * planning and the scoring themselves. */
#ifndef EDGEPS_NODE_HOST_INT_H
#define EDGEPS_NODE_HOST_INT_H

#include "adapt/history.h"
#include "coord/coord.h"
#include "loop/loop.h"
#include "meter/meter.h"
#include "nn/dataset.h"
#include "nn/nn.h"
#include "nn/split.h"
#include "node/frame.h"
#include "node/host.h"
#include "node/message.h"
#include "node/state.h"
#include "place/place.h"
#include "proto/coordinator.h"

#include <stdio.h>

typedef struct host host;

/* A node's agent, as the coordinator knows it. */
typedef struct member {
    host *host;
    int64_t node; /* -1: has not said who it is */
    conn *conn;   /* NULL: gone, or not here yet */
    uint8_t *payload;
    bool welcomed;
    bool measured; /* has answered the measurement under way, or is not asked */
    bool pulse;    /* carries nothing but heartbeats */
    bool kept;     /* a process of the coordinator before */
    message_servers servers;
    message_measured last;
    struct member *next; /* in the list of all connections */
} member;

/* Parameters, velocity and versions of the newest checkpoint, or on their way to be. */
typedef struct host_state {
    float *parameters;
    float *velocity;
    int64_t *versions;
    int64_t round;
} host_state;

/* What the planner was asked and what it answered; worked on in the loop's worker thread. */
typedef struct planning {
    bool under_way;
    coordinator_why why;
    network *net; /* as measured */
    bool *absent;
    edgeps_err err;
    edgeps_diag diag;
    plan plan;
    adapt_move *moves;
    size_t move_count;
    char reason[320];
    char cause[256];  /* of the moves: the reason without what is done about it */
    char advice[320]; /* what adjusting would have done; "" */
    double round_s;   /* predicted */
    double bound_s;
} planning;

/* Sums of the epoch under way. */
typedef struct tally {
    int64_t begun_ns;
    double measured_s;
    double move_s;
    message_done done; /* summed over workers */
    size_t workers;
    double sum_s; /* busiest server's */
    double accuracy;
} tally;

/* A timed line of the scenario, as its timer knows it. */
typedef struct scenario_timer {
    host *host;
    const network_event *event;
} scenario_timer;

/* How a node does. */
typedef struct health {
    const char *fault; /* no round is committed since; NULL: none, or rounds go on */
    int64_t since_ns;
    uint64_t generation; /* in force then */
    double worked_s;     /* computing and pushing in this epoch, as it told; 0: it has not */
    bool slow;           /* in the last epoch */
    int64_t
        room_bytes; /* for servers it has less than this, as it told in this epoch; 0: no word */
} health;

struct host {
    const host_options *options;
    edgeps_diag *diag;
    edgeps_err outcome;
    bool ended;
    bool follows;         /* a killed coordinator; until its plan is announced again */
    bool alone;           /* nobody of whom it wanted to take over is there */
    bool started;         /* the events of this coordinator have begun */
    bool *given_up;       /* per node: the job went on without the process that says hello again */
    health *health;       /* per node */
    int64_t newest_round; /* committed; a lost global server's successor may begin below it */
    size_t kept;          /* processes that go on with this coordinator */
    int port;             /* of the coordinator before */
    int64_t gathers_until_ns;
    trust *keys;
    loop *loop;
    loop_listener *listener;
    coord *coord;
    coordinator coordinator;
    coordinator_event queue[64];
    size_t queue_head;
    size_t queue_count;
    bool stepping;
    frame_stamp stamp;
    network *net;           /* with the scenario applied so far */
    int scenario_epoch;     /* changes of epochs up to this one are applied */
    int struck_epoch;       /* likewise kills and stops */
    scenario_timer *timers; /* per event; NULL: the clock of the scenario does not run yet */
    member *members;        /* all connections */
    member **of_node;
    nn_dataset *data;
    nn_model *scorer;
    int64_t *samples_of;   /* per node */
    uint32_t *shard_of;    /* per node; shard_count: none */
    uint32_t *incarnation; /* per node: processes so far */
    const char **names;
    const char **addresses; /* per node, where its agent listens; the texts are lent */
    uint32_t shard_count;
    int64_t rounds; /* of an epoch */
    host_state saved;
    host_state incoming;
    state_arrival arrival;
    bool saving;
    bool *released; /* per node: its local server is, and its successor is not committed */
    bool homeless;  /* the global server was released, and its successor is not committed */
    void (*measured)(host *h); /* what goes on when all have answered */
    planning planning;
    adapt_history *history;   /* of the epochs so far; NULL: none yet */
    int64_t remembered_epoch; /* the last of them */
    int64_t move_begun_ns;    /* by this the move under way is known to the agents */
    int64_t move_still_ns;    /* since when its server stands still; 0: it serves */
    const adapt_move *move;   /* under way */
    int32_t move_source;      /* its state's, PLAN_NONE: this process */
    int32_t standby;          /* of the plan in force, or PLAN_NONE */
    double predicted_round_s; /* of the plan in force */
    bool unrecorded;          /* a warning tells that the next plan has no room */
    bool unnoted;             /* likewise, what is kept beside the plans */
    bool unwritten;           /* likewise, the model */
    tally tally;
    int64_t begun_ns;
    FILE *events;
    char *lines; /* of events that have no room in the file yet; owned */
    size_t lines_bytes;
    int64_t now_epoch;
};

/* host.c */
void host_fail(host *h, edgeps_err err); /* the text is in diag */
void host_send(host *h, size_t node, uint16_t type, uint64_t generation, int64_t round,
               wire_writer *w);
void host_send_all(host *h, uint16_t type, int64_t round);
void host_end(host *h);

/* door.c */
bool door_hello(host *h, member *m, const void *payload, uint64_t bytes);
void door_refuse(host *h, const member *m, const char *format, ...)
    __attribute__((format(printf, 3, 4)));      /* tells why */
void door_refused(void *ctx, const char *text); /* of loop_on_refusal, with the host */

/* takeover.c */
edgeps_err takeover_make(host *h, coordinator_options *co, bool follow); /* the coordinator */
edgeps_err takeover_mark(host *h);
void takeover_unmark(host *h);
void takeover_note_time(host *h, const char *key, int64_t number);
edgeps_err takeover_elapsed(host *h, const char *key, int64_t *number, double *elapsed_s);
edgeps_err takeover_new_process(host *h, size_t node);
void takeover_hello(host *h, member *m, int64_t node, const message_hello *hello);
void takeover_gathered(host *h);
void takeover_done(host *h);

/* drive.c */
void drive_post(host *h, coordinator_event event);
bool drive_heard(host *h, member *m, const wire_header *header);

/* faults.c */
void faults_suspect(host *h, int32_t node);
void faults_clear(host *h, int32_t node);
void faults_expel(host *h, int32_t node);                 /* who is silent */
void faults_lost(host *h, int32_t node, const char *why); /* whose connection ended */
bool faults_trouble(host *h, const member *m, const void *payload, uint64_t bytes);
bool faults_late(host *h, const wire_header *header, const void *payload);
void faults_round(host *h, const wire_header *header); /* committed */
void faults_epoch(host *h);                            /* ended */

/* replan.c */
void replan_want(host *h, coordinator_why why);
void replan_measure(host *h, void (*then)(host *h));
void replan_check_measured(host *h);
void replan_free(host *h);

/* transfer.c */
void transfer_move(host *h, size_t index);
void transfer_moved(host *h, int64_t number, bool ok, const char *text);
void transfer_still(host *h, int64_t number);
void transfer_abandon(host *h);
void transfer_lost(host *h, size_t node);
void transfer_save(host *h, int64_t round);
bool transfer_frame(host *h, member *m, const wire_header *header, const void *payload);
edgeps_err transfer_make(host *h);
void transfer_free(host *h);

/* scenario.c */
void scenario_apply(host *h, int epoch);
void scenario_strike(host *h, int epoch);
edgeps_err scenario_follow(host *h, int epoch);

/* record.c */
edgeps_err record_open(host *h);
void record_start(host *h);
void record_close(host *h);
void record_event(host *h, meter_event event);
void record_move(host *h, const adapt_move *m, double seconds, double frozen_s);
edgeps_err record_plan(host *h, const plan *pl, int32_t standby);
void record_epoch(host *h, int64_t epoch);
edgeps_err record_model(host *h);
bool record_can_wait(edgeps_err err); /* of a disk: it may go well another time */
void record_warning(host *h, bool *told, const char *what); /* once, with what is in diag */

static inline const char *host_name(const host *h, int64_t node)
{
    return h->options->net->nodes[node].name;
}

#endif
