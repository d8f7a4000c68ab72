#include "node/host_int.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "formats/event_json.h"
#include "formats/plan_json.h"
#include "formats/record_json.h"
#include "store/safetensors.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* A line that a crash has cut off would spoil the one that follows it. */
static bool drop_cut_line(FILE *events)
{
    long end;
    if (fseek(events, 0, SEEK_END))
        return false;
    for (end = ftell(events); end > 0; end--)
        if (fseek(events, end - 1, SEEK_SET) || getc(events) == '\n')
            break;
    return end >= 0 && ftruncate(fileno(events), end) == 0 && fseek(events, 0, SEEK_END) == 0;
}

edgeps_err record_open(host *h)
{
    const host_options *o = h->options;
    char path[4096];
    snprintf(path, sizeof path, "%s/job.db", o->out_dir);
    edgeps_err err = coord_open(path, h->diag, &h->coord);
    if (err)
        return err;
    snprintf(path, sizeof path, "%s/events.jsonl", o->out_dir);
    h->events = fopen(path, o->resume ? "a+e" : "we");
    if (!h->events || (o->resume && !drop_cut_line(h->events)))
        return diag_fail(h->diag, EDGEPS_IO, "%s: cannot be written: %s", path, strerror(errno));
    h->tally.accuracy = NAN;
    return EDGEPS_OK;
}

void record_start(host *h)
{
    const host_options *o = h->options;
    h->started = true;
    record_event(h, (meter_event){.kind = METER_START,
                                  .network = o->net->name ? o->net->name : "",
                                  .model = o->job.model,
                                  .seed = o->seed,
                                  .epochs = o->epochs,
                                  .rounds = h->rounds,
                                  .workers = h->shard_count,
                                  .text = job_transfer_name(o->job.transfer)});
}

/* What has no room waits for the next event; a line that is cut off meanwhile is made whole then.
 */
static void write_lines(host *h)
{
    ssize_t done = 1;
    size_t at = 0;
    while (at < h->lines_bytes && done > 0) {
        done = write(fileno(h->events), h->lines + at, h->lines_bytes - at);
        at += done > 0 ? (size_t)done : 0;
    }
    if (at > 0)
        memmove(h->lines, h->lines + at, h->lines_bytes - at);
    h->lines_bytes -= at;
}

static void append(host *h, const char *line)
{
    size_t bytes = strlen(line);
    char *lines = mem_resize(h->lines, h->lines_bytes + bytes + 1, 1);
    if (!lines)
        return;
    h->lines = lines;
    memcpy(lines + h->lines_bytes, line, bytes);
    lines[h->lines_bytes + bytes] = '\n';
    h->lines_bytes += bytes + 1;
}

void record_close(host *h)
{
    if (h->events && h->lines_bytes > 0)
        log_line(LOG_WARNING, "the last events have no room in %s", h->options->out_dir);
    if (h->events)
        fclose(h->events);
    mem_free(h->lines);
    h->lines = NULL;
    h->events = NULL;
    coord_close(h->coord);
}

void record_event(host *h, meter_event event)
{
    event.time_s = clock_since_s(h->begun_ns);
    char *line;
    if (event.kind != METER_ROUND && h->events && !event_json_text(&event, NULL, &line)) {
        /* Line by line, so that a crash costs at most the line under way. */
        append(h, line);
        write_lines(h);
        mem_free(line);
    }
    h->options->observe(h->options->observer, &event);
}

void record_move(host *h, const adapt_move *m, double seconds, double frozen_s)
{
    record_event(
        h, (meter_event){.kind = METER_MOVE,
                         .epoch = h->now_epoch,
                         .generation = h->planning.plan.generation,
                         .role = m->role == ADAPT_GLOBAL ? "global" : "local",
                         .from = h->move_source == PLAN_NONE ? "" : host_name(h, h->move_source),
                         .to = host_name(h, m->to),
                         .bytes = m->bytes,
                         .seconds = seconds,
                         .frozen_s = frozen_s,
                         .text = h->planning.cause});
}

static void list_locals(const host *h, const plan *pl, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t j = 0; j < pl->count && used < size; j++)
        if (plan_is_local(pl, j))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     host_name(h, (int64_t)j));
}

static void write_plan(host *h, const plan *pl, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/plans/plan-%llu.json", h->options->out_dir,
             (unsigned long long)pl->generation);
    FILE *file = fopen(path, "we");
    bool good = file && fprintf(file, "%s\n", text) > 0;
    if (file && fclose(file))
        good = false;
    if (good)
        return;
    edgeps_diag diag = {.text = ""};
    diag_fail(&diag, EDGEPS_IO, "%s: cannot be written: %s", path, strerror(errno));
    remove(path);
    record_event(h, (meter_event){.kind = METER_WARNING, .text = diag.text});
}

