#include "node/host_int.h"

#include "base/clock.h"
#include "base/mem.h"
#include "store/checkpoint.h"

#include <math.h>
#include <string.h>

enum { SCORE_BATCH = 64, OBSERVED = 1024 }; /* samples */

static edgeps_err make_state(host_state *s, const job *j)
{
    s->parameters = mem_alloc((size_t)j->parameter_count, sizeof(float));
    s->velocity = mem_alloc((size_t)j->parameter_count, sizeof(float));
    s->versions = mem_alloc((size_t)job_chunk_count(j), sizeof *s->versions);
    return s->parameters && s->velocity && s->versions ? EDGEPS_OK : EDGEPS_NOMEM;
}

static void free_state(host_state *s)
{
    mem_free(s->parameters);
    mem_free(s->velocity);
    mem_free(s->versions);
}

static void checkpoint_dir(const host *h, char *dir, size_t size)
{
    snprintf(dir, size, "%s/checkpoints", h->options->out_dir);
}

static void initialise(host *h)
{
    nn_kind kind;
    if (!nn_kind_of(h->options->job.model, NULL, &kind))
        nn_initialise(kind, h->options->seed, h->saved.parameters);
}

static edgeps_err load(host *h)
{
    const job *j = &h->options->job;
    char dir[4096];
    checkpoint cp;
    checkpoint_dir(h, dir, sizeof dir);
    edgeps_err err = checkpoint_load_newest(dir, h->diag, &cp);
    if (err)
        return err;
    if (!cp.parameters) { /* interrupted before the first one: from the beginning */
        initialise(h);
        return EDGEPS_OK;
    }
    if (cp.parameter_count != j->parameter_count || strcmp(cp.model, j->model) != 0) {
        err = diag_fail(h->diag, EDGEPS_FORMAT,
                        "%s: the checkpoint is of model %s with %lld "
                        "parameters, the job's is %s",
                        dir, cp.model, (long long)cp.parameter_count, j->model);
    } else {
        size_t bytes = (size_t)job_parameter_bytes(j);
        memcpy(h->saved.parameters, cp.parameters, bytes);
        memcpy(h->saved.velocity, cp.velocity, bytes);
        h->saved.round = cp.round;
    }
    checkpoint_free(&cp);
    return err;
}

edgeps_err transfer_make(host *h)
{
    const job *j = &h->options->job;
    nn_kind kind;
    edgeps_err err = nn_kind_of(j->model, h->diag, &kind);
    if (!err)
        err = nn_model_make(kind, nn_dataset_image(h->data),
                            h->options->reference_backend ? NN_REF : NN_DNNL, SCORE_BATCH, h->diag,
                            &h->scorer);
    if (err)
        return err;
    if (make_state(&h->saved, j) || make_state(&h->incoming, j))
        return diag_fail(h->diag, EDGEPS_NOMEM, "no memory for the model");
    if (h->options->resume)
        err = load(h);
    else
        initialise(h);
    for (int64_t k = 0; k < job_chunk_count(j); k++)
        h->saved.versions[k] = h->saved.round;
    return err;
}

void transfer_free(host *h)
{
    free_state(&h->saved);
    free_state(&h->incoming);
    nn_model_free(h->scorer);
}

static uint32_t children_of(const plan *pl, const adapt_move *m)
{
    if (m->role == ADAPT_GLOBAL)
        return (uint32_t)plan_local_count(pl);
    uint32_t count = 0;
    for (size_t i = 0; i < pl->count; i++)
        count += pl->parent[i] == m->to;
    return count;
}

/* Sends the newest checkpoint's state, as far as the role needs it. */
static edgeps_err send_saved(host *h, const adapt_move *m)
{
    message_role role = m->role == ADAPT_GLOBAL ? MESSAGE_GLOBAL : MESSAGE_LOCAL;
    state_view view = {.role = role,
                       .parameters = h->saved.parameters,
                       .velocity = role == MESSAGE_GLOBAL ? h->saved.velocity : NULL,
                       .versions = h->saved.versions};
    state_label label = {.role = role,
                         .generation = h->planning.plan.generation,
                         .number = h->move_begun_ns,
                         .children = children_of(&h->planning.plan, m)};
    return state_send(h->of_node[m->to]->conn, &h->stamp, &h->options->job, &view, &label);
}

/* Where a state comes from: the server's node; for a global server that is lost in an epoch the
 * standby, which knows the epoch's rounds; else the newest checkpoint here (PLAN_NONE). */
static int32_t source_of(const host *h, const adapt_move *m)
{
    bool in_epoch = m->role == ADAPT_GLOBAL && h->coordinator.epoch_begun;
    if (m->from != PLAN_NONE || !in_epoch || h->standby == PLAN_NONE)
        return m->from;
    return h->of_node[h->standby] ? h->standby : PLAN_NONE;
}

/* Later moves need the room that the server left. Until the commit only the checkpoint can bring a
 * released global server back. */
