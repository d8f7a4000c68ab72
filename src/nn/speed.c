#include "nn/speed.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <time.h>

#define MOST_BATCH 256

typedef struct timing {
    clockid_t clock;
    int turns; /* the best counts */
    int64_t turn_ns;
} timing;

static int64_t now_ns(const timing *how)
{
    struct timespec t;
    clock_gettime(how->clock, &t);
    return t.tv_sec * CLOCK_NS_PER_S + t.tv_nsec;
}

/* Of what the images show the time does not depend. */
static edgeps_err time_turns(nn_model *m, const float *parameters, const nn_batch *b,
                             float *gradient, const timing *how, double *samples_per_s)
{
    double loss, best = 0;
    edgeps_err err = nn_gradient(m, parameters, b, gradient, &loss); /* builds what it needs */
    for (int turn = 0; !err && turn < how->turns; turn++) {
        int64_t begun_ns = now_ns(how), took_ns = 0;
        double samples = 0;
        while (!err && took_ns < how->turn_ns) {
            err = nn_gradient(m, parameters, b, gradient, &loss);
            samples += (double)b->count;
            took_ns = now_ns(how) - begun_ns;
        }
        best = fmax(best, samples * CLOCK_NS_PER_S / (double)took_ns);
    }
    *samples_per_s = best;
    return err;
}

static edgeps_err measure(const nn_speed_of *of, const timing *how, edgeps_diag *diag,
                          double *samples_per_s)
{
    size_t count = of->batch < MOST_BATCH ? of->batch : MOST_BATCH;
    nn_model *m = NULL;
    float *parameters = mem_alloc((size_t)nn_parameter_count(of->kind), sizeof *parameters);
    float *gradient = mem_alloc((size_t)nn_parameter_count(of->kind), sizeof *gradient);
    float *images = mem_alloc(count * nn_image_values(of->image), sizeof *images);
    uint8_t *labels = mem_alloc(count, 1);
    edgeps_err err = parameters && gradient && images && labels
                         ? nn_model_make(of->kind, of->image, of->backend, count, diag, &m)
                         : diag_fail(diag, EDGEPS_NOMEM, "no memory to time a core");
    if (!err) {
        nn_initialise(of->kind, 1, parameters);
        err = time_turns(m, parameters, &(nn_batch){images, labels, count}, gradient, how,
                         samples_per_s);
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

edgeps_err nn_core_speed(const nn_speed_of *of, edgeps_diag *diag, double *samples_per_s)
{
    return measure(of, &(timing){CLOCK_PROCESS_CPUTIME_ID, 5, CLOCK_NS_PER_S / 20}, diag,
                   samples_per_s);
}

edgeps_err nn_speed(const nn_speed_of *of, edgeps_diag *diag, double *samples_per_s)
{
    return measure(of, &(timing){CLOCK_MONOTONIC, 1, CLOCK_NS_PER_S}, diag, samples_per_s);
}
