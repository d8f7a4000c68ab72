/* A whole job in one process, for tests: the host on the test's thread, every agent on a thread of
 * its own, real sockets and storage between them. */
#ifndef EDGEPS_NODE_FIXTURE_H
#define EDGEPS_NODE_FIXTURE_H

#include "node/agent.h"
#include "node/host.h"

#include <pthread.h>

enum { FIXTURE_MOST_NODES = 8, FIXTURE_MOST_EVENTS = 256 };

typedef struct fixture_event {
    meter_event_kind kind;
    int64_t epoch;
    uint64_t generation;
    int64_t bytes;
    double seconds;
    double frozen_s;
    size_t rounds; /* made before it */
    meter_epoch measured;
    char text[320]; /* the event's text, with node, role, from and to in front as far as it has them
                     */
} fixture_event;

typedef struct fixture {
    char dir[64]; /* of the run */
    char data[80];
    network *net;
    host_options options;
    pthread_t threads[FIXTURE_MOST_NODES];
    agent_options agents[FIXTURE_MOST_NODES];
    size_t started;
    fixture_event events[FIXTURE_MOST_EVENTS];
    size_t event_count;
    size_t rounds; /* that the global server has made */
} fixture;

/* `count` equal nodes, a learnable synthetic data set of `samples`, and an MLP job on them. */
void fixture_make(fixture *f, size_t count, int64_t samples, int64_t batch);

/* Makes the run's folders anew and runs the job; joins the agents' threads. */
edgeps_err fixture_run(fixture *f, edgeps_diag *diag);

/* The n-th event (from 0) of a kind, or NULL. */
const fixture_event *fixture_nth(const fixture *f, meter_event_kind kind, size_t n);

/* Parameters of the final model; freed with mem_free. */
float *fixture_model(const fixture *f);

void fixture_free(fixture *f);

#endif
