/* What happens in a training run, as values: the one stream that the terminal, `--json`, the events
 * file and `edgeps report` all read. A run emits one meter_event after another; texts are borrowed
 * for the duration of the call.
 */
#ifndef EDGEPS_METER_EVENT_H
#define EDGEPS_METER_EVENT_H

#include <stddef.h>
#include <stdint.h>

typedef enum meter_event_kind {
    METER_START, /* network, model, seed, epochs, rounds (of an epoch), workers, text: discipline */
    METER_PLAN, /* epoch, generation, global, locals ("a, b"), predicted_round_s, bound_s (0: none),
                   text: why */
    METER_MOVE, /* epoch, generation, role, from ("": the checkpoint), to, bytes, seconds, frozen_s
                   (of these the server did nothing), text: why */
    METER_ROUND,     /* epoch, round (1..rounds), rounds: for progress; not kept in files */
    METER_EPOCH,     /* generation and `measured` */
    METER_LOST,      /* epoch, node, fault, text: "dead: connection reset", "silent: not heard for
                        3.0 s" */
    METER_BACK,      /* epoch, node, text: a lost node is there again, as a new process */
    METER_SUSPECT,   /* epoch, node, seconds: not heard for so long */
    METER_CLEARED,   /* epoch, node: it was suspected, and is heard again */
    METER_FAULT,     /* epoch, node, fault, text: of a node that stays in the job */
    METER_RECOVERED, /* epoch, round, node, fault, seconds: from its fault to the first round that a
                        plan without it committed */
    METER_TAKEOVER,  /* epoch, generation, text: who follows a killed coordinator, with whom */
    METER_LATE,      /* epoch, round, node, text: what came too late and was refused */
    METER_SCENARIO,  /* epoch, node, text: "free storage is 1 MiB" */
    METER_ADVICE,    /* epoch, text: what adjusting would do and why, where it is switched off */
    METER_CHECKPOINT, /* epoch, text: path */
    METER_WARNING,    /* text */
    METER_END,        /* seconds, accuracy, generation, status (exit status), text: how it ended */
} meter_event_kind;

/* One epoch as measured. Compute, push, wait and pull are means over the workers, sum is the
 * busiest server's; in a pipelined round they overlap, so they need not add up to measured_s. */
typedef struct meter_epoch {
    int64_t epoch; /* from 1 */
    int64_t rounds;
    size_t workers;
    int64_t samples;
    double measured_s;
    double predicted_s; /* NAN where the links are not those of the network file */
    double compute_s;
    double push_s;
    double sum_s;
    double pull_s;
    double wait_s;
    double move_s;   /* servers did nothing because they moved, before this epoch and in it */
    double loss;     /* mean training loss of a sample */
    double accuracy; /* on the test set, a fraction; NAN where it was not measured */
} meter_epoch;

typedef struct meter_event {
    meter_event_kind kind;
    double time_s; /* since the run began */
    int64_t epoch;
    int64_t epochs;
    int64_t round;
    int64_t rounds;
    size_t workers;
    uint64_t generation;
    uint64_t seed;
    const char *network;
    const char *model;
    const char *node;
    const char *fault; /* one of meter_faults */
    const char *global;
    const char *locals;
    const char *role; /* "local" or "global" */
    const char *from;
    const char *to;
    const char *text;
    int64_t bytes;
    double seconds;
    double frozen_s;
    double predicted_round_s;
    double bound_s;
    double accuracy;
    int status;
    meter_epoch measured;
} meter_event;

/* Dead: its process is gone; silent: nothing is heard of it; slow: a straggler; full: no room. */
enum { METER_DEAD, METER_SILENT, METER_SLOW, METER_FULL, METER_FAULTS };
extern const char *const meter_faults[METER_FAULTS];

/* Takes each event as it happens. */
typedef void meter_observer(void *context, const meter_event *event);

#endif
