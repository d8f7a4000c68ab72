#include "node/host_int.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <signal.h>

static void describe(const network_event *e, char *text, size_t size)
{
    switch (e->change) {
    case NETWORK_FREE:
        snprintf(text, size, "free storage is %.0f KiB", e->value / 1024);
        break;
    case NETWORK_UP:
        snprintf(text, size, "up is %.1f Mbit/s", e->value * 8e-6);
        break;
    case NETWORK_DOWN:
        snprintf(text, size, "down is %.1f Mbit/s", e->value * 8e-6);
        break;
    case NETWORK_COMPUTE:
        snprintf(text, size, "computes %.0f samples/s", e->value);
        break;
    case NETWORK_LATENCY:
        snprintf(text, size, "its link takes %.3f ms", e->value * 1e3);
        break;
    case NETWORK_FILL:
        snprintf(text, size, "others store %.0f KiB", e->value / 1024);
        break;
    case NETWORK_CONTINUE:
        snprintf(text, size, "its process goes on");
        break;
    case NETWORK_CUT:
        snprintf(text, size, "its links are cut");
        break;
    case NETWORK_HEAL:
        snprintf(text, size, "its links are healed");
        break;
    case NETWORK_KILL:
        snprintf(text, size, "its process is killed");
        break;
    case NETWORK_STOP:
        snprintf(text, size, "its process is stopped");
        break;
    }
}

static bool stores(const network_event *e)
{
    return e->change == NETWORK_FREE || e->change == NETWORK_FILL;
}

/* Whether the node's agent is to be told, too: of its links it knows nothing in a lab. */
static bool change_lab(host *h, const network_event *e)
{
    bool of_link = e->change == NETWORK_UP || e->change == NETWORK_DOWN ||
                   e->change == NETWORK_CUT || e->change == NETWORK_HEAL;
    if (!h->options->change_lab)
        return true;
    edgeps_err err = h->options->change_lab(h->options->launcher, e, h->diag);
    if (err)
        host_fail(h, err);
    return !err && !of_link;
}

/* What the node's process gets; 0: nothing. */
static int signal_of(const network_event *e)
{
    return e->change == NETWORK_KILL       ? SIGKILL
           : e->change == NETWORK_STOP     ? SIGSTOP
           : e->change == NETWORK_CONTINUE ? SIGCONT
                                           : 0;
}

static void happen(host *h, const network_event *e)
{
    char text[96];
    describe(e, text, sizeof text);
    record_event(h, (meter_event){.kind = METER_SCENARIO,
                                  .epoch = h->now_epoch,
                                  .node = host_name(h, e->node),
                                  .text = text});
    int signo = signal_of(e);
    if (signo) {
        h->options->signal_node(h->options->launcher, e->node, signo);
        return;
    }
    network_apply(h->net, e);
    if (!change_lab(h, e))
        return;
    wire_writer w = {0};
    message_set m = {.change = (uint8_t)e->change, .value = e->value};
    if (stores(e))
        m = (message_set){NETWORK_FREE, (double)h->net->nodes[e->node].free_bytes};
    message_put_set(&w, &m);
    host_send(h, e->node, MESSAGE_SET, 0, 0, &w);
}

void scenario_apply(host *h, int epoch)
{
    const network *net = h->options->net;
    for (; h->scenario_epoch < epoch; h->scenario_epoch++)
        for (size_t k = 0; k < net->event_count; k++)
            if (net->events[k].epoch == h->scenario_epoch + 1 && !network_strikes(&net->events[k]))
                happen(h, &net->events[k]);
}

static void due(void *ctx)
{
    scenario_timer *t = ctx;
    if (!t->host->ended)
        happen(t->host, t->event);
}

/* Timed events, from `elapsed_s` on. */
static void start_clock(host *h, double elapsed_s)
{
    const network *net = h->options->net;
    h->timers = mem_alloc(net->event_count, sizeof *h->timers);
    for (size_t k = 0; h->timers && k < net->event_count; k++) {
        const network_event *e = &net->events[k];
        if (e->epoch != 0 || e->at_s < elapsed_s)
            continue;
        h->timers[k] = (scenario_timer){h, e};
        if (loop_timer_start(h->loop, (int64_t)((e->at_s - elapsed_s) * CLOCK_NS_PER_S), due,
                             &h->timers[k], NULL))
            host_fail(h, diag_fail(h->diag, EDGEPS_NOMEM, "no memory for a timer"));
    }
}

/* Kills and stops of the epoch that begins; with the first one the clock of timed events starts. */
void scenario_strike(host *h, int epoch)
{
    const network *net = h->options->net;
    if (!h->timers) {
        takeover_note_time(h, "scenario", epoch);
        start_clock(h, 0);
    }
    for (size_t k = 0; k < net->event_count; k++) {
        const network_event *e = &net->events[k];
        if (e->epoch == epoch && epoch > h->struck_epoch && network_strikes(e))
            happen(h, e);
    }
    if (epoch > h->struck_epoch)
        h->struck_epoch = epoch; /* an epoch that runs again is not struck again */
}

/* What has happened up to this epoch has, and what is still due will. */
edgeps_err scenario_follow(host *h, int epoch)
{
    const network *net = h->options->net;
    int64_t first;
    double elapsed_s;
    edgeps_err err = takeover_elapsed(h, "scenario", &first, &elapsed_s);
    if (err)
        return err;
    for (size_t k = 0; k < net->event_count; k++) {
        const network_event *e = &net->events[k];
        bool past = e->epoch ? e->epoch <= epoch : e->at_s < elapsed_s;
        if (past && !network_strikes(e))
            network_apply(h->net, e);
    }
    h->scenario_epoch = h->struck_epoch = epoch;
    if (!isnan(elapsed_s))
        start_clock(h, elapsed_s);
    return EDGEPS_OK;
}
