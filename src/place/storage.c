/* The largest free storage first: where memory is what is short, the roomiest nodes hold the most
 * workers with the fewest servers. */
#include "place/place_int.h"

#include "base/mem.h"

static edgeps_err choose(place_choice *c, uint64_t seed)
{
    (void)seed;
    edgeps_err err = EDGEPS_NOMEM;
    double *free_bytes = mem_alloc(c->gr->count, sizeof *free_bytes);
    if (free_bytes) {
        for (size_t j = 0; j < c->gr->count; j++)
            free_bytes[j] = (double)c->gr->p->nodes[j].free_bytes;
        place_choice_rank(c, free_bytes);
        err = place_choice_prefixes(c, c->servers, c->server_count);
    }
    mem_free(free_bytes);
    return err;
}

edgeps_err place_storage(const problem *p, const place_options *options, edgeps_diag *diag,
                         place_result *out)
{
    (void)diag;
    return place_choose(p, options, choose, out);
}
