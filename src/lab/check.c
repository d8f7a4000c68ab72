#include "lab/check_int.h"

#include "base/mem.h"
#include "lab/flow.h"
#include "lab/group_int.h"
#include "lab/storage_int.h"

#include <math.h>
#include <stdbool.h>
#include <sys/utsname.h>

#define GROUP_BYTES_PER_S                                                                          \
    125e6 /* of the links measured at once: what the machine does with ease                        \
           */
#define SETTLE_S 0.2
#define SETTLE_TIMES 10 /* the longest way there and back */
#define WINDOW_S 0.3
#define WINDOW_BYTES 1.2e5
#define MOST_WINDOW_S 3.0
#define MOST_AGAIN 20
#define MOST_TURNS 3 /* of shares of cores */
#define PATIENCE_S 0.2

typedef struct checker {
    const lab *lab;
    const network *net;
    lab_check *check;
    flow *flows;
    size_t *order; /* the link of each flow */
    bool *done;    /* per link */
    bool *sends;   /* per node, in the present group */
    bool *receives;
    double longest_s;
} checker;

double check_link_off(const check_link *l)
{
    return l->measured_bytes_per_s / l->asked_bytes_per_s - 1;
}

bool check_link_is_off(const check_link *l) { return fabs(check_link_off(l)) > CHECK_TOLERANCE; }

double check_path_off(const check_path *p)
{
    return isnan(p->measured_s) ? INFINITY : p->measured_s - p->asked_s;
}

bool check_path_is_off(const check_path *p)
{
    return fabs(check_path_off(p)) > fmax(CHECK_TOLERANCE * p->asked_s, CHECK_TOLERANCE_S);
}

double check_disk_off(const check_disk *d)
{
    return (double)d->measured_bytes / (double)d->asked_bytes - 1;
}

bool check_disk_is_off(const check_disk *d) { return fabs(check_disk_off(d)) > CHECK_TOLERANCE; }

double check_share_off(const check_share *s) { return s->measured_cores / s->asked_cores - 1; }

bool check_share_is_off(const check_share *s) { return fabs(check_share_off(s)) > CHECK_TOLERANCE; }

static void add_link(lab_check *c, size_t from, size_t to, double asked)
{
    if (asked > 0 && isfinite(asked))
        c->links[c->link_count++] = (check_link){from, to, asked, 0};
}

/* Which of `count` things stand for all: true for `most` of them, evenly spread. */
static bool is_sampled(size_t index, size_t count, size_t most)
{
    return count <= most || (index * most) % count < most;
}

static bool has_cap(const network *net, size_t from, size_t to)
{
    double cap = network_cap_bytes_per_s(net, from, to);
    return from != to && cap > 0 &&
           cap < fmin(net->nodes[from].up_bytes_per_s, net->nodes[to].down_bytes_per_s);
}

static void list_links(const network *net, lab_check *c)
{
    size_t n = net->count, capped = 0, seen = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_sampled(i, n, CHECK_MOST_NODES))
            continue;
        add_link(c, i, LAB_HUB, net->nodes[i].up_bytes_per_s);
        add_link(c, LAB_HUB, i, net->nodes[i].down_bytes_per_s);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            capped += has_cap(net, i, j);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (has_cap(net, i, j) && is_sampled(seen++, capped, CHECK_MOST_PAIRS))
                add_link(c, i, j, network_cap_bytes_per_s(net, i, j));
    c->links_of = 2 * n + capped;
}

/* Whether the link may be measured along with those already chosen: it shares no node's link. */
static bool is_free(const checker *k, const check_link *l)
{
    return (l->from == LAB_HUB || !k->sends[l->from]) && (l->to == LAB_HUB || !k->receives[l->to]);
}

static void occupy(checker *k, const check_link *l, bool busy)
{
    if (l->from != LAB_HUB)
        k->sends[l->from] = busy;
    if (l->to != LAB_HUB)
        k->receives[l->to] = busy;
}

