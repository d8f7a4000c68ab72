#include "cli/calibrate.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <time.h>

#define TURNS 5
#define TURN_NS (CLOCK_NS_PER_S / 20)
#define MOST_BATCH 256

static int64_t spent_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * CLOCK_NS_PER_S + t.tv_nsec;
}

/* Of what the images show the time does not depend. */
static edgeps_err time_turns(nn_model *m, const float *parameters, const nn_batch *b,
                             float *gradient, double *samples_per_s)
{
    double loss, best = 0;
    edgeps_err err = nn_gradient(m, parameters, b, gradient, &loss); /* builds what it needs */
    for (int turn = 0; !err && turn < TURNS; turn++) {
        int64_t begun_ns = spent_ns(), took_ns = 0;
        double samples = 0;
        while (!err && took_ns < TURN_NS) {
            err = nn_gradient(m, parameters, b, gradient, &loss);
            samples += (double)b->count;
            took_ns = spent_ns() - begun_ns;
        }
        best = fmax(best, samples * CLOCK_NS_PER_S / (double)took_ns);
    }
    *samples_per_s = best;
    return err;
}

edgeps_err calibrate_core(nn_kind kind, nn_backend backend, size_t batch, edgeps_diag *diag,
                          double *samples_per_s)
{
    size_t count = batch < MOST_BATCH ? batch : MOST_BATCH;
    nn_model *m = NULL;
    float *parameters = mem_alloc((size_t)nn_parameter_count(kind), sizeof *parameters);
    float *gradient = mem_alloc((size_t)nn_parameter_count(kind), sizeof *gradient);
    float *images = mem_alloc(count * NN_IMAGE_VALUES, sizeof *images);
    uint8_t *labels = mem_alloc(count, 1);
    edgeps_err err = parameters && gradient && images && labels
                         ? nn_model_make(kind, backend, count, diag, &m)
                         : diag_fail(diag, EDGEPS_NOMEM, "no memory to time a core");
    if (!err) {
        nn_initialise(kind, 1, parameters);
        err =
            time_turns(m, parameters, &(nn_batch){images, labels, count}, gradient, samples_per_s);
        if (err)
            diag_fail(diag, err, "a core cannot be timed: its gradient fails");
    }
    nn_model_free(m);
    mem_free(parameters);
    mem_free(gradient);
    mem_free(images);
    mem_free(labels);
    return err;
}