static void release(host *h, const adapt_move *m)
{
    bool global = m->role == ADAPT_GLOBAL;
    wire_writer w = {0};
    message_put_move(&w, &(message_move){.role = global ? MESSAGE_GLOBAL : MESSAGE_LOCAL});
    host_send(h, (size_t)m->from, MESSAGE_RELEASE, 0, 0, &w);
    h->homeless |= global;
    h->released[m->from] |= !global;
}

static void released(host *h)
{
    drive_post(h, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = true});
}

/* The word is given to both ends: what they still do for this move counts no more. */
static void abandon(host *h, const adapt_move *m)
{
    host_send(h, (size_t)m->to, MESSAGE_ABANDON, 0, h->move_begun_ns, NULL);
    if (h->move_source != PLAN_NONE)
        host_send(h, (size_t)h->move_source, MESSAGE_ABANDON, 0, h->move_begun_ns, NULL);
}

/* How long the server has done nothing for the move under way: all the time, where it is gone or
 * the job waits for the moves; else since it stands still. */
static double frozen_seconds(const host *h)
{
    bool serves = h->coordinator.epoch_begun && h->move->from != PLAN_NONE;
    if (!serves)
        return clock_since_s(h->move_begun_ns);
    return h->move_still_ns ? clock_since_s(h->move_still_ns) : 0;
}

/* The move under way has come to its end. */
static void move_ended(host *h, bool ok, const char *text)
{
    const adapt_move *m = h->move;
    double seconds = clock_since_s(h->move_begun_ns), frozen_s = frozen_seconds(h);
    h->move = NULL;
    h->tally.move_s += frozen_s;
    char warning[512];
    snprintf(warning, sizeof warning, "a server could not move to %s: %s", host_name(h, m->to),
             text);
    if (ok && m->releases && m->from != PLAN_NONE)
        release(h, m);
    if (!ok) {
        abandon(h, m);
        h->standby = PLAN_NONE; /* the checkpoint is the surer source */
        record_event(h, (meter_event){.kind = METER_WARNING, .text = warning});
    }
    if (ok && h->planning.why != COORDINATOR_FIRST) /* servers that begin have not moved */
        record_move(h, m, seconds, frozen_s);
    if (ok && m->releases && m->from != PLAN_NONE)
        replan_measure(h, released); /* the next move may need the room: it must be there */
    else
        drive_post(h, (coordinator_event){.kind = COORDINATOR_MOVED, .ok = ok});
}

void transfer_move(host *h, size_t index)
{
    const adapt_move *m = &h->planning.moves[index];
    h->move = m;
    h->move_source = source_of(h, m);
    h->move_begun_ns = clock_now_ns();
    h->move_still_ns = 0;
    bool here = h->of_node[m->to] && (h->move_source == PLAN_NONE || h->of_node[h->move_source]);
    if (!here) {
        move_ended(h, false, "the source or the target is gone");
        return;
    }
    if (h->move_source == PLAN_NONE) {
        if (send_saved(h, m))
            move_ended(h, false, "its connection broke");
        return;
    }
    wire_writer w = {0};
    message_put_move(&w, &(message_move){.role = (uint8_t)(m->role == ADAPT_GLOBAL ? MESSAGE_GLOBAL
                                                                                   : MESSAGE_LOCAL),
                                         .node = (uint32_t)m->to,
                                         .port = h->of_node[m->to]->last.port,
                                         .children = children_of(&h->planning.plan, m)});
    host_send(h, (size_t)h->move_source, MESSAGE_MOVE, h->planning.plan.generation,
              h->move_begun_ns, &w);
}

/* Both ends may report that the connection between them broke; an answer to an earlier move may be
 * late. */
void transfer_moved(host *h, int64_t number, bool ok, const char *text)
{
    if (h->move && number == h->move_begun_ns)
        move_ended(h, ok, text);
}

void transfer_still(host *h, int64_t number)
{
    if (h->move && number == h->move_begun_ns)
        h->move_still_ns = clock_now_ns();
}

void transfer_abandon(host *h)
{
    if (h->move)
        abandon(h, h->move);
    h->move = NULL;
}

static void end_save(host *h, bool ok)
{
    h->saving = false;
    drive_post(h, (coordinator_event){.kind = COORDINATOR_SAVED, .ok = ok});
}

void transfer_lost(host *h, size_t node)
{
    const adapt_move *m = h->move;
    if (m && (m->to == (int32_t)node || h->move_source == (int32_t)node))
        move_ended(h, false, "the source or the target is gone");
    if (h->saving && h->coordinator.plan.global == (int32_t)node) {
        h->arrival.open = false;
        end_save(h, false);
    }
}

static void ask_for_state(host *h)
{
    host_send(h, (size_t)h->coordinator.plan.global, MESSAGE_SAVE, h->coordinator.plan.generation,
              h->incoming.round, NULL);
}

