#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/setting.h"
#include "cli/trace.h"
#include "cost/cost.h"
#include "formats/network_json.h"
#include "formats/plan_json.h"
#include "formats/quantity.h"
#include "place/shards.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    SHARDS = SETTING_OPTIONS,
    GAP,
    PROGRESS,
    NO_POLISH,
    TRACE,
    EPOCHS,
    POLICY,
    HYSTERESIS,
    PAUSE,
    JSON,
    OUT,
    HELP,
    OPTIONS
};

static const options_row rows[OPTIONS] = {
    SETTING_ROWS,
    [SHARDS] = {"shards", "N", NULL, "cut the model into N (default 1), or auto", false},
    [GAP] = {"gap", "FRACTION", "0", "exact: stop within it of the best, 0.01 is 1 %", false},
    [PROGRESS] = {"progress", NULL, NULL, "print the bounds as they improve, on stderr", false},
    [NO_POLISH] = {"no-polish", NULL, NULL, "leave the local search out", false},
    [TRACE] = {"trace", NULL, NULL, "follow the scenario with policies of re-placement", false},
    [EPOCHS] = {"epochs", "N", "0", "of the trace; 0: up to the scenario's last", false},
    [POLICY] = {"policy", "NAMES", "all", "of the trace, separated by commas", false},
    [HYSTERESIS] = {"hysteresis", "X", "0.1", "trace: gain of a move beyond its cost", false},
    [PAUSE] = {"pause", "TIME", "0 s", "trace: what a change of plan takes, moves aside", false},
    [JSON] = {"json", NULL, NULL, "the plan, or the trace, as JSON instead of a table", false},
    [OUT] = {"out", "FILE", NULL, "also write the plan as JSON into a file", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

static volatile sig_atomic_t interrupted;

static void interrupt(int signo)
{
    (void)signo;
    interrupted = 1;
}

/* The bounds as they were last printed. */
typedef struct printed {
    bool wanted;
    int64_t start_ns;
    double best_s, bound_s;
} printed;

static void print_bounds(printed *last, const place_progress *now)
{
    double seconds = clock_since_s(last->start_ns);
    last->best_s = now->best_s;
    last->bound_s = now->bound_s;
    fprintf(stderr, "%8.3f s  %s: best %.6f s a round, lower bound %.6f s, gap %.2f %%\n", seconds,
            now->phase, now->best_s, now->bound_s, 100 * (1 - now->bound_s / now->best_s));
}

static bool unless_interrupted(void *context, const place_progress *now)
{
    printed *last = context;
    if (last->wanted && now->best_s < INFINITY &&
        (now->best_s != last->best_s || now->bound_s != last->bound_s))
        print_bounds(last, now);
    return !interrupted;
}

/* The first interrupt ends the search, and the best plan so far is printed; the second ends the
 * program. */
static void catch_interrupts(void)
{
    const struct sigaction once = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &once, NULL);
    sigaction(SIGTERM, &once, NULL);
}

typedef struct work {
    const char *value[OPTIONS];
    network *net;
    setting setting;
    problem *problem;
    size_t shards; /* or PLACE_AUTO_SHARDS */
    printed printed;
    place_set_result result;
} work;

static edgeps_err read_shards(const char *text, edgeps_diag *diag, size_t *shards)
{
    int64_t count = 1;
    edgeps_err err = EDGEPS_OK;
    if (text && strcmp(text, "auto") == 0)
        count = PLACE_AUTO_SHARDS;
    else if (text && options_whole("shards", text, 1, JOB_MAX_CHUNKS, diag, &count))
        err = diag_fail(diag, EDGEPS_USAGE,
                        "--shards: '%s' is neither a whole number from 1 nor auto", text);
    *shards = (size_t)count;
    return err;
}

static edgeps_err read_settings(work *w, edgeps_diag *diag)
{
    edgeps_err err = setting_read(w->value, diag, &w->setting);
    if (!err)
        err = read_shards(w->value[SHARDS], diag, &w->shards);
    if (!err)
        err = options_real("gap", w->value[GAP], 0, 0.99, diag, &w->setting.place.gap);
    if (err)
        return err;
    w->setting.place.progress = unless_interrupted;
    w->setting.place.context = &w->printed;
    w->setting.place.no_polish = w->value[NO_POLISH] != NULL;
    w->printed = (printed){.wanted = w->value[PROGRESS] != NULL, .start_ns = clock_now_ns()};
    return EDGEPS_OK;
}

static edgeps_err place(work *w, const char *path, edgeps_diag *diag)
{
    if (!path)
        return diag_fail(diag, EDGEPS_USAGE, "no network file given; see edgeps plan --help");
    edgeps_err err = read_settings(w, diag);
    problem_options po = {.max_locals = w->setting.max_locals};
    if (!err)
        err = network_json_load(path, diag, &w->net);
    if (!err && (err = problem_make(w->net, &w->setting.job, &po, diag, &w->problem)))
        diag_wrap(diag, err, "%s", path);
    catch_interrupts();
    if (!err)
        err = place_shards(w->value[SETTING_ALGO], w->problem, w->shards, &w->setting.place, diag,
                           &w->result);
    if (err || w->result.status != PLACE_INFEASIBLE)
        return err;
    bool may_help = w->shards == 1 && place_shards_may_help(w->problem);
    return diag_fail(diag, EDGEPS_INFEASIBLE, "%s: %s%s", path, w->result.reason,
                     may_help ? "; --shards auto spreads the model over several nodes" : "");
}

static bool trace_goes_on(void *context, const char *policy, size_t epoch)
{
    const printed *last = context;
    if (last->wanted)
        fprintf(stderr, "%8.3f s  %s: epoch %zu\n", clock_since_s(last->start_ns), policy, epoch);
    return !interrupted;
}

/* What a trace makes no use of. */
static edgeps_err check_trace_options(const work *w, edgeps_diag *diag)
{
    static const int others[] = {SETTING_DEADLINE, NO_POLISH, OUT, SHARDS};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (w->value[others[k]])
            return diag_fail(diag, EDGEPS_USAGE, "--%s: does not go with --trace",
                             rows[others[k]].name);
    return EDGEPS_OK;
}

static edgeps_err follow(work *w, const char *path, edgeps_diag *diag)
{
    trace_request r = {.job = &w->setting.job, .policies = w->value[POLICY]};
    if (!path)
        return diag_fail(diag, EDGEPS_USAGE, "no network file given; see edgeps plan --help");
    edgeps_err err = check_trace_options(w, diag);
    if (!err)
        err = read_settings(w, diag);
    if (!err)
        err = options_whole("epochs", w->value[EPOCHS], 0, 100000, diag, &r.epochs);
    if (!err)
        err = options_real("hysteresis", w->value[HYSTERESIS], 0, 1e6, diag, &r.options.hysteresis);
    if (!err && quantity_parse(QUANTITY_TIME, w->value[PAUSE], diag, &r.options.pause_s))
        err = diag_wrap(diag, EDGEPS_USAGE, "--pause");
    if (!err)
        err = network_json_load(path, diag, &w->net);
    if (err)
        return err;
    catch_interrupts();
    r.net = w->net;
    r.max_locals = w->setting.max_locals;
    r.json = w->value[JSON] != NULL;
    r.options.algorithm = w->value[SETTING_ALGO];
    r.options.seed = w->setting.place.seed;
    r.options.progress = trace_goes_on;
    r.options.context = &w->printed;
    err = trace_follow(&r, diag);
    return err == EDGEPS_INFEASIBLE ? diag_wrap(diag, err, "%s", path) : err;
}

static edgeps_err plan_text(const work *w, char **text)
{
    const char *names[COST_PHASES], *reasons[] = {w->result.reason};
    char bottleneck[256];
    for (int k = 0; k < COST_PHASES; k++)
        names[k] = cost_phase_name((cost_phase)k);
    cost_bottleneck_text(&w->result.cost.bottleneck, w->problem, bottleneck, sizeof bottleneck);
    plan_json_facts facts = {
        .network = w->net,
        .plan = w->result.set.shards,
        .shard_count = w->result.set.count,
        .job = &w->setting.job,
        .algorithm = w->value[SETTING_ALGO],
        .status = w->result.status == PLACE_OPTIMAL ? "optimal" : "feasible",
        .stopped = place_stop_name(w->result.stopped),
        .seed = w->setting.place.seed,
        .max_locals = w->problem->max_locals,
        .round_s = w->result.cost.round_s,
        .epoch_s = w->result.cost.epoch_s,
        .phase_names = names,
        .phase_s = w->result.cost.phase_s,
        .phase_count = COST_PHASES,
        .bottleneck = bottleneck,
        .lower_bound_s = w->result.lower_bound_s,
        .reasons = reasons,
        .reason_count = 1,
    };
    return plan_json_text(&facts, text);
}

static void size_text(int64_t bytes, char *text, size_t size)
{
    if (bytes >= 1 << 20)
        snprintf(text, size, "%.1f MiB", (double)bytes / (1 << 20));
    else
        snprintf(text, size, "%.0f KiB", (double)bytes / 1024);
}

static void print_workers(const plan *pl, const network *net, size_t local)
{
    const char *separator = "";
    for (size_t i = 0; i < pl->count; i++)
        if (pl->parent[i] == (int32_t)local) {
            printf("%s%s", separator, net->nodes[i].name);
            separator = ", ";
        }
    putchar('\n');
}

static int widest_name(const network *net)
{
    size_t widest = 4;
    for (size_t i = 0; i < net->count; i++)
        if (strlen(net->nodes[i].name) > widest)
            widest = strlen(net->nodes[i].name);
    return (int)widest;
}

/* The servers of a plan of this part of the job. */
static void print_roles(const work *w, const plan *pl, const job *part)
{
    int width = widest_name(w->net);
    char need[32], offered[32];
    printf("%-*s  %-13s  %10s  %10s  workers\n", width, "node", "role", "needs", "free");
    for (size_t j = 0; j < pl->count; j++) {
        bool global = pl->global == (int32_t)j, local = plan_is_local(pl, j);
        if (!global && !local)
            continue;
        size_text(plan_need_bytes(pl, part, j), need, sizeof need);
        size_text(w->net->nodes[j].free_bytes, offered, sizeof offered);
        printf("%-*s  %-13s  %10s  %10s  ", width, w->net->nodes[j].name,
               global && local ? "global, local"
               : global        ? "global"
                               : "local",
               need, offered);
        print_workers(pl, w->net, j);
    }
}

static void print_shards(const work *w)
{
    const plan_set *set = &w->result.set;
    char size[32], offered[32];
    for (size_t s = 0; s < set->count; s++) {
        job part = job_shard(&w->setting.job, (int64_t)s, (int64_t)set->count);
        size_text(job_parameter_bytes(&part), size, sizeof size);
        printf("shard %zu of %zu, %s of parameters:\n", s + 1, set->count, size);
        print_roles(w, &set->shards[s], &part);
        putchar('\n');
    }
    int width = widest_name(w->net);
    printf("%-*s  %10s  %10s  in all shards\n", width, "node", "needs", "free");
    for (size_t j = 0; j < w->net->count; j++) {
        int64_t need = plan_set_need_bytes(set, &w->setting.job, j);
        size_text(need, size, sizeof size);
        size_text(w->net->nodes[j].free_bytes, offered, sizeof offered);
        if (need)
            printf("%-*s  %10s  %10s\n", width, w->net->nodes[j].name, size, offered);
    }
}

static void print_table(const work *w)
{
    const place_set_result *r = &w->result;
    char text[256];
    if (r->set.count > 1)
        print_shards(w);
    else
        print_roles(w, r->set.shards, &w->setting.job);
    printf("\npredicted: %.6f s a round, %.3f s an epoch of %lld rounds (%s)\n", r->cost.round_s,
           r->cost.epoch_s, (long long)w->problem->rounds,
           job_transfer_name(w->setting.job.transfer));
    for (int k = 0; k < COST_PHASES; k++)
        printf("  %-16s %10.6f s\n", cost_phase_name((cost_phase)k), r->cost.phase_s[k]);
    cost_bottleneck_text(&r->cost.bottleneck, w->problem, text, sizeof text);
    printf("bottleneck: %s\n", text);
    if (r->lower_bound_s > 0)
        printf("lower bound: %.6f s a round, so the plan is proved within %.3f of the best\n",
               r->lower_bound_s, r->cost.round_s / r->lower_bound_s);
    if (r->stopped)
        printf("stopped: %s; a longer search may find more\n", place_stop_name(r->stopped));
    printf("why: %s\n", r->reason);
}

static edgeps_err print(const work *w, edgeps_diag *diag)
{
    char *text = NULL;
    if (plan_text(w, &text))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the plan's text");
    if (w->value[JSON])
        puts(text);
    else
        print_table(w);
    edgeps_err err = EDGEPS_OK;
    if (w->value[OUT]) {
        FILE *file = fopen(w->value[OUT], "we");
        bool good = file && fprintf(file, "%s\n", text) > 0;
        if (file && fclose(file))
            good = false;
        if (!good)
            err = diag_fail(diag, EDGEPS_IO, "--out: %s cannot be written: %s", w->value[OUT],
                            strerror(errno));
    }
    mem_free(text);
    return err ? err : file_end_output(diag);
}

static edgeps_err place_and_print(work *w, const char *path, edgeps_diag *diag)
{
    edgeps_err err = place(w, path, diag);
    if (!err)
        err = print(w, diag);
    if (!err && w->result.stopped == PLACE_STOPPED_CANCELLED)
        err = diag_fail(diag, EDGEPS_CANCELLED, "interrupted: this is the best plan so far");
    return err;
}

static edgeps_err follow_and_print(work *w, const char *path, edgeps_diag *diag)
{
    edgeps_err err = follow(w, path, diag);
    return err ? err : file_end_output(diag);
}

static void list_algorithms(void)
{
    printf("\nalgorithms:\n");
    for (size_t a = 0; a < place_algorithm_count; a++)
        printf("  %-22s %s\n", place_algorithms[a].name, place_algorithms[a].summary);
    printf("  %-22s %s\n", "exec:COMMAND", "a program of your own (docs/problem-file.md)");
    printf("\npolicies:\n");
    for (size_t k = 0; k < adapt_policy_count; k++)
        printf("  %-22s %s\n", adapt_policies[k].name, adapt_policies[k].summary);
}

int cli_plan(int argc, char **argv)
{
    work w = {.net = NULL};
    const char *path = NULL;
    edgeps_diag diag = {.text = ""};
    edgeps_err err = options_read(table, argc, argv, w.value, &path, &diag);
    if (!err && w.value[HELP]) {
        options_help("plan NETWORK [OPTIONS]", "places the parameter servers of a training job",
                     table);
        list_algorithms();
        return 0;
    }
    for (int k = 0; k < OPTIONS; k++)
        if (!w.value[k])
            w.value[k] = rows[k].fallback;
    if (!err)
        err = w.value[TRACE] ? follow_and_print(&w, path, &diag) : place_and_print(&w, path, &diag);
    place_set_result_free(&w.result);
    problem_free(w.problem);
    network_free(w.net);
    if (err)
        fprintf(stderr, "edgeps plan: %s\n", diag.text);
    return err_exit_status(err);
}
