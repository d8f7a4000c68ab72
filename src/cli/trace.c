#include "cli/trace.h"

#include "base/mem.h"
#include "formats/trace_json.h"
#include "problem/problem.h"

#include <stdio.h>
#include <string.h>

/* The network of each epoch and the problem that it poses. */
typedef struct course {
    const trace_request *request;
    size_t count;
    network **networks;
    problem **problems;
    adapt_trace *trace;
} course;

static void course_free(course *c)
{
    adapt_trace_free(c->trace);
    for (size_t e = 0; e < c->count; e++) {
        if (c->problems)
            problem_free(c->problems[e]);
        if (c->networks)
            network_free(c->networks[e]);
    }
    mem_free(c->problems);
    mem_free(c->networks);
}

static size_t last_epoch(const network *net)
{
    int last = 0;
    for (size_t k = 0; k < net->event_count; k++)
        last = net->events[k].epoch > last ? net->events[k].epoch : last;
    return (size_t)last;
}

/* Epochs have as many rounds as the first: the training goes on, whoever is left. */
static edgeps_err make_epoch(course *c, size_t e, bool *absent, network_presence *nodes,
                             edgeps_diag *diag)
{
    const trace_request *r = c->request;
    int epoch = (int)e + 1;
    problem_options options = {
        .max_locals = r->max_locals, .absent = absent, .rounds = e ? c->problems[0]->rounds : 0};
    edgeps_err err = network_copy(r->net, &c->networks[e]);
    if (err)
        return diag_fail(diag, err, "no memory for the network of epoch %d", epoch);
    network_apply_epochs(c->networks[e], epoch);
    network_follow_epoch(r->net, epoch, nodes, absent);
    err = problem_make(c->networks[e], r->job, &options, diag, &c->problems[e]);
    return err ? diag_wrap(diag, err, "epoch %d", epoch) : EDGEPS_OK;
}

static edgeps_err make_course(const trace_request *r, course *c, edgeps_diag *diag)
{
    size_t count = r->epochs > 0 ? (size_t)r->epochs : last_epoch(r->net);
    if (count == 0)
        return diag_fail(diag, EDGEPS_USAGE,
                         "--trace: the scenario of the network names no epoch; give --epochs");
    edgeps_err err = EDGEPS_OK;
    bool *absent = mem_alloc(r->net->count, sizeof *absent);
    network_presence *nodes = mem_alloc(r->net->count, sizeof *nodes);
    *c = (course){.request = r, .count = count};
    c->networks = mem_alloc(count, sizeof(network *));
    c->problems = mem_alloc(count, sizeof(problem *));
    if (!absent || !nodes || !c->networks || !c->problems)
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for %zu epochs", count);
    for (size_t e = 0; !err && e < count; e++)
        err = make_epoch(c, e, absent, nodes, diag);
    mem_free(absent);
    mem_free(nodes);
    return err ? err
               : adapt_trace_make((const problem *const *)c->problems, count, &r->options, diag,
                                  &c->trace);
}

/* ---- which policies ---- */

static bool is_among(const char *name, const char *list)
{
    size_t length = strlen(name);
    while (*list) {
        size_t item = strcspn(list, ",");
        if (item == length && memcmp(list, name, length) == 0)
            return true;
        list += item + (list[item] == ',');
    }
    return false;
}

static bool is_policy(const char *text, size_t length)
{
    for (size_t k = 0; k < adapt_policy_count; k++) {
        const char *name = adapt_policies[k].name;
        if (strlen(name) == length && memcmp(name, text, length) == 0)
            return true;
    }
    return false;
}

static edgeps_err check_policies(const char *list, edgeps_diag *diag)
{
    char names[128] = "all";
    if (strcmp(list, "all") == 0)
        return EDGEPS_OK;
    for (size_t k = 0; k < adapt_policy_count; k++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, ", %s", adapt_policies[k].name);
    }
    do {
        size_t item = strcspn(list, ",");
        if (!is_policy(list, item))
            return diag_fail(diag, EDGEPS_USAGE, "--policy: '%.*s' is not known; choose from: %s",
                             (int)item, list, names);
        list += item + (list[item] == ',');
    } while (*list);
    return EDGEPS_OK;
}