/* The one record that makes a generation valid is the coordination store's; the file is for people
 * and tools. */
edgeps_err record_plan(host *h, const plan *pl, int32_t standby)
{
    const planning *p = &h->planning;
    const record_json record = {.job = h->stamp.job, .standby = standby};
    char *text = NULL, *record_text = NULL, locals[1024];
    const char *reasons[] = {p->reason};
    plan_json_facts facts = {.network = h->options->net,
                             .plan = pl,
                             .job = &h->options->job,
                             .round_s = p->round_s,
                             .epoch_s = p->round_s * (double)h->rounds,
                             .lower_bound_s = p->bound_s,
                             .reasons = reasons,
                             .reason_count = 1};
    edgeps_err err = plan_json_text(&facts, &text);
    if (!err)
        err = record_json_text(&record, &facts, &record_text);
    if (err)
        diag_fail(h->diag, err, "no memory for the plan's text");
    else
        err = coord_commit(h->coord, h->coordinator.plan.generation, pl->generation, record_text,
                           h->diag);
    if (!err)
        write_plan(h, pl, text);
    mem_free(text);
    mem_free(record_text);
    if (err)
        return err;
    list_locals(h, pl, locals, sizeof locals);
    record_event(h, (meter_event){.kind = METER_PLAN,
                                  .epoch = h->now_epoch,
                                  .generation = pl->generation,
                                  .global = host_name(h, pl->global),
                                  .locals = locals,
                                  .predicted_round_s = p->round_s,
                                  .bound_s = p->bound_s,
                                  .text = p->reason});
    return EDGEPS_OK;
}

void record_epoch(host *h, int64_t epoch)
{
    const tally *t = &h->tally;
    double workers = t->workers ? (double)t->workers : 1;
    meter_epoch m = {.epoch = epoch,
                     .rounds = h->rounds,
                     .workers = t->workers,
                     .samples = t->done.samples,
                     .measured_s = t->measured_s,
                     .predicted_s =
                         h->options->emulate ? h->predicted_round_s * (double)h->rounds : NAN,
                     .compute_s = t->done.compute_s / workers,
                     .push_s = t->done.push_s / workers,
                     .sum_s = t->sum_s,
                     .pull_s = t->done.pull_s / workers,
                     .wait_s = t->done.wait_s / workers,
                     .move_s = t->move_s,
                     .loss = t->done.samples ? t->done.loss / (double)t->done.samples : NAN,
                     .accuracy = t->accuracy};
    record_event(h, (meter_event){.kind = METER_EPOCH,
                                  .epoch = epoch,
                                  .generation = h->coordinator.plan.generation,
                                  .measured = m});
    h->tally.move_s = 0;
}

/* The model as PyTorch names its tensors; `of` has the names. */
static size_t list_tensors(const host *h, nn_kind kind, nn_tensor *of, safetensors_tensor *tensors)
{
    size_t count = 0;
    for (; count < NN_TENSORS_MOST && nn_tensor_at(kind, count, &of[count]); count++) {
        const nn_tensor *t = &of[count];
        tensors[count] = (safetensors_tensor){.name = t->name,
                                              .dtype = "F32",
                                              .rank = t->rank,
                                              .start = h->saved.parameters + t->offset,
                                              .bytes = (uint64_t)t->count * sizeof(float)};
        memcpy(tensors[count].shape, t->shape, sizeof t->shape);
    }
    return count;
}

edgeps_err record_model(host *h)
{
    char path[4096], whole[4096];
    nn_kind kind;
    nn_tensor of[NN_TENSORS_MOST];
    safetensors_tensor tensors[NN_TENSORS_MOST];
    edgeps_err err = nn_kind_of(h->options->job.model, h->diag, &kind);
    if (err)
        return err;
    safetensors file = {.tensors = tensors,
                        .tensor_count = list_tensors(h, kind, of, tensors),
                        .notes = (safetensors_note[]){{"model", h->options->job.model}},
                        .note_count = 1};
    snprintf(path, sizeof path, "%s/model.safetensors.part", h->options->out_dir);
    err = safetensors_write(path, &file, h->diag);
    snprintf(whole, sizeof whole, "%s/model.safetensors", h->options->out_dir);
    if (!err && rename(path, whole))
        err = diag_fail(h->diag, EDGEPS_IO, "%s: cannot be written: %s", whole, strerror(errno));
    return err;
}

bool record_can_wait(edgeps_err err) { return err == EDGEPS_FULL || err == EDGEPS_IO; }

void record_warning(host *h, bool *told, const char *what)
{
    char text[sizeof h->diag->text + 128];
    if (*told)
        return;
    *told = true;
    snprintf(text, sizeof text, "%s: %s", what, h->diag->text);
    record_event(h, (meter_event){.kind = METER_WARNING, .text = text});
}
