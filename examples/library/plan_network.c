/* Places the servers of a job in a network file, with libedgeps alone: plan_network NETWORK */
#include <edgeps/formats/network_json.h>
#include <edgeps/place/place.h>

#include <stdio.h>

/* Called now and then while edgeps searches; false would stop it. */
static bool show(void *context, const place_progress *now)
{
    (void)context;
    if (now->bound_s > 0 && now->best_s < INFINITY)
        fprintf(stderr, "%s: %.4f s a round, at most %.1f %% above the best possible\n", now->phase,
                now->best_s, 100 * (now->best_s / now->bound_s - 1));
    return true;
}

static void print_plan(const problem *p, const place_result *r)
{
    char text[200];
    printf("global server: %s\n", p->nodes[r->plan.global].name);
    for (size_t i = 0; i < p->count; i++)
        if (r->plan.parent[i] != PLAN_NONE)
            printf("%s sends to %s\n", p->nodes[i].name, p->nodes[r->plan.parent[i]].name);
    cost_bottleneck_text(&r->cost.bottleneck, p, text, sizeof text);
    printf("%.6f s a round, no plan below %.6f s; bottleneck: %s\n", r->cost.round_s,
           r->lower_bound_s, text);
}

int main(int argc, char **argv)
{
    edgeps_diag diag = {.text = ""};
    network *net = NULL;
    problem *p = NULL;
    job j;
    place_result r = {.status = PLACE_INFEASIBLE};
    const problem_options limits = {.max_locals = 4};
    const place_options options = {.seed = 1, .deadline_s = 10, .progress = show};
    edgeps_err err = network_json_load(argc > 1 ? argv[1] : "network.json", &diag, &net);
    if (!err)
        err = job_make("lenet5", 60000, 32, JOB_PIPELINED, &diag, &j);
    if (!err)
        err = problem_make(net, &j, &limits, &diag, &p);
    if (!err)
        err = place_run("approx", p, &options, &diag, &r);
    if (err)
        fprintf(stderr, "plan_network: %s\n", diag.text);
    else if (r.status == PLACE_INFEASIBLE)
        printf("no plan: %s\n", r.reason);
    else
        print_plan(p, &r);
    place_result_free(&r);
    problem_free(p);
    network_free(net);
    return err_exit_status(err);
}