/* ---- what they come to ---- */

static edgeps_err judge(adapt_trace *t, size_t policy, edgeps_diag *diag, adapt_account *out)
{
    const plan *plans;
    edgeps_err err = adapt_trace_plans(t, policy, diag, &plans);
    if (!err && (err = adapt_trace_judge(t, plans, out)))
        diag_fail(diag, err, "no memory to judge a policy");
    return err;
}

static edgeps_err judge_offline(adapt_trace *t, edgeps_diag *diag, adapt_account *out)
{
    size_t k = 0;
    while (strcmp(adapt_policies[k].name, "offline") != 0)
        k++;
    return judge(t, k, diag, out);
}

static edgeps_err fill_rows(course *c, edgeps_diag *diag, trace_json_row *rows, size_t *count)
{
    const char *list = c->request->policies;
    bool all = strcmp(list, "all") == 0;
    adapt_account best;
    edgeps_err err = judge_offline(c->trace, diag, &best);
    *count = 0;
    for (size_t k = 0; !err && k < adapt_policy_count; k++) {
        adapt_account a;
        if (!all && !is_among(adapt_policies[k].name, list))
            continue;
        err = judge(c->trace, k, diag, &a);
        if (!err)
            rows[(*count)++] = (trace_json_row){
                adapt_policies[k].name,
                a.total_s,
                a.train_s,
                a.move_s,
                a.lost_s,
                a.changes,
                a.moves,
                a.moved_bytes,
                a.lost_epochs,
                a.total_s - best.total_s,
            };
    }
    return err;
}

static void print_rows(const course *c, const trace_json_row *rows, size_t count)
{
    printf("%-13s  %12s  %12s  %10s  %5s  %10s  %11s  %18s\n", "policy", "total", "training",
           "moving", "moves", "moved", "lost epochs", "regret");
    for (size_t k = 0; k < count; k++) {
        const trace_json_row *r = &rows[k];
        printf("%-13s  %10.3f s  %10.3f s  %8.3f s  %5zu  %6.1f MiB  %11zu  %8.3f s %5.1f %%\n",
               r->policy, r->total_s, r->train_s, r->move_s, r->moves,
               (double)r->moved_bytes / (1 << 20), r->lost_epochs, r->regret_s,
               100 * r->regret_s / (r->total_s - r->regret_s));
    }
    printf("\n%zu epochs of %lld rounds; regret is against offline, which %s\n", c->count,
           (long long)c->problems[0]->rounds,
           adapt_trace_offline_is_exact(c->trace)
               ? "is the best of all sequences of plans"
               : "knows all epochs and picks from what the others do and plans from scratch");
}

static edgeps_err print(const course *c, const trace_json_row *rows, size_t count,
                        edgeps_diag *diag)
{
    const trace_request *r = c->request;
    char *text = NULL;
    trace_json_facts facts = {
        .network = r->net->name,
        .job = r->job,
        .algorithm = r->options.algorithm,
        .seed = r->options.seed,
        .max_locals = r->max_locals,
        .epochs = c->count,
        .exact = adapt_trace_offline_is_exact(c->trace),
        .rows = rows,
        .row_count = count,
    };
    if (!r->json) {
        print_rows(c, rows, count);
        return EDGEPS_OK;
    }
    if (trace_json_text(&facts, &text))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the trace's text");
    puts(text);
    mem_free(text);
    return EDGEPS_OK;
}

edgeps_err trace_follow(const trace_request *r, edgeps_diag *diag)
{
    course c = {.count = 0};
    size_t count = 0;
    trace_json_row *rows = NULL;
    edgeps_err err = check_policies(r->policies, diag);
    if (!err)
        err = make_course(r, &c, diag);
    if (!err && !(rows = mem_alloc(adapt_policy_count, sizeof *rows)))
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for the policies");
    if (!err)
        err = fill_rows(&c, diag, rows, &count);
    if (!err)
        err = print(&c, rows, count, diag);
    mem_free(rows);
    course_free(&c);
    return err;
}
