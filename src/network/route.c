#include "network/route.h"

#include "base/mem.h"
#include "base/rank.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Smaller is better, `bytes_per_s` last and the other way round. */
typedef struct label {
    int64_t first;  /* latency in ns or hops, by the metric */
    int64_t second; /* the other of the two */
    double bytes_per_s;
} label;

/* A link as its tail sees it; `step` is what it adds to a label, and its own rate. */
typedef struct arc {
    uint32_t to;
    label step;
} arc;

struct route_graph {
    size_t count;
    route_metric metric;
    size_t *begin; /* the arcs of v: arcs[begin[v]] to arcs[begin[v + 1]] */
    arc *arcs;
    label *labels;
    rank reached; /* nodes whose label has yet to be passed on */
};

static const label unreached = {INT64_MAX, INT64_MAX, 0};

static bool better(label a, label b)
{
    if (a.first != b.first)
        return a.first < b.first;
    if (a.second != b.second)
        return a.second < b.second;
    return a.bytes_per_s > b.bytes_per_s;
}

static label step_of(const route_link *link, route_metric metric)
{
    int64_t ns = llround(link->latency_s * 1e9);
    return (label){metric == ROUTE_HOPS ? 1 : ns, metric == ROUTE_HOPS ? ns : 1, link->bytes_per_s};
}

/* Counting sort of the links by their tails. */
static void fill_arcs(route_graph *graph, const route_link *links, size_t link_count)
{
    for (size_t k = 0; k < link_count; k++)
        graph->begin[links[k].from + 1]++;
    for (size_t v = 0; v < graph->count; v++)
        graph->begin[v + 1] += graph->begin[v];
    for (size_t k = link_count; k-- > 0;) {
        assert(links[k].to < graph->count);
        size_t at = --graph->begin[links[k].from + 1];
        graph->arcs[at] = (arc){links[k].to, step_of(&links[k], graph->metric)};
    }
    /* Every beginning stands one place too far. */
    memmove(graph->begin, graph->begin + 1, graph->count * sizeof *graph->begin);
    graph->begin[graph->count] = link_count;
}

edgeps_err route_make(size_t node_count, const route_link *links, size_t link_count,
                      route_metric metric, route_graph **out)
{
    route_graph *graph = mem_alloc(1, sizeof *graph);
    if (!graph)
        return EDGEPS_NOMEM;
    graph->count = node_count;
    graph->metric = metric;
    graph->begin = mem_alloc(node_count + 1, sizeof *graph->begin);
    graph->arcs = mem_alloc(link_count, sizeof *graph->arcs);
    graph->labels = mem_alloc(node_count, sizeof *graph->labels);
    if (!graph->begin || !graph->arcs || !graph->labels ||
        rank_reserve(&graph->reached, node_count)) {
        route_free(graph);
        return EDGEPS_NOMEM;
    }
    fill_arcs(graph, links, link_count);
    *out = graph;
    return EDGEPS_OK;
}

void route_free(route_graph *graph)
{
    if (!graph)
        return;
    rank_free(&graph->reached);
    mem_free(graph->begin);
    mem_free(graph->arcs);
    mem_free(graph->labels);
    mem_free(graph);
}

/* In the order of labels as far as a double tells them apart. A label that comes too late because
 * of that is passed on once more: the order costs time, never truth. */
static double key_of(label l) { return (double)l.first + (double)l.second * 0x1p-17; }

static label follow(label l, label step)
{
    bool narrows = step.bytes_per_s < l.bytes_per_s;
    return (label){l.first + step.first, l.second + step.second,
                   narrows ? step.bytes_per_s : l.bytes_per_s};
}

static void offer(route_graph *graph, uint32_t v, label l)
{
    if (!better(l, graph->labels[v]))
        return;
    graph->labels[v] = l;
    rank_set(&graph->reached, v, key_of(l));
}

