/* What a coordinator leaves for the one that follows it, should it be killed, and how that one
 * takes over. The plan is in the record of its generation; facts are what changes without a plan:
 *   job           who belongs to it
 *   port          where agents look for the coordinator; 0: none is missed
 *   incarnations  per node, where it is above 1
 *   start_epoch   epochs that were over when the job's agents were started
 *   epoch         the last that began, and when by the wall clock
 *   scenario      likewise for the scenario's timed lines
 * Which epochs are over stands in the events: so each is told once. */
#include "node/host_int.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "formats/event_file.h"
#include "formats/record_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static edgeps_err get(const host *h, const char *key, char *text, size_t size)
{
    char *value = NULL;
    edgeps_err err = coord_get(h->coord, key, h->diag, &value);
    if (!err)
        snprintf(text, size, "%s", value ? value : "");
    mem_free(value);
    return err;
}

static edgeps_err get_number(const host *h, const char *key, int base, uint64_t *out)
{
    char text[64];
    edgeps_err err = get(h, key, text, sizeof text);
    if (!err)
        *out = strtoull(text, NULL, base);
    return err;
}

static edgeps_err set_number(const host *h, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return coord_set(h->coord, key, text, h->diag);
}

static edgeps_err write_incarnations(const host *h)
{
    size_t used = 0, room = 12 * h->net->count + 1;
    char *text = mem_alloc(room, 1);
    if (!text)
        return diag_fail(h->diag, EDGEPS_NOMEM, "no memory for the incarnations");
    for (size_t i = 0; i < h->net->count; i++)
        used += (size_t)snprintf(text + used, room - used, "%" PRIu32 " ", h->incarnation[i]);
    edgeps_err err = coord_set(h->coord, "incarnations", text, h->diag);
    mem_free(text);
    return err;
}

static edgeps_err read_incarnations(host *h)
{
    char *text = NULL;
    edgeps_err err = coord_get(h->coord, "incarnations", h->diag, &text);
    char *at = text ? text : "";
    for (size_t i = 0; !err && i < h->net->count; i++) {
        uint32_t stored = (uint32_t)strtoul(at, &at, 10);
        h->incarnation[i] = stored ? stored : 1;
    }
    mem_free(text);
    return err;
}

edgeps_err takeover_elapsed(host *h, const char *key, int64_t *number, double *elapsed_s)
{
    char text[64];
    edgeps_err err = get(h, key, text, sizeof text);
    if (err)
        return err;
    const char *when = strchr(text, ' ');
    *number = strtoll(text, NULL, 10);
    /* The wall clock may have been set back since. */
    *elapsed_s = when ? fmax(clock_wall_s() - strtod(when, NULL), 0) : NAN;
    return EDGEPS_OK;
}

static void find_last_epoch(void *context, const meter_event *event)
{
    int64_t *last = context;
    if (event->kind == METER_EPOCH && event->measured.epoch > *last)
        *last = event->measured.epoch;
}

/* Where the coordinator before was: which epoch, and whether its rounds may run. */
static edgeps_err read_epoch(host *h, coordinator_options *co)
{
    char path[4096];
    uint64_t over = 0;
    int64_t begun = 0;
    double elapsed_s = 0;
    bool cut = false;
    snprintf(path, sizeof path, "%s/events.jsonl", h->options->out_dir);
    edgeps_err err = get_number(h, "start_epoch", 10, &over);
    co->start_epoch = (int64_t)over;
    if (!err)
        err = takeover_elapsed(h, "epoch", &begun, &elapsed_s);
    if (!err)
        err = event_file_read(path, h->diag, find_last_epoch, &co->start_epoch, &cut);
    if (err)
        return err;
    co->epoch_begun = begun > co->start_epoch;
    if (co->epoch_begun)
        h->tally.begun_ns = clock_now_ns() - (int64_t)(elapsed_s * CLOCK_NS_PER_S);
    return EDGEPS_OK;
}

static edgeps_err read_plan(host *h, coordinator_options *co, plan *in_force)
{
    char *text = NULL;
    record_json r;
    edgeps_err err = coord_record(h->coord, co->start_generation, h->diag, &text);
    if (err || !text)
        return err;
    err = record_json_parse(text, strlen(text), h->options->net, h->diag, &r);
    mem_free(text);
    if (err)
        return diag_wrap(h->diag, err, "%s/job.db: generation %" PRIu64, h->options->out_dir,
                         co->start_generation);
    if (r.job != h->stamp.job) { /* of an earlier part of the run: this job has no plan yet */
        plan_free(&r.plan);
        return EDGEPS_OK;
    }
    *in_force = r.plan;
    h->standby = r.standby;
    h->planning.round_s = r.round_s;
    return EDGEPS_OK;
}

/* Nothing, where nobody is missed: the coordinator before ended by itself, or had no plan. */
static edgeps_err read_all(host *h, coordinator_options *co, plan *in_force)
{
    uint64_t port = 0;
    edgeps_err err = get_number(h, "port", 10, &port);
    if (err || port == 0)
        return err;
    uint64_t own_job = h->stamp.job;
    err = get_number(h, "job", 16, &h->stamp.job);
    if (!err)
        err = read_plan(h, co, in_force);
    if (err || in_force->global == PLAN_NONE) {
        h->stamp.job = own_job;
        return err;
    }
    h->follows = true;
    h->port = (int)port;
    co->in_force = in_force;
    err = read_incarnations(h);
    return err ? err : read_epoch(h, co);
}