/* First what the agents measured in the epoch, then the state of the global server. */
void transfer_save(host *h, int64_t round)
{
    h->saving = true;
    h->incoming.round = round;
    replan_measure(h, ask_for_state);
}

/* A batch of samples in buffers that are used again. */
typedef struct samples {
    uint32_t indices[SCORE_BATCH];
    uint8_t labels[SCORE_BATCH];
    float *images;
} samples;

/* What batch norm goes by in scoring: samples that lie evenly in those that are trained on, so that
 * it depends on the parameters alone and not on how many workers there are. */
static edgeps_err observe(host *h, samples *s)
{
    size_t all = (size_t)h->options->job.sample_count, some = all < OBSERVED ? all : OBSERVED;
    edgeps_err err = EDGEPS_OK;
    nn_forget(h->scorer);
    for (size_t from = 0; !err && from < some; from += SCORE_BATCH) {
        size_t n = some - from < SCORE_BATCH ? some - from : SCORE_BATCH;
        for (size_t k = 0; k < n; k++)
            s->indices[k] = (uint32_t)((from + k) * all / some);
        nn_dataset_batch(h->data, NN_TRAIN, s->indices, n, s->images, s->labels);
        err = nn_observe(h->scorer, h->saved.parameters, &(nn_batch){s->images, s->labels, n});
    }
    return err;
}

static void score(void *ctx)
{
    host *h = ctx;
    size_t count = nn_dataset_count(h->data, NN_TEST), correct = 0;
    size_t values = nn_image_values(nn_dataset_image(h->data));
    samples s = {.images = mem_alloc(SCORE_BATCH * values, sizeof *s.images)};
    bool good = s.images && !observe(h, &s);
    for (size_t from = 0; good && from < count; from += SCORE_BATCH) {
        size_t n = count - from < SCORE_BATCH ? count - from : SCORE_BATCH, right = 0;
        double loss;
        for (size_t k = 0; k < n; k++)
            s.indices[k] = (uint32_t)(from + k);
        nn_dataset_batch(h->data, NN_TEST, s.indices, n, s.images, s.labels);
        good = !nn_score(h->scorer, h->saved.parameters, &(nn_batch){s.images, s.labels, n}, &right,
                         &loss);
        correct += right;
    }
    h->tally.accuracy = good && count ? (double)correct / (double)count : NAN;
    mem_free(s.images);
}

static void scored(void *ctx)
{
    host *h = ctx;
    if (!h->ended)
        end_save(h, true);
}

/* Without it the job goes on: the older one is still valid, and the next epoch brings another. */
static void write_checkpoint(host *h, uint64_t generation)
{
    const job *j = &h->options->job;
    char dir[4096];
    checkpoint_dir(h, dir, sizeof dir);
    checkpoint cp = {.generation = generation,
                     .round = h->saved.round,
                     .epoch = h->saved.round / h->rounds,
                     .job = h->stamp.job,
                     .model = (char *)j->model,
                     .parameter_count = j->parameter_count,
                     .parameters = h->saved.parameters,
                     .velocity = h->saved.velocity};
    edgeps_diag diag = {.text = ""};
    if (!checkpoint_write(dir, &cp, JOB_CHECKPOINTS_KEPT, &diag)) {
        record_event(h,
                     (meter_event){.kind = METER_CHECKPOINT, .epoch = h->now_epoch, .text = dir});
        return;
    }
    diag_wrap(&diag, EDGEPS_IO, "no checkpoint of epoch %lld, the one before stays",
              (long long)cp.epoch);
    record_event(h, (meter_event){.kind = METER_WARNING, .text = diag.text});
}

static void arrived(host *h, const message_state *end, uint64_t generation)
{
    edgeps_err err = state_finish(&h->arrival, &h->options->job, end, h->diag);
    if (!err) {
        host_state fresh = h->incoming;
        h->incoming = h->saved;
        h->saved = fresh;
        write_checkpoint(h, generation);
    }
    if (!err && loop_work(h->loop, score, scored, h))
        err = diag_fail(h->diag, EDGEPS_NOMEM, "no memory to score the model");
    if (err)
        host_fail(h, err);
}

bool transfer_frame(host *h, member *m, const wire_header *header, const void *payload)
{
    message_state mark;
    if (!h->saving || m->node != h->coordinator.plan.global)
        return false;
    switch (header->type) {
    case MESSAGE_STATE_BEGIN:
        state_expect(&h->arrival, &h->options->job,
                     (state_view){.role = MESSAGE_GLOBAL,
                                  .parameters = h->incoming.parameters,
                                  .velocity = h->incoming.velocity,
                                  .versions = h->incoming.versions});
        return true;
    case MESSAGE_STATE_PARAMETERS:
    case MESSAGE_STATE_VELOCITY:
        state_took(&h->arrival, header);
        return true;
    case MESSAGE_STATE_END:
        if (!message_get_state(payload, header->length, &mark))
            return false;
        arrived(h, &mark, header->generation);
        return true;
    default:
        return false;
    }
}
