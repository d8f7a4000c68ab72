/* The virtual cluster: nodes with their machines and virtual buffers, the agenda of what happens
 * when, and the books against which every applied sum is checked. Private to sim. */
#ifndef EDGEPS_SIM_CLUSTER_H
#define EDGEPS_SIM_CLUSTER_H

#include "base/heap.h"
#include "base/rng.h"
#include "proto/coordinator.h"
#include "proto/copier.h"
#include "proto/global.h"
#include "proto/local.h"
#include "proto/worker.h"
#include "sim/sim.h"
#include "sim/wires.h"

typedef enum cluster_role { CLUSTER_WORKER, CLUSTER_LOCAL, CLUSTER_GLOBAL } cluster_role;

typedef enum agenda_kind {
    AGENDA_ROLE,        /* `event` for `role` of `node` */
    AGENDA_CONNECT,     /* the child of `edge` tries to attach: `event` */
    AGENDA_PLAN,        /* announcement `index` reaches `node` */
    AGENDA_ALLOW,       /* leave to run up to `event.round` reaches `node` */
    AGENDA_COORDINATOR, /* `report` for the coordinator */
    AGENDA_COPIED,      /* a chunk of move `index` has arrived at `node` */
    AGENDA_MOVED,       /* the state of move `index` has arrived at `node`, as far as it goes */
    AGENDA_SAVE,        /* the state of the global server at `node` is saved, as `event.round` */
    AGENDA_FAULT,       /* `index` */
    AGENDA_GO_ON,       /* the process at `node` stands still no longer */
    AGENDA_CALL,        /* the process at `node`, which has lost its coordinator, calls for one */
    AGENDA_BEAT,        /* heartbeats of all, and a look at the clock */
    AGENDA_FOLLOW,      /* another coordinator takes over */
    AGENDA_GATHERED,    /* it waits for nobody any more */
} agenda_kind;

typedef struct agenda_item {
    agenda_kind kind;
    cluster_role role;
    int32_t node;
    uint32_t edge;
    uint64_t wanted;      /* AGENDA_CONNECT: counts only while the edge is still wanted so */
    uint64_t incarnation; /* of `node`: what was meant for a process that is gone does not happen */
    uint64_t life;        /* likewise, of the coordinator */
    uint64_t payload;     /* of the chunk that arrived, if one did */
    size_t index;
    proto_event event;
    coordinator_event report;
} agenda_item;

/* That a server took what a child pushed: into the sum of round `into`, in a generation; `from` is
 * the round that the child pushed it for. */
typedef struct cluster_taken {
    uint64_t generation;
    int64_t into;
    int64_t from;
} cluster_taken;

/* Of each chunk the books remember as many rounds as a late gradient may lie apart, in each of a
 * few generations: not all nodes change to a new one at the same time. */
#define CLUSTER_ROUNDS (SIM_MOST_STALENESS + 1)
#define CLUSTER_MEMORY (4 * CLUSTER_ROUNDS)
#define CLUSTER_CALL_S 0.2 /* until an agent calls for its coordinator, and between such calls */

/* Virtual buffers have one number per chunk. */
typedef struct cluster_node {
    bool alive;
    uint64_t incarnation;
    bool full; /* for the next state that moves to it */
    bool stopped;
    bool given_up;          /* the coordinator has gone on without this process */
    uint64_t generation;    /* of the newest plan that it has heard of */
    uint64_t recorded;      /* incarnation in the coordinator's record */
    uint64_t life;          /* of the coordinator to which it has said hello */
    uint64_t frozen_life;   /* of the one for which its global server froze last */
    double muted_s;         /* until when nothing from and to it arrives */
    double twice_s;         /* until when all comes twice on the edges to its parents */
    double clock_s;         /* ahead of the virtual time */
    int64_t done_round;     /* the last epoch's end that its worker told; 0: none */
    int64_t computed_round; /* the last */
    worker worker;
    local local;
    global global;
    uint64_t *worker_parameters;
    uint64_t *local_parameters;
    uint64_t *local_sum;
    uint64_t *global_parameters;
    uint64_t *global_sum;
    int64_t *passed_round; /* per chunk: what the worker passed last, and in which generation */
    uint64_t *passed_generation;
    cluster_taken *taken[2]; /* of the worker's by its local server, of the local server's by the
                                global one; chunk x CLUSTER_MEMORY, by generation and the round it
                                went into */
    cluster_taken *counted;  /* of the worker's in updates; likewise, by the gradient's round */
    double local_busy_s;     /* until when the server's additions take */
    double global_busy_s;
} cluster_node;

/* Versions of all chunks as they were when a message left; kept to the end of the run. */
typedef struct cluster_versions {
    struct cluster_versions *next;
    int64_t of[];
} cluster_versions;

/* The state of a global server on its way from node to node, or from the checkpoint (PLAN_NONE). */
typedef struct cluster_move {
    bool open;
    uint64_t life; /* of the coordinator whose move it is */
    size_t number;
    int32_t from;
    int32_t to;
    copier copier;
    uint64_t *parameters; /* that have arrived */
    versions have;        /* likewise */
    int64_t under_way;    /* chunk, with these: */
    uint64_t payload;
    int64_t version;
} cluster_move;

