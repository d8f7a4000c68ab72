/* The coordinator: gathers the nodes, has a plan made, its servers' state moved and the new
 * generation committed, runs the epochs, and answers the loss of a node with a new generation.
 *
 * It decides when; the world around it carries out: it plans (with the measurements it collected),
 * copies state, writes the record of a generation, talks to the nodes, and comes back with an
 * event. At any time at most one such request is open. A node that is lost while one is open makes
 * its result stale: the coordinator abandons a move at once, waits for the answer to any other
 * request, and asks for a plan again. Servers move while the plan in force goes on: an epoch begins
 * before its moves where that plan has lost nobody, and the next generation takes over when they
 * are done. If moves fail again and again, that plan stays; so it does where the next one cannot be
 * recorded, and if it cannot stay, the record is tried again. A node that comes back is a new
 * process that holds nothing: it waits until the plan in force gives its node no role, and the next
 * plan takes it in. If no plan can, it stays out.
 *
 * A coordinator that follows a killed one begins with the plan that is in force. It gathers the
 * processes that carry the plan's roles, lets them go on as they are, and counts as lost who does
 * not come.
 */
#ifndef EDGEPS_PROTO_COORDINATOR_H
#define EDGEPS_PROTO_COORDINATOR_H

#include "base/err.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum coordinator_event_kind {
    COORDINATOR_JOINED,  /* `node` says hello, at first or as a new process; `kept`, `unsettled` */
    COORDINATOR_LOST,    /* the connection of `node` broke, or it never came */
    COORDINATOR_HEARD,   /* a sign of life of `node` */
    COORDINATOR_TICK,    /* time passes */
    COORDINATOR_PLANNED, /* answer to WANT_PLAN: plan, move_count, restored, releases */
    COORDINATOR_NO_PLAN, /* answer to WANT_PLAN: there is none */
    COORDINATOR_MOVED,   /* answer to MOVE: `ok` */
    COORDINATOR_COMMITTED,  /* answer to COMMIT */
    COORDINATOR_UNRECORDED, /* answer to COMMIT: the record has no room now */
    COORDINATOR_READY,      /* worker `node` can go on in `generation` */
    COORDINATOR_FULL,       /* `node` has no room for what the plan in force gives it */
    COORDINATOR_ROUND,      /* the global server has every chunk of `round` */
    COORDINATOR_DONE,       /* worker `node` has the parameters of `round`, the epoch's last */
    COORDINATOR_SAVED,      /* answer to SAVE: `ok` */
} coordinator_event_kind;

typedef struct coordinator_event {
    coordinator_event_kind kind;
    int64_t now_ns;
    int32_t node;
    uint64_t generation;
    int64_t round;
    bool ok;
    bool kept;         /* of COORDINATOR_JOINED: the process that the plan in force means */
    bool unsettled;    /* of COORDINATOR_JOINED, kept: one of its servers is frozen or released */
    const plan *plan;  /* of COORDINATOR_PLANNED; read during the call */
    size_t move_count; /* of COORDINATOR_PLANNED */
    bool restored;     /* of COORDINATOR_PLANNED: the global server is lost, its successor
                          starts from an older state and asks its children for newer chunks */
    bool releases;     /* of COORDINATOR_PLANNED: a server must go before the commit to make room */
} coordinator_event;

typedef enum coordinator_effect_kind {
    COORDINATOR_WANT_PLAN,   /* `why` tells what for */
    COORDINATOR_MOVE,        /* carry out move `index` of the plan, while training goes on */
    COORDINATOR_ABANDON,     /* the move under way is off: no answer is waited for */
    COORDINATOR_COMMIT,      /* make generation `generation` durable */
    COORDINATOR_ANNOUNCE,    /* tell every node the plan */
    COORDINATOR_ALLOW,       /* tell every worker that rounds up to `round` may run */
    COORDINATOR_EPOCH_BEGUN, /* `index` from 1 */
    COORDINATOR_EPOCH_ENDED,
    COORDINATOR_SAVE,    /* have the global server write a checkpoint of `round` */
    COORDINATOR_SUSPECT, /* `node` is not heard for a while */
    COORDINATOR_CLEAR,   /* `node` was suspected, and is heard again */
    COORDINATOR_EXPEL,   /* `node` fell silent: end its connection, count it as gone */
    COORDINATOR_FINISH,  /* all epochs are done */
    COORDINATOR_FAIL,    /* the job cannot go on; `why` tells */
} coordinator_effect_kind;

