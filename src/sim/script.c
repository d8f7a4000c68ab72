#include "sim/script.h"

#include "base/rng.h"
#include "network/generate.h"
#include "sim/whim.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WITHIN_S 8.0 /* of the first epoch's beginning all faults come */
#define AMOUNT_S 4.0 /* at most; as often below a tenth of it as above */
#define SILENT_S 1.0
#define PROGRESS_S 120.0

static const char *const kinds[] = {
    [SIM_KILL] = "kill",     [SIM_RESTART] = "back",    [SIM_CUT] = "cut",
    [SIM_FULL] = "full",     [SIM_UNSAVED] = "unsaved", [SIM_STOP] = "stop",
    [SIM_DELAY] = "delay",   [SIM_TWICE] = "twice",     [SIM_CLOCK] = "clock",
    [SIM_FREEZE] = "freeze", [SIM_FOLLOW] = "follow"};

/* From 0.1 to 10 times the time after which a node is silent, or half of that. */
static double draw_amount_s(rng *r) { return AMOUNT_S * pow(100, rng_uniform(r) - 1); }

script script_draw(uint64_t seed, size_t most_nodes, size_t most_faults)
{
    rng r = rng_make(seed, 4);
    script s = {.seed = seed,
                .nodes = 2 + (size_t)rng_below(&r, most_nodes - 1),
                .rounds = 1 + (int64_t)rng_below(&r, 4),
                .fault_count = (size_t)rng_below(&r, most_faults + 1)};
    for (size_t k = 0; k < s.fault_count; k++) {
        s.faults[k] = (sim_fault){.at_s = WITHIN_S * rng_uniform(&r),
                                  .node = (int32_t)rng_below(&r, s.nodes),
                                  .kind = (sim_fault_kind)rng_below(&r, SIM_FAULT_KINDS)};
        if (sim_fault_has_amount(s.faults[k].kind))
            s.faults[k].amount_s = draw_amount_s(&r);
    }
    return s;
}

/* The problem lends the names of the network; both belong to the caller, whatever is returned. */
static edgeps_err make_problem(const script *s, edgeps_diag *diag, network **net, problem **out)
{
    rng r = rng_make(s->seed, 5);
    generate_options g = generate_defaults((generate_kind)rng_below(&r, 4), s->nodes, s->seed);
    job j;
    job_transfer transfer = rng_below(&r, 2) ? JOB_PIPELINED : JOB_STORE_AND_FORWARD;
    const char *model = rng_below(&r, 2) ? "lenet5" : "mlp";
    const problem_options o = {.rounds = s->rounds};
    edgeps_err err = generate_network(&g, diag, net);
    if (!err)
        err = job_make(model, 4000, 64, transfer, diag, &j);
    if (!err)
        err = problem_make(*net, &j, &o, diag, out);
    return err;
}

/* So it may be: who is not heard is given up, and ends. */
static bool may_end(const sim_fault *f)
{
    bool silences = f->kind == SIM_STOP || f->kind == SIM_DELAY;
    return f->kind == SIM_KILL || (silences && f->amount_s > SILENT_S / 2);
}

static bool every_worker_may_end(const script *s, const problem *p)
{
    for (size_t i = 0; i < p->count; i++) {
        bool killed = !p->nodes[i].train;
        for (size_t k = 0; k < s->fault_count; k++)
            killed |= s->faults[k].node == (int32_t)i && may_end(&s->faults[k]);
        if (!killed)
            return false;
    }
    return true;
}

/* Half of the jobs wait for everyone. */
static proto_patience draw_patience(const script *s)
{
    rng r = rng_make(s->seed, 6);
    proto_patience p = {.quorum = 0};
    if (rng_below(&r, 2))
        return p;
    p.quorum = 1 - rng_uniform(&r);
    p.staleness = (int64_t)rng_below(&r, SIM_MOST_STALENESS + 1);
    if (rng_below(&r, 2))
        p.times_median = 0.1 + 2 * rng_uniform(&r);
    else
        p.timeout_ns = (int64_t)(1e6 * pow(1000, rng_uniform(&r)));
    return p;
}

