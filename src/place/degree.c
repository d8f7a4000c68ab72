/* The best connected nodes first (weighted degree centrality, Freeman 1978): by the gradients and
 * parameters that a node can exchange with all workers at once in a second, as far as pair caps,
 * the workers' links and its own let it. */
#include "place/place_int.h"

#include "base/mem.h"

#include <math.h>

static double degree_of(const place_ground *gr, size_t server)
{
    const problem_node *node = &gr->p->nodes[server];
    double in = 0, out = 0;
    for (size_t w = 0; w < gr->worker_count; w++) {
        size_t i = gr->workers[w];
        if (i == server || !place_path(gr, server, i))
            continue;
        in += problem_rate_bytes_per_s(gr->p, i, server);
        out += problem_rate_bytes_per_s(gr->p, server, i);
    }
    in = fmin(in, node->down_bytes_per_s);
    out = fmin(out, node->up_bytes_per_s);
    return in > 0 && out > 0 ? 1 / (1 / in + 1 / out) : 0;
}

static edgeps_err choose(place_choice *c, uint64_t seed)
{
    (void)seed;
    edgeps_err err = EDGEPS_NOMEM;
    double *degree = mem_alloc(c->gr->count, sizeof *degree);
    if (degree) {
        for (size_t s = 0; s < c->server_count; s++)
            degree[c->servers[s]] = degree_of(c->gr, c->servers[s]);
        place_choice_rank(c, degree);
        err = place_choice_prefixes(c, c->servers, c->server_count);
    }
    mem_free(degree);
    return err;
}

edgeps_err place_degree(const problem *p, const place_options *options, edgeps_diag *diag,
                        place_result *out)
{
    (void)diag;
    return place_choose(p, options, choose, out);
}
