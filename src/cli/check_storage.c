#include "cli/check_int.h"

#include "base/mem.h"
#include "place/place.h"

#include <inttypes.h>
#include <stdio.h>

#define MOST_EPOCHS 200 /* of a scenario are judged */

static int64_t kib_up(int64_t bytes) { return (bytes + 1023) / 1024; }

/* A node too small for the smallest server of its kind. */
static edgeps_err judge_rooms(const network *net, const struct job *j, check_facts *f)
{
    int64_t local = job_local_need_bytes(j, 1);
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; !err && i < net->count; i++) {
        const network_node *node = &net->nodes[i];
        if (!node->serve || node->free_bytes >= local)
            continue;
        err = check_add(f, CHECK_WARNING, "storage", node->name,
                        "%s: %" PRId64 " KiB are free, a local server of one worker needs %" PRId64
                        " KiB; free more, or say \"serve\": false",
                        node->name, node->free_bytes / 1024, kib_up(local));
    }
    return err;
}

/* A network at one moment, with nodes that are gone. */
static edgeps_err look_for_plan(const check_request *r, const network *net, const bool *absent,
                                bool *found, edgeps_diag *why)
{
    const problem_options limits = {.max_locals = r->max_locals, .absent = absent};
    problem *p = NULL;
    place_result any = {.status = PLACE_INFEASIBLE};
    edgeps_err err = problem_make(net, r->job, &limits, why, &p);
    if (!err)
        err = place_any(p, &any);
    if (!err && any.status == PLACE_INFEASIBLE)
        err = diag_fail(why, EDGEPS_INFEASIBLE, "%s", any.reason);
    *found = !err;
    place_result_free(&any);
    problem_free(p);
    return err == EDGEPS_INFEASIBLE ? EDGEPS_OK : err;
}

static int last_epoch(const network *net)
{
    int last = 0;
    for (size_t k = 0; k < net->event_count; k++)
        last = net->events[k].epoch > last ? net->events[k].epoch : last;
    return last;
}

/* What is due at the start of the epoch; returns whether anything was. */
static bool begin_epoch(network *net, int epoch, network_presence *nodes, bool *absent)
{
    bool changed = false;
    network_follow_epoch(net, epoch, nodes, absent);
    for (size_t k = 0; k < net->event_count; k++) {
        const network_event *event = &net->events[k];
        if (event->epoch != epoch)
            continue;
        network_apply(net, event);
        changed = true;
    }
    return changed;
}

/* The epochs of the scenario, as far as MOST_EPOCHS. */
static edgeps_err follow_scenario(const check_request *r, check_facts *f)
{
    network *net = NULL;
    bool *absent = mem_alloc(r->net->count, sizeof *absent);
    network_presence *nodes = mem_alloc(r->net->count, sizeof *nodes);
    edgeps_err err = absent && nodes ? network_copy(r->net, &net) : EDGEPS_NOMEM;
    int last = last_epoch(r->net);
    for (int epoch = 1; !err && epoch <= last && epoch <= MOST_EPOCHS; epoch++) {
        edgeps_diag why = {.text = ""};
        bool found = true;
        if (begin_epoch(net, epoch, nodes, absent))
            err = look_for_plan(r, net, absent, &found, &why);
        if (!err && !found)
            err = check_add(f, CHECK_WARNING, "no-plan", NULL, "epoch %d: no plan: %s", epoch,
                            why.text);
    }
    network_free(net);
    mem_free(absent);
    mem_free(nodes);
    return err;
}

edgeps_err check_storage(const check_request *r, check_facts *f)
{
    edgeps_diag why = {.text = ""};
    bool found = true;
    edgeps_err err = judge_rooms(r->net, r->job, f);
    /* Who is cut off has been named; storage is then not what is amiss. */
    if (err || f->counts[CHECK_ERROR])
        return err;
    err = look_for_plan(r, r->net, NULL, &found, &why);
    if (!err && !found)
        return check_add(f, CHECK_ERROR, "no-plan", NULL, "no plan: %s", why.text);
    return err ? err : follow_scenario(r, f);
}
