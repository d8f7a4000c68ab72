#include "network/scenario.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

#define TURN 6.28318530717958647692
#define WALK_STEP 0.25     /* standard deviation of a step, as a part of the depth */
#define BURST_PART 0.25    /* of a period */
#define STREAM 0x5ce0a210u /* apart from those that draw networks */

const char *const scenario_kind_names[] = {"walk", "diurnal", "burst", NULL};

typedef struct course {
    rng random;
    double part;  /* of the network's value */
    double phase; /* in turns */
} course;

static double full_value(const network_node *node, network_change what)
{
    return what == NETWORK_UP     ? node->up_bytes_per_s
           : what == NETWORK_DOWN ? node->down_bytes_per_s
           : what == NETWORK_FREE ? (double)node->free_bytes
                                  : node->compute_samples_per_s;
}

/* Back into [least, 1], however far outside. */
static double reflect(double part, double least)
{
    double width = 1 - least, off = fmod(fabs(part - least), 2 * width);
    return least + (off > width ? 2 * width - off : off);
}

static double next_part(const scenario_options *o, course *c, int64_t step)
{
    double least = 1 - o->depth;
    if (o->kind == SCENARIO_WALK)
        return reflect(c->part + WALK_STEP * o->depth * rng_normal(&c->random), least);
    if (o->kind == SCENARIO_DIURNAL)
        return 1 - 0.5 * o->depth * (1 - cos(TURN * ((double)step / o->period + c->phase)));
    double stay = o->period * (c->part < 1 ? BURST_PART : 1 - BURST_PART);
    bool turns = rng_uniform(&c->random) * stay < 1;
    return turns ? (c->part < 1 ? 1 : least) : c->part;
}

/* Whole units, as far as there are some. */
static double value_of(double full, double part)
{
    double value = full * part;
    return value >= 1 ? floor(value) : value;
}

static size_t draw(const scenario_options *o, const network *net, course *courses,
                   network_event *out)
{
    size_t count = 0;
    for (int64_t step = 1; step <= o->steps; step++)
        for (size_t i = 0; i < net->count; i++) {
            double full = full_value(&net->nodes[i], o->what), before = courses[i].part;
            courses[i].part = next_part(o, &courses[i], step);
            if (full == 0 || courses[i].part == before)
                continue;
            out[count++] = (network_event){
                .node = (uint32_t)i,
                .change = o->what,
                .epoch = o->step_s > 0 ? 0 : (int)step + 1,
                .at_s = (double)step * o->step_s,
                .value = value_of(full, courses[i].part),
            };
        }
    return count;
}

edgeps_err scenario_generate(const scenario_options *o, edgeps_diag *diag, network *net)
{
    size_t most = (size_t)o->steps * net->count;
    if (o->steps > SCENARIO_MOST_EVENTS || most > SCENARIO_MOST_EVENTS)
        return diag_fail(diag, EDGEPS_USAGE,
                         "%lld steps of %zu nodes are more than %d lines; take fewer steps",
                         (long long)o->steps, net->count, SCENARIO_MOST_EVENTS);
    network_event *events = mem_alloc(most, sizeof *events);
    course *courses = mem_alloc(net->count, sizeof *courses);
    edgeps_err err = events && courses ? EDGEPS_OK : EDGEPS_NOMEM;
    for (size_t i = 0; !err && i < net->count; i++) {
        courses[i].random = rng_make(o->seed, ((uint64_t)(STREAM + o->what) << 32) + i);
        courses[i].phase = rng_uniform(&courses[i].random);
        courses[i].part = 1;
    }
    if (!err)
        err = network_add_events(net, events, draw(o, net, courses, events));
    mem_free(events);
    mem_free(courses);
    return err ? diag_fail(diag, err, "no memory for %zu lines of a scenario", most) : EDGEPS_OK;
}
