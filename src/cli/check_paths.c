#include "cli/check_int.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>

#define NO_NODE UINT32_MAX
#define NO_PART UINT32_MAX
#define UNEQUAL 3.0 /* times, of the latencies of the two directions of a pair */

/* What the nodes of one site have in common. Nodes that take no part are left out. */
typedef struct site {
    size_t senders;   /* with an up rate above 0 */
    size_t receivers; /* with a down rate above 0 */
    size_t both;
    uint32_t nearest, next; /* of them, by access latency; NO_NODE: there is none */
    uint32_t farthest, last_but_one;
} site;

/* Nodes of one site that all may serve or all may not, with rates above 0: they reach the same. */
typedef struct group {
    uint32_t site;
    bool serve;
    bool together; /* a path leads from each of its nodes to each other, maybe through others */
    uint32_t part;
    size_t count;
    size_t workers;
} group;

typedef struct search {
    const network *net;
    site *sites;
    group *groups;
    uint32_t *group_of; /* [2 * site + serve] */
    uint32_t *queue;
    size_t group_count;
    uint32_t parts;
    uint32_t main; /* the part with the most workers that has a server; NO_PART: there is none */
    size_t main_workers;
} search;

static double cap(const network *net, size_t from, size_t to)
{
    return net->cap_bytes_per_s[from * net->site_count + to];
}

static double site_latency(const network *net, size_t from, size_t to)
{
    return net->latency_s[from * net->site_count + to];
}

static double access_s(const network *net, uint32_t node) { return net->nodes[node].access_s; }

static void note_access(const network *net, site *s, uint32_t i)
{
    double own = access_s(net, i);
    if (s->nearest == NO_NODE || own < access_s(net, s->nearest)) {
        s->next = s->nearest;
        s->nearest = i;
    } else if (s->next == NO_NODE || own < access_s(net, s->next)) {
        s->next = i;
    }
    if (s->farthest == NO_NODE || own > access_s(net, s->farthest)) {
        s->last_but_one = s->farthest;
        s->farthest = i;
    } else if (s->last_but_one == NO_NODE || own > access_s(net, s->last_but_one)) {
        s->last_but_one = i;
    }
}

static bool alive(const network_node *node)
{
    return check_takes_part(node) && node->up_bytes_per_s > 0 && node->down_bytes_per_s > 0;
}

static void gather(search *s)
{
    const network *net = s->net;
    for (size_t k = 0; k < net->site_count; k++)
        s->sites[k] = (site){
            .nearest = NO_NODE, .next = NO_NODE, .farthest = NO_NODE, .last_but_one = NO_NODE};
    for (size_t k = 0; k < 2 * net->site_count; k++)
        s->group_of[k] = NO_PART;
    for (uint32_t i = 0; i < net->count; i++) {
        const network_node *node = &net->nodes[i];
        site *at = &s->sites[node->site];
        if (!check_takes_part(node))
            continue;
        at->senders += node->up_bytes_per_s > 0;
        at->receivers += node->down_bytes_per_s > 0;
        if (!alive(node))
            continue;
        at->both++;
        note_access(net, at, i);
        uint32_t *group_of = &s->group_of[2 * node->site + node->serve];
        if (*group_of == NO_PART) {
            *group_of = (uint32_t)s->group_count++;
            s->groups[*group_of] =
                (group){.site = node->site, .serve = node->serve, .part = NO_PART};
        }
        s->groups[*group_of].count++;
        s->groups[*group_of].workers += node->train;
    }
}

static bool work_together(const search *s, const group *a, const group *b)
{
    return (a->serve || b->serve) && cap(s->net, a->site, b->site) > 0 &&
           cap(s->net, b->site, a->site) > 0;
}