static edgeps_err run_on(const script *s, const problem *p, edgeps_diag *diag)
{
    whim w = {.p = p, .random = rng_make(s->seed, 3), .keep = s->seed % 2};
    const sim_options o = {.epochs = SCRIPT_EPOCHS,
                           .seed = s->seed,
                           .planner = whim_plan,
                           .context = &w,
                           .most_control_delay_s = 0.05,
                           .detect_s = 0.1,
                           .patience = draw_patience(s),
                           .most_slowdown = s->seed % 4 ? 9 : 0,
                           .faults = s->faults,
                           .fault_count = s->fault_count,
                           .silent_s = SILENT_S,
                           .progress_s = PROGRESS_S,
                           .plant = s->plant};
    sim_result result = {.round_s = NULL};
    edgeps_err err = sim_run(p, &o, diag, &result);
    if (!err && result.rounds != SCRIPT_EPOCHS * s->rounds)
        err = diag_fail(diag, EDGEPS_INTERNAL, "%" PRId64 " rounds were made, not %" PRId64,
                        result.rounds, SCRIPT_EPOCHS * s->rounds);
    if (err == EDGEPS_INFEASIBLE && every_worker_may_end(s, p))
        err = EDGEPS_OK;
    else if (err == EDGEPS_INFEASIBLE)
        err = diag_fail(diag, EDGEPS_INTERNAL, "the job gave up though a worker was left");
    sim_result_free(&result);
    return err;
}

edgeps_err script_run(const script *s, edgeps_diag *diag)
{
    network *net = NULL;
    problem *p = NULL;
    edgeps_err err = make_problem(s, diag, &net, &p);
    if (!err)
        err = run_on(s, p, diag);
    problem_free(p);
    network_free(net);
    return err;
}

/* Keeps `candidate` when it, too, breaks an invariant. */
static edgeps_err keep_if_broken(const script *candidate, script *best, bool *kept)
{
    edgeps_err err = script_run(candidate, NULL);
    *kept = err == EDGEPS_INTERNAL;
    if (*kept)
        *best = *candidate;
    return *kept ? EDGEPS_OK : err;
}

static script without_fault(const script *s, size_t k)
{
    script less = *s;
    less.fault_count--;
    memmove(&less.faults[k], &less.faults[k + 1], (less.fault_count - k) * sizeof *less.faults);
    return less;
}

/* Without the last node and what befalls it. */
static script without_node(const script *s)
{
    script less = *s;
    less.nodes--;
    for (size_t k = less.fault_count; k-- > 0;)
        if (less.faults[k].node == (int32_t)less.nodes)
            less = without_fault(&less, k);
    return less;
}

static edgeps_err shrink_times(script *best)
{
    edgeps_err err = EDGEPS_OK;
    static const double units_s[] = {1, 0.1, 0.01, 0.001};
    for (size_t k = 0; !err && k < best->fault_count; k++)
        for (size_t u = 0; !err && u < sizeof units_s / sizeof *units_s; u++) {
            script less = *best;
            bool kept;
            less.faults[k].at_s = floor(less.faults[k].at_s / units_s[u]) * units_s[u];
            less.faults[k].amount_s = ceil(less.faults[k].amount_s / units_s[u]) * units_s[u];
            err = keep_if_broken(&less, best, &kept);
            if (kept)
                break;
        }
    return err;
}

/* One pass; each step leaves one thing out. */
static edgeps_err shrink_once(script *best, bool *smaller)
{
    edgeps_err err = EDGEPS_OK;
    bool kept = true;
    for (size_t k = best->fault_count; !err && k-- > 0;) {
        script less = without_fault(best, k);
        err = keep_if_broken(&less, best, &kept);
        *smaller |= kept;
    }
    for (kept = true; !err && kept && best->nodes > 2;) {
        script less = without_node(best);
        err = keep_if_broken(&less, best, &kept);
        *smaller |= kept;
    }
    for (kept = true; !err && kept && best->rounds > 1;) {
        script less = *best;
        less.rounds--;
        err = keep_if_broken(&less, best, &kept);
        *smaller |= kept;
    }
    return err;
}

edgeps_err script_shrink(const script *s, script *out)
{
    script best = *s;
    edgeps_err err = EDGEPS_OK;
    for (bool smaller = true; !err && smaller;) {
        smaller = false;
        err = shrink_once(&best, &smaller);
    }
    if (!err)
        err = shrink_times(&best);
    if (!err)
        *out = best;
    return err;
}