edgeps_err takeover_make(host *h, coordinator_options *co, bool follow)
{
    plan in_force = {.global = PLAN_NONE};
    edgeps_err err = follow ? read_all(h, co, &in_force) : EDGEPS_OK;
    if (!err && h->follows && h->options->port && h->options->port != h->port)
        err = diag_fail(h->diag, EDGEPS_USAGE,
                        "--port: the agents of this run look for their coordinator at port %d; "
                        "leave it out",
                        h->port);
    if (!err && coordinator_make(co, &h->coordinator))
        err = diag_fail(h->diag, EDGEPS_NOMEM, "no memory for the coordinator");
    plan_free(&in_force);
    return err;
}

edgeps_err takeover_mark(host *h)
{
    char digits[24];
    if (h->follows)
        return EDGEPS_OK;
    snprintf(digits, sizeof digits, "%016" PRIx64, h->stamp.job);
    edgeps_err err = coord_set(h->coord, "job", digits, h->diag);
    if (!err)
        err = coord_set(h->coord, "epoch", "0", h->diag);
    if (!err)
        err = coord_set(h->coord, "scenario", "", h->diag);
    if (!err)
        err = coord_set(h->coord, "incarnations", "", h->diag);
    if (!err)
        err = set_number(h, "start_epoch", (uint64_t)h->now_epoch - 1);
    /* The last one: with it the others count. */
    int port = h->options->orphan_s > 0 ? loop_listener_port(h->listener) : 0;
    return err ? err : set_number(h, "port", (uint64_t)port);
}

void takeover_unmark(host *h)
{
    edgeps_diag diag = {.text = ""};
    if (coord_set(h->coord, "port", "0", &diag))
        log_line(LOG_WARNING, "--resume will look for agents that are gone: %s", diag.text);
}

void takeover_note_time(host *h, const char *key, int64_t number)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRId64 " %.3f", number, clock_wall_s());
    edgeps_err err = coord_set(h->coord, key, text, h->diag);
    if (record_can_wait(err))
        record_warning(h, &h->unnoted, "who takes over would not know of this epoch");
    else if (err)
        host_fail(h, err);
    h->unnoted &= err != EDGEPS_OK;
}

edgeps_err takeover_new_process(host *h, size_t node)
{
    /* The first process of each node needs no record. */
    edgeps_err err = ++h->incarnation[node] > 1 ? write_incarnations(h) : EDGEPS_OK;
    if (err)
        h->incarnation[node]--;
    else
        h->given_up[node] = false;
    return err;
}

static const char *why_not(const host *h, int64_t node, const message_hello *hello)
{
    if (hello->job != h->stamp.job)
        return "it belongs to another job";
    if (hello->generation > h->coordinator.plan.generation)
        return "it follows a later plan than this coordinator knows";
    if (hello->incarnation != h->incarnation[node] || h->given_up[node])
        return "the job has gone on without it";
    return NULL;
}

/* The peer closes: here the line would not get out any more. */
static void refuse(host *h, const member *m, const message_hello *hello, const char *why)
{
    char text[128];
    wire_writer w = {0};
    snprintf(text, sizeof text, "the coordinator turns this process away: %s", why);
    door_refuse(h, m, "an old process of %s: %s", hello->name, why);
    message_put_trouble(&w, &(message_trouble){.code = EDGEPS_PROTOCOL, .text = text});
    if (frame_send(m->conn, &h->stamp, MESSAGE_REFUSE, 0, 0, &w))
        conn_close(m->conn);
}

void takeover_hello(host *h, member *m, int64_t node, const message_hello *hello)
{
    const char *why = why_not(h, node, hello);
    if (why) {
        refuse(h, m, hello, why);
        return;
    }
    if (h->follows && h->kept == 0)
        record_start(h);
    h->kept++;
    h->of_node[node] = m;
    m->node = node;
    m->measured = m->kept = true;
    /* An older generation's servers are set right when the plan is announced again. */
    if (hello->generation == h->coordinator.plan.generation)
        m->servers = (message_servers)hello->servers;
    h->released[node] = m->servers != MESSAGE_SETTLED;
    h->homeless |= m->servers == MESSAGE_HOMELESS && h->coordinator.plan.global == (int32_t)node;
    host_send(h, (size_t)node, MESSAGE_KEEP, 0, 0, NULL);
}

void takeover_gathered(host *h)
{
    if (h->kept == 0) {
        h->alone = true;
        loop_stop(h->loop);
        return;
    }
    const plan *pl = &h->coordinator.plan;
    for (size_t i = 0; i < h->net->count; i++) {
        if (h->coordinator.joined[i] || h->coordinator.phase != COORDINATOR_GATHERING)
            continue;
        if (plan_has_role(pl, i)) {
            h->given_up[i] = true;
            record_event(h, (meter_event){.kind = METER_LOST,
                                          .epoch = h->now_epoch,
                                          .node = host_name(h, (int64_t)i),
                                          .fault = meter_faults[METER_DEAD],
                                          .text = "dead: gone with the coordinator before"});
        }
        drive_post(h, (coordinator_event){.kind = COORDINATOR_LOST, .node = (int32_t)i});
    }
}

void takeover_done(host *h)
{
    char text[64];
    snprintf(text, sizeof text, "%zu agent%s on", h->kept, h->kept == 1 ? " goes" : "s go");
    if (h->follows)
        record_event(h, (meter_event){.kind = METER_TAKEOVER,
                                      .epoch = h->now_epoch,
                                      .generation = h->coordinator.plan.generation,
                                      .text = text});
    h->follows = false;
}