/* The next links that can be measured together, at least one. */
static size_t choose(checker *k)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < k->check->link_count; i++) {
        const check_link *l = &k->check->links[i];
        if (k->done[i] || !is_free(k, l) ||
            (count > 0 && sum + l->asked_bytes_per_s > GROUP_BYTES_PER_S))
            continue;
        occupy(k, l, true);
        sum += l->asked_bytes_per_s;
        k->flows[count] = (flow){.from = l->from,
                                 .to = l->to,
                                 .bytes = FLOW_ENDLESS,
                                 .expected_bytes_per_s = l->asked_bytes_per_s};
        k->order[count++] = i;
    }
    return count;
}

static edgeps_err measure(checker *k, size_t count, edgeps_diag *diag)
{
    double window_s = WINDOW_S, settle_s = SETTLE_S + SETTLE_TIMES * 2 * k->longest_s;
    for (size_t f = 0; f < count; f++)
        window_s = fmax(window_s, WINDOW_BYTES / k->flows[f].expected_bytes_per_s);
    edgeps_err err =
        flow_run(k->lab, k->flows, count, settle_s, settle_s + fmin(window_s, MOST_WINDOW_S), diag);
    for (size_t f = 0; f < count; f++) {
        check_link *l = &k->check->links[k->order[f]];
        l->measured_bytes_per_s = k->flows[f].rate_bytes_per_s;
        k->done[k->order[f]] = true;
        occupy(k, l, false);
    }
    return err;
}

static edgeps_err measure_rates(checker *k, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t count; !err && (count = choose(k)) > 0;)
        err = measure(k, count, diag);
    size_t again = 0;
    for (size_t i = 0; !err && i < k->check->link_count && again < MOST_AGAIN; i++) {
        const check_link *l = &k->check->links[i];
        if (!check_link_is_off(l))
            continue;
        again++;
        k->flows[0] = (flow){.from = l->from,
                             .to = l->to,
                             .bytes = FLOW_ENDLESS,
                             .expected_bytes_per_s = l->asked_bytes_per_s};
        k->order[0] = i;
        err = measure(k, 1, diag);
    }
    return err;
}

static bool has_path(const network *net, size_t from, size_t to)
{
    return from != to && network_rate_bytes_per_s(net, from, to) > 0;
}

static edgeps_err measure_latencies(checker *k, edgeps_diag *diag)
{
    lab_check *c = k->check;
    size_t nodes[CHECK_MOST_DISTANT], count = 0, n = k->net->count;
    for (size_t i = 0; i < n && count < CHECK_MOST_DISTANT; i++)
        if (is_sampled(i, n, CHECK_MOST_DISTANT))
            nodes[count++] = i;
    double *latency_s = mem_alloc(count * count, sizeof *latency_s);
    if (!latency_s)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for latencies");
    edgeps_err err =
        flow_latencies(k->lab, nodes, count, k->longest_s + PATIENCE_S, diag, latency_s);
    for (size_t p = 0; !err && p < count * count; p++) {
        size_t from = nodes[p / count], to = nodes[p % count];
        if (has_path(k->net, from, to))
            c->paths[c->path_count++] =
                (check_path){from, to, network_latency_s(k->net, from, to), latency_s[p]};
    }
    mem_free(latency_s);
    return err;
}

/* Twice what was asked is tried, so that a missing limit shows; it is given back before the next
 * node's turn. */
static edgeps_err measure_storage(checker *k, edgeps_diag *diag)
{
    lab_check *c = k->check;
    edgeps_err err = EDGEPS_OK;
    c->disks_of = k->net->count;
    for (size_t i = 0; !err && i < k->net->count; i++) {
        int64_t asked = storage_whole_bytes(k->net->nodes[i].free_bytes);
        check_disk *d = &c->disks[c->disk_count];
        char path[LAB_PATH_BYTES];
        if (asked == 0 || asked > CHECK_MOST_BYTES ||
            !is_sampled(i, k->net->count, CHECK_MOST_NODES))
            continue;
        *d = (check_disk){.node = i, .asked_bytes = asked};
        c->disk_count++;
        lab_storage(k->lab, i, path);
        err = storage_measure(path, 2 * asked, diag, &d->measured_bytes);
    }
    return err;
}