/* Breadth first from one group; all that it reaches is one part. */
static void walk(search *s, uint32_t first)
{
    size_t head = 0, tail = 0, workers = 0;
    bool serves = false;
    s->queue[tail++] = first;
    s->groups[first].part = s->parts;
    while (head < tail) {
        group *a = &s->groups[s->queue[head++]];
        workers += a->workers;
        serves |= a->serve;
        for (uint32_t k = 0; k < s->group_count; k++) {
            group *b = &s->groups[k];
            if (!work_together(s, a, b))
                continue;
            a->together = true; /* through b, or because b is a */
            if (b->part != NO_PART)
                continue;
            b->part = s->parts;
            s->queue[tail++] = k;
        }
    }
    const group *only = &s->groups[first];
    if (!only->together)
        workers = workers > 0;
    if (serves && (s->main == NO_PART || workers > s->main_workers)) {
        s->main = s->parts;
        s->main_workers = workers;
    }
    s->parts++;
}

/* Is the node where the most can train together? Of nodes that reach nobody the first counts, and
 * of workers and others the first worker. */
static bool in_main(const search *s, size_t i, bool *taken)
{
    const network_node *node = &s->net->nodes[i];
    const group *g = &s->groups[s->group_of[2 * node->site + node->serve]];
    if (g->part != s->main)
        return false;
    bool in = g->together || (!*taken && (node->train || !g->workers));
    *taken |= in;
    return in;
}

static const char *why_dead(const network_node *node)
{
    if (node->up_bytes_per_s > 0)
        return "its down rate is 0";
    return node->down_bytes_per_s > 0 ? "its up rate is 0" : "its rates are 0";
}

static edgeps_err name_cut_off(const search *s, check_facts *f)
{
    edgeps_err err = EDGEPS_OK;
    bool taken = false, alone = f->train == 1;
    for (size_t i = 0; !err && i < s->net->count; i++) {
        const network_node *node = &s->net->nodes[i];
        if (!check_takes_part(node) || (alone && node->train && node->serve))
            continue;
        check_severity severity = node->train ? CHECK_ERROR : CHECK_WARNING;
        const char *remedy =
            node->train ? "give it rates above 0, or say \"train\": false" : "no plan can use it";
        if (!alive(node))
            err = check_add(f, severity, "cut-off", node->name, "%s: is cut off, %s; %s",
                            node->name, why_dead(node), remedy);
        else if (!in_main(s, i, &taken))
            err = check_add(f, severity, "cut-off", node->name,
                            "%s: has no path there and back to those that can train together, %zu "
                            "of %zu workers; %s",
                            node->name, s->main_workers, f->train,
                            node->train ? "join them, or say \"train\": false" : remedy);
    }
    return err;
}

static void count_paths(const search *s, check_facts *f)
{
    const network *net = s->net;
    uint64_t part = 0, both_ways = 0;
    for (size_t i = 0; i < net->count; i++)
        part += check_takes_part(&net->nodes[i]);
    f->directions = part * (part - 1);
    for (size_t a = 0; a < net->site_count; a++)
        for (size_t b = 0; b < net->site_count; b++) {
            const site *from = &s->sites[a], *to = &s->sites[b];
            if (!(cap(net, a, b) > 0))
                continue;
            uint64_t self = a == b ? from->both : 0;
            f->paths += (uint64_t)from->senders * to->receivers - self;
            if (cap(net, b, a) > 0)
                both_ways += (uint64_t)from->both * to->both - self;
        }
    f->one_way = f->paths - both_ways;
}

/* The latencies from `a` to `b` of the nearest and of the farthest two nodes. */
static void note_latency(const search *s, size_t a, size_t b, check_facts *f)
{
    const network *net = s->net;
    const site *from = &s->sites[a], *to = &s->sites[b];
    uint32_t near = a == b ? from->next : to->nearest;
    uint32_t far = a == b ? from->last_but_one : to->farthest;
    if (from->nearest == NO_NODE || near == NO_NODE || !(cap(net, a, b) > 0))
        return;
    double least = network_latency_s(net, from->nearest, near);
    double most = network_latency_s(net, from->farthest, far);
    f->least_latency_s = fmin(f->least_latency_s, least);
    if (f->far_from && most <= f->most_latency_s)
        return;
    f->most_latency_s = most;
    f->far_from = net->nodes[from->farthest].name;
    f->far_to = net->nodes[far].name;
}