void route_from(route_graph *graph, size_t source, double *latency_s, double *bytes_per_s)
{
    for (size_t v = 0; v < graph->count; v++)
        graph->labels[v] = unreached;
    offer(graph, (uint32_t)source, (label){0, 0, INFINITY});
    while (graph->reached.count > 0) {
        uint32_t v = graph->reached.items[0].id;
        rank_remove(&graph->reached, v);
        label l = graph->labels[v];
        for (size_t k = graph->begin[v]; k < graph->begin[v + 1]; k++) {
            const arc *a = &graph->arcs[k];
            /* most arcs lead back to where nothing is gained */
            if (l.first + a->step.first <= graph->labels[a->to].first)
                offer(graph, a->to, follow(l, a->step));
        }
    }
    for (size_t v = 0; v < graph->count; v++) {
        label l = graph->labels[v];
        int64_t ns = graph->metric == ROUTE_HOPS ? l.second : l.first;
        latency_s[v] = ns == INT64_MAX ? INFINITY : (double)ns / 1e9;
        bytes_per_s[v] = l.bytes_per_s;
    }
}

/* Tarjan's search with its calls in an array. `order` counts from 1 and `low` is the lowest order
 * that the node reaches among those on `open`. */
typedef struct search {
    uint32_t *order;
    uint32_t *low;
    size_t *next;    /* arc */
    uint32_t *open;  /* visited, and in no component yet */
    uint32_t *calls; /* the path from the root to where the search is */
    size_t open_count;
    size_t call_count;
    uint32_t visited;
} search;

#define NO_COMPONENT UINT32_MAX

static void enter(const route_graph *graph, search *s, uint32_t v)
{
    s->order[v] = s->low[v] = ++s->visited;
    s->next[v] = graph->begin[v];
    s->open[s->open_count++] = v;
    s->calls[s->call_count++] = v;
}

static void lower(uint32_t *low, uint32_t order)
{
    if (order < *low)
        *low = order;
}

/* The node has no more arcs: back to the one it was entered from. */
static void leave(search *s, uint32_t *component, size_t *count)
{
    uint32_t v = s->calls[--s->call_count];
    if (s->call_count > 0)
        lower(&s->low[s->calls[s->call_count - 1]], s->low[v]);
    if (s->low[v] != s->order[v])
        return;
    uint32_t member;
    do {
        member = s->open[--s->open_count];
        component[member] = (uint32_t)*count;
    } while (member != v);
    ++*count;
}

static void search_from(const route_graph *graph, search *s, uint32_t root, uint32_t *component,
                        size_t *count)
{
    enter(graph, s, root);
    while (s->call_count > 0) {
        uint32_t v = s->calls[s->call_count - 1];
        if (s->next[v] == graph->begin[v + 1]) {
            leave(s, component, count);
            continue;
        }
        uint32_t to = graph->arcs[s->next[v]++].to;
        if (!s->order[to])
            enter(graph, s, to);
        else if (component[to] == NO_COMPONENT)
            lower(&s->low[v], s->order[to]);
    }
}

edgeps_err route_components(const route_graph *graph, uint32_t *component, size_t *count)
{
    size_t n = graph->count, found = 0;
    search s = {
        .order = mem_alloc(n, sizeof *s.order),
        .low = mem_alloc(n, sizeof *s.low),
        .next = mem_alloc(n, sizeof *s.next),
        .open = mem_alloc(n, sizeof *s.open),
        .calls = mem_alloc(n, sizeof *s.calls),
    };
    bool ok = s.order && s.low && s.next && s.open && s.calls;
    for (size_t v = 0; ok && v < n; v++)
        component[v] = NO_COMPONENT;
    for (size_t v = 0; ok && v < n; v++)
        if (!s.order[v])
            search_from(graph, &s, (uint32_t)v, component, &found);
    mem_free(s.order);
    mem_free(s.low);
    mem_free(s.next);
    mem_free(s.open);
    mem_free(s.calls);
    if (!ok)
        return EDGEPS_NOMEM;
    *count = found;
    return EDGEPS_OK;
}