typedef enum coordinator_why {
    COORDINATOR_FIRST,      /* the first plan */
    COORDINATOR_NEXT_EPOCH, /* an epoch ended: as measured now, is the plan still good? */
    COORDINATOR_REPAIR,     /* a node is gone, or a move failed */
    COORDINATOR_RETURN,     /* a node came back */
    COORDINATOR_NOBODY_LEFT,
    COORDINATOR_IMPOSSIBLE,  /* no plan keeps all constraints */
    COORDINATOR_CANNOT_MOVE, /* of COMMIT: all servers stay where they are */
    COORDINATOR_CANNOT_SAVE,
} coordinator_why;

typedef struct coordinator_effect {
    coordinator_effect_kind kind;
    coordinator_why why;
    int32_t node;
    uint64_t generation;
    int64_t round;
    size_t index;
} coordinator_effect;

#define COORDINATOR_MOST_EFFECTS 64

/* The effects of one step, in order. */
typedef struct coordinator_effects {
    coordinator_effect items[COORDINATOR_MOST_EFFECTS];
    size_t count;
} coordinator_effects;

typedef enum coordinator_phase {
    COORDINATOR_GATHERING,
    COORDINATOR_PLANNING,
    COORDINATOR_MOVING,
    COORDINATOR_COMMITTING,
    COORDINATOR_STARTING, /* waits until every worker is ready */
    COORDINATOR_TRAINING,
    COORDINATOR_SAVING,
    COORDINATOR_ENDED,
} coordinator_phase;

typedef struct coordinator_options {
    size_t node_count;
    int64_t epochs;
    int64_t rounds_per_epoch;
    int64_t start_epoch;       /* epochs that a resumed job has behind it */
    uint64_t start_generation; /* of a resumed job */
    const plan *in_force;      /* what a follower takes over, copied; NULL: nothing */
    bool epoch_begun;          /* of a follower: rounds of the epoch after `start_epoch` may run */
    bool spare_suspects; /* rounds go on without a few: who is suspected is not waited for when an
                            epoch begins or ends */
    int64_t suspect_after_ns; /* a node not heard for so long is suspected; 0: never */
    int64_t silent_after_ns;  /* a node not heard for so long is gone; 0: never */
} coordinator_options;

typedef struct coordinator {
    coordinator_options options;
    coordinator_phase phase;
    bool *present; /* per node */
    bool *joined;  /* per node: ever said hello */
    bool *waiting; /* per node: came back, and is taken in when the plan in force has no role for
                      the process that is gone */
    bool *ready;   /* per node, in this generation */
    bool *done;    /* per node, with this epoch */
    int64_t *heard_ns; /* per node */
    int64_t ticked_ns; /* 0: not yet */
    bool *suspected;   /* per node */
    plan plan;         /* in force; generation 0 before the first */
    plan next;         /* on its way: being moved to or committed */
    int64_t epoch;     /* the one that runs or comes next, from 1 */
    bool epoch_begun;
    bool *newcomer;          /* per node: the plan asked for is the first that may take it in */
    bool stale;              /* a node was lost while a request was open */
    bool restored;           /* `next` starts from an older state */
    bool releases;           /* on the way to `next` the plan in force loses a server */
    int64_t committed_round; /* that the global server has whole */
    size_t move_count;
    size_t next_move;
    bool moved;              /* a move began since the last announcement: servers may be frozen */
    int failed_moves;        /* since the last commit */
    int full_plans;          /* that a node had no room for, since the last round */
    int64_t commit_again_ns; /* 0: the record is under way, or there is none to be made */
} coordinator;

edgeps_err coordinator_make(const coordinator_options *options, coordinator *out);
void coordinator_free(coordinator *c);

/* The only failure is EDGEPS_NOMEM. */
edgeps_err coordinator_step(coordinator *c, const coordinator_event *event,
                            coordinator_effects *effects);

#endif
