#include "bench/predict_int.h"

#include "base/file.h"
#include "base/filter.h"
#include "base/mem.h"
#include "base/stats.h"
#include "formats/event_file.h"
#include "formats/network_json.h"
#include "formats/plan_json.h"
#include "meter/event.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_PRINTED ((size_t)1 << 20)
#define PATH_BYTES 4096

void predict_slow_down(network *net, double dilation)
{
    for (size_t i = 0; i < net->count; i++) {
        network_node *n = &net->nodes[i];
        n->up_bytes_per_s /= dilation;
        n->down_bytes_per_s /= dilation;
        n->compute_samples_per_s /= dilation;
        n->sum_bytes_per_s /= dilation;
        n->access_s *= dilation;
    }
    for (size_t k = 0; k < net->site_count * net->site_count; k++) {
        net->latency_s[k] *= dilation;
        net->cap_bytes_per_s[k] /= dilation;
    }
}

/* ---- what the run reads ---- */

static edgeps_err make_folder(const char *path, edgeps_diag *diag)
{
    if (mkdir(path, 0777) == 0)
        return EDGEPS_OK;
    if (errno == EEXIST)
        return diag_fail(diag, EDGEPS_USAGE,
                         "%s: is there from an earlier measurement; remove it, or give another "
                         "--out",
                         path);
    return diag_fail(diag, EDGEPS_IO, "%s: cannot be made: %s", path, strerror(errno));
}

static edgeps_err write_in(const char *folder, const char *name, const char *text,
                           edgeps_diag *diag)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return file_write_text(path, text, diag);
}

static edgeps_err write_network(const predict_trial *t, const char *folder, edgeps_diag *diag)
{
    network *slow = NULL;
    char *text = NULL;
    edgeps_err err = network_copy(t->net, &slow);
    if (!err) {
        predict_slow_down(slow, t->r->dilation);
        err = network_json_text(slow, &text);
    }
    if (!err)
        err = write_in(folder, "network.json", text, diag);
    mem_free(text);
    network_free(slow);
    return err;
}

static edgeps_err write_plan(const predict_trial *t, const char *folder, edgeps_diag *diag)
{
    char *text = NULL;
    const plan_json_facts facts = {.network = t->net,
                                   .plan = &t->choice->plan,
                                   .job = &t->p->job,
                                   .seed = t->choice->seed,
                                   .max_locals = t->p->max_locals,
                                   .round_s = t->choice->round_s,
                                   .epoch_s = t->choice->round_s * (double)t->p->rounds};
    edgeps_err err = plan_json_text(&facts, &text);
    if (!err)
        err = write_in(folder, "plan.json", text, diag);
    mem_free(text);
    return err;
}

/* ---- the run ---- */

/* As one word of the shell. */
static void put_quoted(const char *text, FILE *out)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static edgeps_err make_command(const predict_trial *t, const char *folder, char **command)
{
    const predict_request *r = t->r;
    size_t length = 0;
    FILE *out = open_memstream(command, &length);
    if (!out)
        return EDGEPS_NOMEM;
    fputs("cd ", out);
    put_quoted(folder, out);
    fputs(" && exec ", out);
    fprintf(out,
            "/proc/%d/exe run network.json --lab netns --algo 'exec:cat plan.json' --no-polish "
            "--adjust off --suspect 30 --silent 60 --out run --max-locals %zu --transfer %s "
            "--samples %" PRId64 " --batch %" PRId64 " --epochs %" PRId64 " --seed %" PRIu64
            " --model %s%s%s --data ",
            (int)getpid(), t->p->max_locals, job_transfer_name(t->p->job.transfer),
            t->p->job.sample_count, t->p->job.batch_samples, r->epochs, r->seed, t->p->job.model,
            t->check ? "" : " --no-check", r->force ? " --force" : "");
    put_quoted(r->data_folder, out);
    fputs(" 2>&1", out);
    return fclose(out) ? EDGEPS_NOMEM : EDGEPS_OK;
}

/* The interrupts are blocked meanwhile. */
static bool go_on(void *watched)
{
    sigset_t pending;
    (void)watched;
    return sigpending(&pending) ||
           !(sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM));
}