void script_text(const script *s, char text[SCRIPT_TEXT_BYTES])
{
    int at = snprintf(text, SCRIPT_TEXT_BYTES,
                      "edgeps-script 1\nseed %" PRIu64 "\nnodes %zu\nrounds %" PRId64 "\n", s->seed,
                      s->nodes, s->rounds);
    for (size_t k = 0; k < s->fault_count; k++) {
        const sim_fault *f = &s->faults[k];
        at += snprintf(text + at, SCRIPT_TEXT_BYTES - (size_t)at, "fault %.17g %s %d", f->at_s,
                       kinds[f->kind], (int)f->node);
        if (sim_fault_has_amount(f->kind))
            at += snprintf(text + at, SCRIPT_TEXT_BYTES - (size_t)at, " %.17g", f->amount_s);
        at += snprintf(text + at, SCRIPT_TEXT_BYTES - (size_t)at, "\n");
    }
}

/* A whole number from `least` to `most` that ends the line after `word` and a space. */
static bool read_number(const char *line, const char *word, uint64_t least, uint64_t most,
                        uint64_t *out)
{
    size_t length = strlen(word);
    if (strncmp(line, word, length) != 0 || line[length] != ' ' ||
        !isdigit((unsigned char)line[length + 1]))
        return false;
    char *end;
    errno = 0;
    *out = strtoull(line + length + 1, &end, 10);
    return !errno && !*end && *out >= least && *out <= most;
}

/* A time, which ends with `end`; NULL: there is none. */
static const char *read_seconds(const char *from, char end, double *out)
{
    char *rest;
    *out = strtod(from, &rest);
    return rest == from || *rest != end || !(*out >= 0 && *out <= 1e6) ? NULL : rest + (end != 0);
}

/* "KIND NODE", and the amount of kinds that have one. */
static bool read_kind(const char *text, size_t nodes, sim_fault *f)
{
    char words[128];
    uint64_t node;
    snprintf(words, sizeof words, "%s", text);
    char *last = strrchr(words, ' ');
    for (size_t k = 0; k < SIM_FAULT_KINDS; k++) {
        bool has_amount = sim_fault_has_amount((sim_fault_kind)k);
        if (strncmp(words, kinds[k], strlen(kinds[k])) != 0 || words[strlen(kinds[k])] != ' ')
            continue;
        if (has_amount && !read_seconds(last + 1, '\0', &f->amount_s))
            return false;
        if (has_amount)
            *last = '\0';
        f->kind = (sim_fault_kind)k;
        if (!read_number(words, kinds[k], 0, nodes - 1, &node))
            return false;
        f->node = (int32_t)node;
        return true;
    }
    return false;
}

/* "fault SECONDS KIND NODE [SECONDS]" */
static bool read_fault(const char *line, script *s)
{
    static const char word[] = "fault ";
    sim_fault f = {.at_s = 0};
    if (s->fault_count == SCRIPT_MOST_FAULTS || strncmp(line, word, sizeof word - 1) != 0)
        return false;
    const char *rest = read_seconds(line + sizeof word - 1, ' ', &f.at_s);
    if (!rest || !read_kind(rest, s->nodes, &f))
        return false;
    s->faults[s->fault_count++] = f;
    return true;
}

/* The first four lines are always the same kinds. */
static bool read_line(const char *line, int number, script *s)
{
    uint64_t value;
    switch (number) {
    case 1:
        return strcmp(line, "edgeps-script 1") == 0;
    case 2:
        return read_number(line, "seed", 0, UINT64_MAX, &s->seed);
    case 3:
        if (!read_number(line, "nodes", 2, SCRIPT_MOST_NODES, &value))
            return false;
        s->nodes = (size_t)value;
        return true;
    case 4:
        if (!read_number(line, "rounds", 1, SCRIPT_MOST_ROUNDS, &value))
            return false;
        s->rounds = (int64_t)value;
        return true;
    default:
        return read_fault(line, s);
    }
}

edgeps_err script_parse(const char *text, edgeps_diag *diag, script *out)
{
    script s = {.seed = 0};
    int number = 0;
    char line[128];
    while (*text || number < 4) {
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(length < 127 ? length : 127), text);
        if (length > 126 || !read_line(line, ++number, &s))
            return diag_fail(
                diag, EDGEPS_FORMAT,
                "line %d: a script has the lines 'edgeps-script 1', 'seed N', "
                "'nodes 2..%d', 'rounds 1..%d', then 'fault SECONDS KIND NODE', of some kinds with "
                "SECONDS at the end; this one is '%s'",
                number, SCRIPT_MOST_NODES, SCRIPT_MOST_ROUNDS, line);
        text += length + (text[length] == '\n');
    }
    *out = s;
    return EDGEPS_OK;
}