/* All at once, as in training. When something is off, again: other programs' load takes from what
 * nodes get, and the most that they got counts. */
static edgeps_err measure_shares(checker *k, edgeps_diag *diag)
{
    lab_check *c = k->check;
    size_t nodes[CHECK_MOST_NODES], count = 0, n = k->net->count;
    double cores[CHECK_MOST_NODES], core = lab_core_samples_per_s(k->lab);
    if (core == 0)
        return EDGEPS_OK;
    c->shares_of = n;
    for (size_t i = 0; i < n && count < CHECK_MOST_NODES; i++)
        if (is_sampled(i, n, CHECK_MOST_NODES))
            nodes[count++] = i;
    for (size_t s = 0; s < count; s++)
        c->shares[s] = (check_share){.node = nodes[s],
                                     .asked_cores = group_share(&k->net->nodes[nodes[s]], core)};
    c->share_count = count;
    edgeps_err err = EDGEPS_OK;
    bool off = true;
    for (int turn = 0; !err && off && turn < MOST_TURNS; turn++) {
        err = lab_measure_cores(k->lab, nodes, count, diag, cores);
        off = false;
        for (size_t s = 0; !err && s < count; s++) {
            check_share *share = &c->shares[s];
            share->measured_cores = fmax(share->measured_cores, cores[s]);
            off = off || check_share_is_off(share);
        }
    }
    return err;
}

static edgeps_err make_checker(checker *k, edgeps_diag *diag)
{
    size_t n = k->net->count, most = 2 * CHECK_MOST_NODES + CHECK_MOST_PAIRS + 4;
    k->check->links = mem_alloc(most, sizeof *k->check->links);
    k->check->paths =
        mem_alloc((size_t)CHECK_MOST_DISTANT * CHECK_MOST_DISTANT, sizeof *k->check->paths);
    k->check->disks = mem_alloc(CHECK_MOST_NODES, sizeof *k->check->disks);
    k->check->shares = mem_alloc(CHECK_MOST_NODES, sizeof *k->check->shares);
    k->flows = mem_alloc(most, sizeof *k->flows);
    k->order = mem_alloc(most, sizeof *k->order);
    k->done = mem_alloc(most, sizeof *k->done);
    k->sends = mem_alloc(n, sizeof *k->sends);
    k->receives = mem_alloc(n, sizeof *k->receives);
    if (!k->check->links || !k->check->paths || !k->check->disks || !k->check->shares ||
        !k->flows || !k->order || !k->done || !k->sends || !k->receives)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory to measure %zu nodes", n);
    return EDGEPS_OK;
}

static void count_paths(checker *k)
{
    for (size_t i = 0; i < k->net->count; i++)
        for (size_t j = 0; j < k->net->count; j++) {
            if (!has_path(k->net, i, j))
                continue;
            k->check->paths_of++;
            k->longest_s = fmax(k->longest_s, network_latency_s(k->net, i, j));
        }
}

edgeps_err lab_check_run(const lab *l, edgeps_diag *diag, lab_check *out)
{
    struct utsname host;
    lab_check check = {.lab = l};
    checker k = {.lab = l, .net = lab_network(l), .check = &check};
    edgeps_err err = make_checker(&k, diag);
    if (!err) {
        list_links(k.net, &check);
        count_paths(&k);
        err = measure_rates(&k, diag);
    }
    if (!err)
        err = measure_latencies(&k, diag);
    if (!err)
        err = measure_storage(&k, diag);
    if (!err)
        err = measure_shares(&k, diag);
    if (uname(&host) == 0)
        snprintf(check.kernel, sizeof check.kernel, "%s %s", host.sysname, host.release);
    mem_free(k.flows);
    mem_free(k.order);
    mem_free(k.done);
    mem_free(k.sends);
    mem_free(k.receives);
    if (err)
        lab_check_free(&check);
    else
        *out = check;
    return err;
}

void lab_check_free(lab_check *check)
{
    mem_free(check->links);
    mem_free(check->paths);
    mem_free(check->disks);
    mem_free(check->shares);
    *check = (lab_check){.lab = NULL};
}