typedef struct cluster {
    const problem *p;
    const sim_options *options;
    edgeps_diag *diag;
    int64_t chunk_count;
    double now_s;
    double begun_s; /* of the first epoch; negative before */
    rng random;
    wires *wires;
    coordinator coordinator;
    cluster_node *nodes;
    uint64_t *wanted; /* per edge: grows whenever the child's wish changes */
    plan *announcements;
    size_t announcement_count;
    heap agenda;
    agenda_item *items;
    size_t item_count;
    plan planned; /* that the coordinator was given last */
    cluster_move move;
    uint64_t *saved; /* the checkpoint's parameters */
    int64_t saved_round;
    uint64_t **history; /* per round: parameters of all chunks */
    int64_t history_rounds;
    bool *applied;  /* round x chunk: some global server has applied it */
    bool *repeated; /* per round: some chunk of it was applied again */
    double *round_end_s;
    agenda_item *held; /* for processes that stand still, in order */
    size_t held_count;
    size_t held_room;
    uint64_t life;       /* changes when the coordinator is killed, and when another takes over */
    bool down;           /* between the two */
    double frozen_s;     /* until when its process stands still */
    double clock_s;      /* of its clock, ahead of the virtual time */
    bool unsaved;        /* its next checkpoint is not written */
    plan recorded;       /* the newest plan in its record */
    int64_t epochs_over; /* likewise */
    bool epoch_begun;    /* likewise, of the one after */
    double progress_s;   /* of the last round, or the last trouble; in the future while it lasts */
    bool ended;
    edgeps_err outcome;
    sim_result result;
    proto_effects effects; /* of the step being carried out */
    cluster_versions *letters;
} cluster;

edgeps_err cluster_make(const problem *p, const sim_options *options, edgeps_diag *diag,
                        cluster *out);
void cluster_free(cluster *c);

/* The node's process is a new one. */
edgeps_err cluster_restart(cluster *c, size_t node);

edgeps_err cluster_at(cluster *c, double time_s, agenda_item item);

/* Next item due at or before `time_s`. */
bool cluster_due(cluster *c, double time_s, agenda_item *out);

/* Lets one machine take an event and carries out what it answers; `payload`: of the chunk that
 * arrived, if one did. (roles.c) */
edgeps_err roles_step(cluster *c, size_t node, cluster_role role, const proto_event *event,
                      uint64_t payload);
edgeps_err roles_announce(cluster *c, size_t node, const plan *pl);
edgeps_err roles_connect(cluster *c, const agenda_item *item);
edgeps_err roles_arrive(cluster *c, const wires_arrival *arrival);
edgeps_err roles_resume(cluster *c, size_t node); /* the move of its global server is off */

/* The number that stands for a worker's gradient of a chunk, and for initial parameters. */
uint64_t roles_gradient(const cluster *c, size_t node, int64_t round, int64_t chunk);
uint64_t roles_initial(const cluster *c, int64_t chunk);

/* Keeps book of a chunk that a server takes, and checks an update against the books. (books.c) */
void books_take(cluster *c, cluster_role server, const proto_effect *effect, uint64_t generation);
edgeps_err books_check(cluster *c, size_t node, const proto_effect *effect);

/* After each event: no generation has two global servers. */
edgeps_err books_check_owner(const cluster *c);

/* Ends the run: an invariant does not hold. */
edgeps_err books_broken(const cluster *c, const char *what, size_t node, int64_t round,
                        int64_t chunk);

/* Samples that stand behind a worker's gradient. */
static inline double cluster_samples(size_t node) { return (double)(node + 1); }

/* Lets the coordinator take an event and carries out what it answers. (control.c) */
edgeps_err control_step(cluster *c, const coordinator_event *event);
edgeps_err control_report(cluster *c, double delay_s, coordinator_event event);
edgeps_err control_save(cluster *c, const agenda_item *item, bool gone);

/* What befalls nodes and coordinator, and what they notice of it. (faults.c) */
edgeps_err faults_strike(cluster *c, const sim_fault *fault);
edgeps_err faults_end(cluster *c, int32_t node); /* of the process there; the coordinator hears
                                                     nothing more of one that it has given up */
bool faults_holds(const cluster *c, const agenda_item *item); /* for a process that stands still */
edgeps_err faults_hold(cluster *c, const agenda_item *item);
edgeps_err faults_go_on(cluster *c, size_t node);
edgeps_err faults_beat(cluster *c);
edgeps_err faults_give_up(cluster *c, size_t node);

/* A coordinator in the place of a killed one. (follow.c) */
edgeps_err follow_kill(cluster *c, double after_s);
edgeps_err follow_take_over(cluster *c);
edgeps_err follow_gathered(cluster *c);
edgeps_err follow_call(cluster *c, size_t node);

/* Whether a process at the node is there and takes part in the job. */
static inline bool cluster_takes_part(const cluster *c, size_t node)
{
    return c->nodes[node].alive && !c->nodes[node].given_up;
}

/* Moves of the global server; local servers get their state when they attach. (handover.c) */
edgeps_err handover_begin(cluster *c);
edgeps_err handover_abandon(cluster *c);
edgeps_err handover_copied(cluster *c, const agenda_item *item, bool gone);
edgeps_err handover_arrived(cluster *c, const agenda_item *item, bool gone);
edgeps_err handover_cut(cluster *c,
                        int32_t node); /* the connection breaks, if it is one of its ends */

#endif
