#include "bench/bench_int.h"

#include "base/mem.h"

#include <math.h>

#define EXACT_S 10          /* what `exact` is given at n = 100 ... */
#define EXACT_GAP 0.01      /* ... to come this near */
#define REFERENCE_S 60      /* for the best of a small instance */
#define MANY_NODES 300      /* above, fewer seeds in proportion */
#define USUAL_SPREAD 10     /* as generate_defaults has it */
#define TIGHT_BYTES 1048576 /* holds few children, and not every node can be the global server */

const char *const bench_table_names[] = {"quality", "exact", "approx", "pcenter", NULL};

static const size_t quality_nodes[] = {9, 10, 11, 12};
static const size_t exact_nodes[] = {100};
static const size_t approx_nodes[] = {10, 30, 100, 300, 1000, 3000, 10000};
static const char *const quality_algorithms[] = {"approx", "rounding", "rounding-derandomized",
                                                 "greedy", "kmedian",  "gonzalez",
                                                 "degree", "storage",  "uniform",
                                                 "random", "genetic",  "pso"};
static const char *const approx_algorithms[] = {"approx"};

typedef struct list {
    const bench_request *r;
    bench_case *cases;
    size_t count, room;
    bool failed;
} list;

static void add(list *l, bench_case c)
{
    bench_case *cases = mem_grow(l->cases, l->count + 1, sizeof *cases, &l->room);
    if (!cases) {
        l->failed = true;
        return;
    }
    if (l->r->deadline_s > 0)
        c.deadline_s = l->r->deadline_s;
    if (l->r->max_locals)
        c.max_locals = l->r->max_locals;
    l->cases = cases;
    l->cases[l->count++] = c;
}

static bench_case usual_case(const bench_request *r, bench_table table, size_t nodes, uint64_t seed)
{
    return (bench_case){
        .table = table,
        .kind = r->kind,
        .nodes = nodes,
        .seed = seed,
        .spread = USUAL_SPREAD,
        .free_bytes = generate_defaults(r->kind, nodes, seed).free_bytes,
        .max_locals = (size_t)ceil(sqrt((double)nodes)),
        .polish = true,
    };
}

static void add_algorithms(list *l, bench_case c, const char *const *own, size_t own_count)
{
    const char *const *names = l->r->algorithms ? l->r->algorithms : own;
    size_t count = l->r->algorithms ? l->r->algorithm_count : own_count;
    for (size_t a = 0; a < count; a++) {
        c.algorithm = names[a];
        for (int polish = 1; polish >= 0; polish--) {
            c.polish = polish;
            add(l, c);
        }
    }
}

/* The k-th instance: every combination of size, discipline, storage, spread and K comes before one
 * of them comes again. */
static void add_quality(list *l, const size_t *nodes, size_t node_count)
{
    for (size_t k = 0; k < l->r->seeds; k++) {
        size_t rest = k / node_count;
        bench_case c = usual_case(l->r, BENCH_QUALITY, nodes[k % node_count], l->r->seed + k);
        c.transfer = rest % 2 ? JOB_PIPELINED : JOB_STORE_AND_FORWARD;
        c.free_bytes = rest / 2 % 2 ? TIGHT_BYTES : c.free_bytes;
        c.spread = rest / 4 % 2 ? 2 : USUAL_SPREAD;
        c.max_locals = 2 + rest / 8 % 3;
        bench_case reference = c;
        reference.algorithm = "exact";
        reference.deadline_s = REFERENCE_S;
        add(l, reference);
        add_algorithms(l, c, quality_algorithms,
                       sizeof quality_algorithms / sizeof *quality_algorithms);
    }
}

static size_t seeds_for(const bench_request *r, size_t nodes)
{
    if (nodes <= MANY_NODES)
        return r->seeds;
    size_t fewer = r->seeds * MANY_NODES / nodes;
    return fewer ? fewer : 1;
}

static void add_exact(list *l, size_t nodes, uint64_t seed, job_transfer transfer)
{
    bench_case c = usual_case(l->r, BENCH_EXACT, nodes, seed);
    c.algorithm = "exact";
    c.deadline_s = EXACT_S;
    c.gap = EXACT_GAP;
    c.transfer = transfer;
    add(l, c);
}

static void add_approx(list *l, size_t nodes, uint64_t seed, job_transfer transfer)
{
    bench_case c = usual_case(l->r, BENCH_APPROX, nodes, seed);
    c.transfer = transfer;
    add_algorithms(l, c, approx_algorithms, sizeof approx_algorithms / sizeof *approx_algorithms);
}

static void add_each(list *l, const size_t *nodes, size_t node_count,
                     void (*add_one)(list *, size_t, uint64_t, job_transfer))
{
    for (size_t n = 0; n < node_count; n++)
        for (size_t k = 0; k < seeds_for(l->r, nodes[n]); k++)
            for (int transfer = JOB_PIPELINED; transfer <= JOB_STORE_AND_FORWARD; transfer++)
                add_one(l, nodes[n], l->r->seed + k, (job_transfer)transfer);
}

/* The table's sizes, or those asked for. */
#define SIZES(r, own)                                                                              \
    (r)->nodes ? (r)->nodes : (own), (r)->nodes ? (r)->node_count : sizeof(own) / sizeof *(own)

edgeps_err bench_cases(const bench_request *r, bench_case **out, size_t *count)
{
    list l = {.r = r};
    if (r->table[BENCH_QUALITY])
        add_quality(&l, SIZES(r, quality_nodes));
    if (r->table[BENCH_EXACT])
        add_each(&l, SIZES(r, exact_nodes), add_exact);
    if (r->table[BENCH_APPROX])
        add_each(&l, SIZES(r, approx_nodes), add_approx);
    if (l.failed) {
        mem_free(l.cases);
        return EDGEPS_NOMEM;
    }
    *out = l.cases;
    *count = l.count;
    return EDGEPS_OK;
}
