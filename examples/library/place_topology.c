/* Places the servers of a job in a topology of another tool (GraphML, GML, node-link JSON,
 * Repetita), and writes the network and the plan as files of edgeps:
 * place_topology TOPOLOGY NETWORK.json PLAN.json */
#include <edgeps/base/mem.h>
#include <edgeps/formats/network_json.h>
#include <edgeps/formats/plan_json.h>
#include <edgeps/formats/topology.h>
#include <edgeps/place/place.h>

#include <stdio.h>

static edgeps_err write_file(const char *path, const char *text, edgeps_diag *diag)
{
    FILE *file = fopen(path, "w");
    int failed = !file || fprintf(file, "%s\n", text) < 0;
    if (file && fclose(file))
        failed = 1;
    return failed ? diag_fail(diag, EDGEPS_IO, "%s cannot be written", path) : EDGEPS_OK;
}

/* What the file leaves open is filled from the options, and every gap that was filled is told. */
static edgeps_err read_topology(const char *path, edgeps_diag *diag, network **net)
{
    const topology_options options = {.link_bytes_per_s = 1e9 / 8, /* of links without a speed */
                                      .cable_factor = 1.5,
                                      .free_bytes = 64 << 20,
                                      .drop_disconnected = true};
    topology *graph = NULL;
    topology_report report = {0};
    edgeps_err err = topology_read(path, TOPOLOGY_AUTO, diag, &graph);
    if (!err)
        err = network_from_topology(graph, &options, diag, net, &report);
    for (size_t k = 0; k < report.count; k++)
        fprintf(stderr, "%s\n", report.lines[k]);
    topology_report_free(&report);
    topology_free(graph);
    return err;
}

static edgeps_err write_network(const network *net, const char *path, edgeps_diag *diag)
{
    char *text = NULL;
    edgeps_err err = network_json_text(net, &text);
    if (!err)
        err = write_file(path, text, diag);
    mem_free(text);
    return err;
}

static edgeps_err write_plan(const network *net, const problem *p, const place_result *r,
                             const char *path, edgeps_diag *diag)
{
    char *text = NULL;
    const plan_json_facts facts = {.network = net,
                                   .plan = &r->plan,
                                   .job = &p->job,
                                   .max_locals = p->max_locals,
                                   .round_s = r->cost.round_s,
                                   .epoch_s = r->cost.epoch_s,
                                   .lower_bound_s = r->lower_bound_s};
    edgeps_err err = plan_json_text(&facts, &text);
    if (!err)
        err = write_file(path, text, diag);
    mem_free(text);
    return err;
}

int main(int argc, char **argv)
{
    edgeps_diag diag = {.text = ""};
    network *net = NULL;
    problem *p = NULL;
    job j;
    place_result r = {.status = PLACE_INFEASIBLE};
    const problem_options limits = {.max_locals = 2};
    if (argc != 4) {
        fprintf(stderr, "usage: place_topology TOPOLOGY NETWORK.json PLAN.json\n");
        return 2;
    }
    edgeps_err err = read_topology(argv[1], &diag, &net);
    if (!err)
        err = write_network(net, argv[2], &diag);
    if (!err)
        err = job_make("lenet5", 60000, 32, JOB_PIPELINED, &diag, &j);
    if (!err)
        err = problem_make(net, &j, &limits, &diag, &p);
    if (!err)
        err = place_run("approx", p, NULL, &diag, &r);
    if (!err && r.status == PLACE_INFEASIBLE)
        err = diag_fail(&diag, EDGEPS_INFEASIBLE, "no plan: %s", r.reason);
    if (!err)
        err = write_plan(net, p, &r, argv[3], &diag);
    if (err)
        fprintf(stderr, "place_topology: %s\n", diag.text);
    place_result_free(&r);
    problem_free(p);
    network_free(net);
    return err_exit_status(err);
}
