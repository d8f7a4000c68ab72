#include "network/random_graph.h"

#include "base/mem.h"

#include <math.h>
#include <stdbool.h>

random_point random_point_draw(rng *r)
{
    random_point at;
    at.x_km = (int32_t)rng_below(r, RANDOM_PLANE_KM + 1);
    at.y_km = (int32_t)rng_below(r, RANDOM_PLANE_KM + 1);
    return at;
}

/* In whole kilometres, so that distances compare exactly. */
static int64_t square_km2(random_point a, random_point b)
{
    int64_t x = a.x_km - b.x_km, y = a.y_km - b.y_km;
    return x * x + y * y;
}

double random_distance_km(random_point a, random_point b) { return sqrt((double)square_km2(a, b)); }

/* Arrays double where the count is a power of two. */
static edgeps_err add_edge(random_graph *graph, size_t a, size_t b)
{
    size_t count = graph->edge_count;
    if (count == RANDOM_MAX_EDGES)
        return EDGEPS_FORMAT;
    if ((count & (count - 1)) == 0) {
        random_edge *more = mem_resize(graph->edges, count ? 2 * count : 1, sizeof *more);
        if (!more)
            return EDGEPS_NOMEM;
        graph->edges = more;
    }
    graph->edges[graph->edge_count++] = (random_edge){(uint32_t)a, (uint32_t)b};
    return EDGEPS_OK;
}

static edgeps_err finish(edgeps_err err, random_graph *graph, random_graph *out)
{
    if (err)
        random_graph_free(graph);
    else
        *out = *graph;
    return err;
}

edgeps_err random_waxman(const random_point *points, size_t count, double alpha, double beta,
                         rng *r, random_graph *out)
{
    random_graph graph = {0};
    edgeps_err err = EDGEPS_OK;
    double reach_km = alpha * RANDOM_PLANE_KM * sqrt(2);
    for (size_t b = 1; !err && b < count; b++)
        for (size_t a = 0; !err && a < b; a++)
            if (rng_uniform(r) < beta * exp(-random_distance_km(points[a], points[b]) / reach_km))
                err = add_edge(&graph, a, b);
    return finish(err, &graph, out);
}

/* `last[v]` is the node that v was last joined to, so that nobody is joined twice. */
static edgeps_err attach(random_graph *graph, size_t node, size_t links, uint32_t *last, rng *r)
{
    edgeps_err err = EDGEPS_OK;
    size_t before = graph->edge_count;
    while (!err && graph->edge_count < before + links) {
        uint64_t end = rng_below(r, 2 * before);
        random_edge edge = graph->edges[end / 2];
        uint32_t other = end % 2 ? edge.b : edge.a;
        if (last[other] == node)
            continue;
        last[other] = (uint32_t)node;
        err = add_edge(graph, other, node);
    }
    return err;
}

edgeps_err random_barabasi_albert(size_t count, size_t links, rng *r, random_graph *out)
{
    random_graph graph = {0};
    size_t core = links < count ? links + 1 : count;
    uint32_t *last = mem_alloc(count, sizeof *last);
    edgeps_err err = last ? EDGEPS_OK : EDGEPS_NOMEM;
    for (size_t b = 1; !err && b < core; b++)
        for (size_t a = 0; !err && a < b; a++)
            err = add_edge(&graph, a, b);
    for (size_t node = core; !err && node < count; node++)
        err = attach(&graph, node, links, last, r);
    mem_free(last);
    return finish(err, &graph, out);
}

static uint32_t root_of(uint32_t *parent, uint32_t v)
{
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

/* What Prim's algorithm knows of a node outside of the part that is connected to the first one. */
typedef struct outsider {
    int64_t square_km2; /* to the nearest node inside */
    uint32_t nearest;
    bool inside;
} outsider;

static void move_inside(const random_point *points, size_t count, outsider *nodes, uint32_t v)
{
    nodes[v].inside = true;
    for (size_t u = 0; u < count; u++) {
        int64_t square = square_km2(points[u], points[v]);
        if (!nodes[u].inside && square < nodes[u].square_km2) {
            nodes[u].square_km2 = square;
            nodes[u].nearest = v;
        }
    }
}

static edgeps_err join_parts(const random_point *points, size_t count, uint32_t *parent,
                             outsider *nodes, random_graph *graph)
{
    uint32_t next = 0;
    for (;;) {
        uint32_t part = root_of(parent, next);
        for (size_t v = 0; v < count; v++)
            if (root_of(parent, (uint32_t)v) == part)
                move_inside(points, count, nodes, (uint32_t)v);
        next = UINT32_MAX;
        for (size_t v = 0; v < count; v++)
            if (!nodes[v].inside &&
                (next == UINT32_MAX || nodes[v].square_km2 < nodes[next].square_km2))
                next = (uint32_t)v;
        if (next == UINT32_MAX)
            return EDGEPS_OK;
        edgeps_err err = add_edge(graph, nodes[next].nearest, next);
        if (err)
            return err;
    }
}

edgeps_err random_connect(const random_point *points, size_t count, random_graph *graph)
{
    uint32_t *parent = mem_alloc(count, sizeof *parent);
    outsider *nodes = mem_alloc(count, sizeof *nodes);
    edgeps_err err = EDGEPS_NOMEM;
    if (parent && nodes) {
        for (size_t v = 0; v < count; v++) {
            parent[v] = (uint32_t)v;
            nodes[v].square_km2 = INT64_MAX;
        }
        for (size_t k = 0; k < graph->edge_count; k++)
            parent[root_of(parent, graph->edges[k].a)] = root_of(parent, graph->edges[k].b);
        err = join_parts(points, count, parent, nodes, graph);
    }
    mem_free(parent);
    mem_free(nodes);
    return err;
}

void random_graph_free(random_graph *graph)
{
    mem_free(graph->edges);
    *graph = (random_graph){0};
}
