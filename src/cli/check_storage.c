#include "cli/check_int.h"

#include "place/place.h"

#include <inttypes.h>
#include <stdio.h>

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

static edgeps_err look_for_plan(const check_request *r, check_facts *f)
{
    const problem_options limits = {.max_locals = r->max_locals};
    edgeps_diag why = {.text = ""};
    problem *p = NULL;
    place_result any = {.status = PLACE_FEASIBLE};
    edgeps_err err = problem_make(r->net, r->job, &limits, &why, &p);
    if (err == EDGEPS_INFEASIBLE)
        return check_add(f, CHECK_ERROR, "no-plan", NULL, "no plan: %s", why.text);
    if (!err)
        err = place_any(p, &any);
    if (!err && any.status == PLACE_INFEASIBLE)
        err = check_add(f, CHECK_ERROR, "no-plan", NULL, "no plan: %s", any.reason);
    place_result_free(&any);
    problem_free(p);
    return err;
}

edgeps_err check_storage(const check_request *r, check_facts *f)
{
    edgeps_err err = judge_rooms(r->net, r->job, f);
    /* Who is cut off has been named; storage is then not what is amiss. */
    if (err || f->counts[CHECK_ERROR])
        return err;
    return look_for_plan(r, f);
}
