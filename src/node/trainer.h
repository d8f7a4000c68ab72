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

/* Sum of the gradients over the samples of the last round. */
const float *trainer_gradient(const trainer *t);

/* Samples a second of an emulated node from now on. */
void trainer_set_speed(trainer *t, double samples_per_s);

/* Starts the gradient of `round`; with emulation it is not done before the node's speed allows. */
edgeps_err trainer_start(trainer *t, int64_t round, trainer_done *done, void *context);

#endif