static double unequal(double there, double back)
{
    double larger = fmax(there, back), smaller = fmin(there, back);
    return larger == smaller ? 1 : larger / smaller;
}

/* Pairs of sites that share a fault, and the worst of them; the first is as bad as all others where
 * there is no worse. */
typedef struct pairs {
    size_t count;
    double times;
    size_t from, to;
} pairs;

static void note_pair(pairs *faulty, double times, size_t from, size_t to)
{
    if (!faulty->count++ || times > faulty->times) {
        faulty->times = times;
        faulty->from = from;
        faulty->to = to;
    }
}

/* Pairs of sites whose two directions differ as they seldom do in reality. */
static void compare_directions(const search *s, pairs *one_way, pairs *skewed)
{
    const network *net = s->net;
    for (size_t a = 0; a < net->site_count; a++)
        for (size_t b = 0; b < a; b++) {
            bool there = cap(net, b, a) > 0, back = cap(net, a, b) > 0;
            if (!s->sites[a].both || !s->sites[b].both || (!there && !back))
                continue;
            double times = unequal(site_latency(net, b, a), site_latency(net, a, b));
            if (there != back)
                note_pair(one_way, 0, there ? b : a, there ? a : b);
            else if (times >= UNEQUAL)
                note_pair(skewed, times, b, a);
        }
}

static const char *someone_at(const search *s, size_t at)
{
    return s->net->nodes[s->sites[at].nearest].name;
}

static edgeps_err judge_directions(const search *s, check_facts *f)
{
    pairs one_way = {0}, skewed = {0};
    edgeps_err err = EDGEPS_OK;
    compare_directions(s, &one_way, &skewed);
    if (one_way.count)
        err = check_add(f, CHECK_WARNING, "one-way", NULL,
                        "pairs of places with a path in one direction only: %zu, as from %s to %s; "
                        "training needs both",
                        one_way.count, someone_at(s, one_way.from), someone_at(s, one_way.to));
    if (!err && skewed.count)
        err =
            check_add(f, CHECK_HINT, "skewed", NULL,
                      "pairs of places with latencies that differ by direction %g times and "
                      "more: %zu, most between %s and %s; are both measured one way?",
                      UNEQUAL, skewed.count, someone_at(s, skewed.from), someone_at(s, skewed.to));
    return err;
}

static edgeps_err search_make(const network *net, search *out)
{
    search s = {.net = net, .main = NO_PART};
    s.sites = mem_alloc(net->site_count, sizeof *s.sites);
    s.groups = mem_alloc(2 * net->site_count, sizeof *s.groups);
    s.group_of = mem_alloc(2 * net->site_count, sizeof *s.group_of);
    s.queue = mem_alloc(2 * net->site_count, sizeof *s.queue);
    *out = s;
    return s.sites && s.groups && s.group_of && s.queue ? EDGEPS_OK : EDGEPS_NOMEM;
}

edgeps_err check_paths(const network *net, check_facts *f)
{
    search s;
    edgeps_err err = search_make(net, &s);
    if (err)
        goto out;
    gather(&s);
    for (uint32_t k = 0; k < s.group_count; k++)
        if (s.groups[k].part == NO_PART)
            walk(&s, k);
    count_paths(&s, f);
    for (size_t a = 0; a < net->site_count; a++)
        for (size_t b = 0; b < net->site_count; b++)
            note_latency(&s, a, b, f);
    err = name_cut_off(&s, f);
    if (!err)
        err = judge_directions(&s, f);
out:
    mem_free(s.sites);
    mem_free(s.groups);
    mem_free(s.group_of);
    mem_free(s.queue);
    return err;
}
