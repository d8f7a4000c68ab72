/* The worker's computation: its shard of the data, the model, and gradients computed on the loop's
 * worker thread. */
#ifndef EDGEPS_NODE_TRAINER_H
#define EDGEPS_NODE_TRAINER_H

#include "job/job.h"
#include "loop/loop.h"
#include "node/message.h"

typedef struct trainer trainer;

/* Called on the loop's thread when the gradient is there: `samples` are in it, `loss` is their sum,
 * `seconds` it took. */
typedef void trainer_done(void *context, int64_t samples, double loss, double seconds);

edgeps_err trainer_make(loop *l, const message_welcome *settings, edgeps_diag *diag, trainer **out);

/* Not while a gradient is computed: free the loop first, that waits for it. */
void trainer_free(trainer *t);

/* The worker's parameters, which the caller may write only while nothing is computed. */
float *trainer_parameters(trainer *t);

/* What the worker pushes of the last round. With one step it is the sum of the gradients over its n
 * samples; with more it is n times the sum of the mean gradients of the steps that it made from the
 * parameters on, each with the job's rate. So the servers' weighted mean is what federated
 * averaging calls the pseudo-gradient: without momentum the new parameters are the mean of the
 * workers' (McMahan et al. 2017), with it the server's momentum is on top (Reddi et al. 2021). */
const float *trainer_gradient(const trainer *t);

/* Samples a second of an emulated node from now on. */
void trainer_set_speed(trainer *t, double samples_per_s);

/* Starts the gradient of `round`; with emulation it is not done before the node's speed allows. */
edgeps_err trainer_start(trainer *t, int64_t round, trainer_done *done, void *context);

#endif
