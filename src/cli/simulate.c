#include "cli/simulate.h"

#include "base/mem.h"
#include "formats/network_json.h"
#include "formats/sim_json.h"

#include <inttypes.h>
#include <stdio.h>

/* The epochs so far, and the network for its names. */
typedef struct diary {
    const network *net;
    sim_json_epoch *epochs;
    size_t count;
} diary;

static void note(void *context, const training_epoch *e)
{
    diary *d = context;
    sim_json_epoch *kept = &d->epochs[d->count++];
    *kept = (sim_json_epoch){
        .epoch = e->epoch,
        .begin_s = e->begin_s,
        .train_s = e->train_s,
        .move_s = e->move_s,
        .wait_s = e->wait_s,
        .lost_s = e->lost_s,
        .generation = e->plan->generation,
        .global = d->net->nodes[e->plan->global].name,
        .locals = e->locals,
        .workers = e->workers,
        .moves = e->moves,
        .moved_bytes = e->moved_bytes,
        .losses = e->losses,
    };
    snprintf(kept->reason, sizeof kept->reason, "%s", e->reason);
}

static void print_table(const diary *d, const training_result *sum)
{
    printf("%5s  %11s  %11s  %9s  %9s  %9s  %6s  %7s  %5s  %10s  %s\n", "epoch", "begin",
           "training", "moving", "waiting", "lost", "locals", "workers", "moves", "moved",
           "global server");
    for (size_t k = 0; k < d->count; k++) {
        const sim_json_epoch *e = &d->epochs[k];
        printf("%5" PRId64 "  %9.3f s  %9.3f s  %7.3f s  %7.3f s  %7.3f s  %6zu  %7zu  %5zu  "
               "%6.1f MiB  %s\n",
               e->epoch, e->begin_s, e->train_s, e->move_s, e->wait_s, e->lost_s, e->locals,
               e->workers, e->moves, (double)e->moved_bytes / (1 << 20), e->global);
        if (e->reason[0])
            printf("       %s\n", e->reason);
    }
    printf("\n%zu epochs of %" PRId64 " rounds: %.3f s; training %.3f s, moving %.3f s, waiting "
           "%.3f s, lost %.3f s\n%zu changes of plan, %zu moves of %.1f MiB, %zu nodes lost\n",
           d->count, sum->rounds, sum->total_s, sum->train_s, sum->move_s, sum->wait_s, sum->lost_s,
           sum->changes, sum->moves, (double)sum->moved_bytes / (1 << 20), sum->losses);
}

static void print_csv(const diary *d)
{
    printf("epoch,begin_s,train_s,move_s,wait_s,lost_s,generation,locals,workers,moves,moved_bytes,"
           "losses\n");
    for (size_t k = 0; k < d->count; k++) {
        const sim_json_epoch *e = &d->epochs[k];
        printf("%" PRId64 ",%.9g,%.9g,%.9g,%.9g,%.9g,%" PRIu64 ",%zu,%zu,%zu,%" PRId64 ",%zu\n",
               e->epoch, e->begin_s, e->train_s, e->move_s, e->wait_s, e->lost_s, e->generation,
               e->locals, e->workers, e->moves, e->moved_bytes, e->losses);
    }
}

static edgeps_err print_json(const simulate_request *r, const diary *d, const training_result *sum,
                             edgeps_diag *diag)
{
    char *text;
    sim_json_facts facts = {
        .network = d->net->name,
        .job = &r->setting.job,
        .algorithm = r->options.algorithm,
        .policy = r->policy,
        .model = r->network,
        .seed = r->options.seed,
        .max_locals = r->options.max_locals,
        .rounds = sum->rounds,
        .total_s = sum->total_s,
        .epochs = d->epochs,
        .epoch_count = d->count,
    };
    if (sim_json_text(&facts, &text))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the simulation's text");
    puts(text);
    mem_free(text);
    return EDGEPS_OK;
}

static edgeps_err print(const simulate_request *r, const diary *d, const training_result *sum,
                        edgeps_diag *diag)
{
    if (r->output == SIMULATE_JSON)
        return print_json(r, d, sum, diag);
    if (r->output == SIMULATE_CSV)
        print_csv(d);
    else
        print_table(d, sum);
    return EDGEPS_OK;
}

edgeps_err simulate_run(const simulate_request *r, edgeps_diag *diag)
{
    network *net = NULL;
    training_options o = r->options;
    training_result sum;
    diary d = {.epochs = mem_alloc((size_t)o.epochs, sizeof *d.epochs)};
    edgeps_err err = network_json_load(r->path, diag, &net);
    if (!err && !d.epochs)
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for %" PRId64 " epochs", o.epochs);
    if (err)
        goto out;
    d.net = net;
    o.observe = note;
    o.context = &d;
    /* Fifty adjustments of a thousand nodes are to take less than a minute. */
    if (!(o.effort > 0))
        o.effort = net->count > 50 ? 50.0 / (double)net->count : 1;
    err = training_run(net, &r->setting.job, &o, diag, &sum);
    if (err)
        diag_wrap(diag, err, "%s", r->path);
    else
        err = print(r, &d, &sum, diag);
out:
    mem_free(d.epochs);
    network_free(net);
    return err;
}