/* The last line says why. */
static edgeps_err ended_badly(const char *folder, const filter_output *printed, edgeps_diag *diag)
{
    char *text = printed->text, *end = text + printed->length;
    while (end > text && end[-1] == '\n')
        *--end = '\0';
    const char *line = strrchr(text, '\n');
    return diag_fail(diag, printed->exit_status == 3 ? EDGEPS_INFEASIBLE : EDGEPS_IO, "%s: %s",
                     folder, line ? line + 1 : text);
}

static edgeps_err train(const predict_trial *t, const char *folder, edgeps_diag *diag)
{
    char *command = NULL;
    filter_output printed = {0};
    const filter_limits limits = {.most_bytes = MOST_PRINTED, .go_on = go_on};
    edgeps_err err = make_command(t, folder, &command);
    if (!err)
        err = filter_run(command, "", &limits, diag, &printed);
    if (err == EDGEPS_CANCELLED)
        diag_fail(diag, err, "interrupted");
    else if (!err && printed.exit_status)
        err = ended_badly(folder, &printed, diag);
    mem_free(printed.text);
    free(command);
    return err;
}

/* ---- what it leaves ---- */

typedef struct epochs {
    double seconds[PREDICT_MOST_EPOCHS];
    size_t count;
    bool other_plan; /* a lost node has changed it */
} epochs;

static void note_epoch(void *context, const meter_event *event)
{
    epochs *e = context;
    e->other_plan |= event->kind == METER_EPOCH && event->generation != 1;
    if (event->kind == METER_EPOCH && event->measured.epoch > 1 && e->count < PREDICT_MOST_EPOCHS)
        e->seconds[e->count++] = event->measured.measured_s;
}

static edgeps_err read_epochs(const predict_trial *t, const char *folder, edgeps_diag *diag,
                              predict_row *row)
{
    char path[PATH_BYTES];
    bool cut = false;
    epochs e = {.count = 0};
    snprintf(path, sizeof path, "%s/run/events.jsonl", folder);
    edgeps_err err = event_file_read(path, diag, note_epoch, &e, &cut);
    if (err)
        return err;
    if (e.count != (size_t)t->r->epochs - 1)
        return diag_fail(diag, EDGEPS_INTERNAL, "%s: %zu epochs after the first, not %" PRId64,
                         path, e.count, t->r->epochs - 1);
    if (e.other_plan)
        return diag_fail(diag, EDGEPS_IO, "%s: a node was lost, and the plan is another", path);
    stats_sort(e.seconds, e.count);
    row->fastest_s = e.seconds[0] / t->r->dilation;
    row->emulated_s = stats_quantile(e.seconds, e.count, 0.5) / t->r->dilation;
    row->slowest_s = e.seconds[e.count - 1] / t->r->dilation;
    return EDGEPS_OK;
}

static void take_text(const json_t *check, const char *key, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(check, key));
    snprintf(text, size, "%s", value ? value : "");
}

static edgeps_err read_origin(const char *folder, edgeps_diag *diag, predict_origin *out)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/run/lab-check.json", folder);
    json_t *check = json_load_file(path, 0, NULL);
    if (!check)
        return diag_fail(diag, EDGEPS_IO, "%s: cannot be read", path);
    take_text(check, "kernel", out->kernel, sizeof out->kernel);
    take_text(check, "qdisc", out->qdisc, sizeof out->qdisc);
    take_text(check, "congestion_control", out->congestion_control, sizeof out->congestion_control);
    json_decref(check);
    return EDGEPS_OK;
}

edgeps_err predict_emulate(const predict_trial *t, edgeps_diag *diag, predict_row *row)
{
    char folder[PATH_BYTES];
    int length = snprintf(folder, sizeof folder, "%s/runs/%s", t->r->out_folder, t->name);
    if (length < 0 || (size_t)length >= sizeof folder - 64)
        return diag_fail(diag, EDGEPS_USAGE, "--out: is too long");
    edgeps_err err = make_folder(folder, diag);
    if (!err)
        err = write_network(t, folder, diag);
    if (!err)
        err = write_plan(t, folder, diag);
    if (!err)
        err = train(t, folder, diag);
    if (!err)
        err = read_epochs(t, folder, diag, row);
    if (!err && t->check)
        err = read_origin(folder, diag, &row->origin);
    return err;
}
