/* The mixed integer program of cover/pack.h. Of shard s: y_j (local server on j), z_j (global
 * server on j), k (local servers), w_j (their number where the global server is, else 0), and m_gj
 * (workers of group g that j serves).
 *
 *     sum_j z_j = 1,  sum_j y_j = k <= most,  w_j >= k - most (1 - z_j),  sum_j m_gj = size_g
 *     sum_g m_gj <= workers y_j,  sum_{a not joined to b} y_a <= apart_b (1 - z_b)
 *     sum_s local y_j + child sum_g m_gj + global z_j + link w_j <= capacity_j */
#include "cover/pack.h"

#include "base/mem.h"
#include "cover/cover_int.h"

#include <math.h>

#define MOST_COLUMNS 20000
#define MOST_NODES 20000

/* Rows of a shard, from its first; those of the storage come before all shards. */
typedef struct rows {
    size_t one;   /* global server */
    size_t count; /* of local servers */
    size_t link;  /* + server */
    size_t open;  /* + server */
    size_t apart; /* + server */
    size_t group; /* + group */
    size_t each;  /* rows of a shard */
} rows;

typedef struct program {
    const cover_pack *c;
    rows r;
    double most;     /* local servers of a shard */
    double workers;  /* of all groups */
    uint32_t *apart; /* per server: how many others it does not join */
    size_t apart_sum;
    cover_lp g;
} program;

static size_t row(const program *p, size_t shard, size_t offset)
{
    return p->c->server_count + shard * p->r.each + offset;
}

static rows lay_out(const cover_pack *c)
{
    size_t n = c->server_count;
    rows r = {.one = 0, .count = 1, .link = 2};
    r.open = r.link + n;
    r.apart = r.open + n;
    r.group = r.apart + n;
    r.each = r.group + c->group_count + 1; /* the last orders equal shards */
    return r;
}

static void free_program(program *p)
{
    mem_free(p->apart);
    cover_lp_free(&p->g);
}

static edgeps_err make_program(const cover_pack *c, program *out)
{
    size_t n = c->server_count, groups = c->group_count;
    program p = {.c = c, .r = lay_out(c)};
    p.most = fmin((double)c->most_locals, (double)n);
    p.apart = mem_alloc(n, sizeof *p.apart);
    if (!p.apart)
        return EDGEPS_NOMEM;
    for (size_t g = 0; g < groups; g++)
        p.workers += c->group_size[g];
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            p.apart[b] += !c->joins[a * n + b];
    for (size_t b = 0; b < n; b++)
        p.apart_sum += p.apart[b];
    /* y has 3 entries and one per server that it does not join, z 6, w 2, m 3, k 1 + n. */
    size_t entries = c->shard_count * (n * 11 + p.apart_sum + groups * n * 3 + 1 + n);
    size_t columns = c->shard_count * (n * (3 + groups) + 1);
    edgeps_err err = cover_lp_make(n + c->shard_count * p.r.each, columns, entries, &p.g);
    if (err)
        free_program(&p);
    else
        *out = p;
    return err;
}

static bool equal_needs(const cover_pack_need *a, const cover_pack_need *b)
{
    return a->local == b->local && a->child == b->child && a->global == b->global &&
           a->link == b->link;
}

static void limit_rows(program *p)
{
    const cover_pack *c = p->c;
    size_t n = c->server_count;
    for (size_t j = 0; j < n; j++)
        cover_lp_row(&p->g, j, -INFINITY, c->capacity[j]);
    for (size_t s = 0; s < c->shard_count; s++) {
        cover_lp_row(&p->g, row(p, s, p->r.one), 1, 1);
        cover_lp_row(&p->g, row(p, s, p->r.count), 0, 0);
        for (size_t j = 0; j < n; j++) {
            cover_lp_row(&p->g, row(p, s, p->r.link + j), -p->most, INFINITY);
            cover_lp_row(&p->g, row(p, s, p->r.open + j), -INFINITY, 0);
            cover_lp_row(&p->g, row(p, s, p->r.apart + j), -INFINITY, p->apart[j]);
        }
        for (size_t g = 0; g < c->group_count; g++)
            cover_lp_row(&p->g, row(p, s, p->r.group + g), c->group_size[g], c->group_size[g]);
        bool ordered = s > 0 && equal_needs(&c->need[s - 1], &c->need[s]);
        cover_lp_row(&p->g, row(p, s, p->r.each - 1), ordered ? 0 : -INFINITY, INFINITY);
    }
}

static void add_local(program *p, size_t s, size_t j)
{
    const cover_pack *c = p->c;
    cover_lp_begin(&p->g, 1, 0);
    cover_lp_entry(&p->g, j, c->need[s].local);
    cover_lp_entry(&p->g, row(p, s, p->r.count), 1);
    cover_lp_entry(&p->g, row(p, s, p->r.open + j), -p->workers);
    for (size_t b = 0; b < c->server_count; b++)
        if (!c->joins[j * c->server_count + b])
            cover_lp_entry(&p->g, row(p, s, p->r.apart + b), 1);
    cover_lp_end(&p->g);
}

static void add_global(program *p, size_t s, size_t j)
{
    cover_lp_begin(&p->g, 1, 0);
    cover_lp_entry(&p->g, j, p->c->need[s].global);
    cover_lp_entry(&p->g, row(p, s, p->r.one), 1);
    cover_lp_entry(&p->g, row(p, s, p->r.link + j), -p->most);
    cover_lp_entry(&p->g, row(p, s, p->r.apart + j), p->apart[j]);
    /* Global servers of equal shards stand in the order of the shards. */
    cover_lp_entry(&p->g, row(p, s, p->r.each - 1), (double)j);
    if (s + 1 < p->c->shard_count)
        cover_lp_entry(&p->g, row(p, s + 1, p->r.each - 1), -(double)j);
    cover_lp_end(&p->g);
}

static void add_links(program *p, size_t s, size_t j)
{
    cover_lp_begin(&p->g, p->most, 0);
    cover_lp_entry(&p->g, j, p->c->need[s].link);
    cover_lp_entry(&p->g, row(p, s, p->r.link + j), 1);
    cover_lp_end(&p->g);
}

static void add_load(program *p, size_t s, size_t g, size_t j)
{
    const cover_pack *c = p->c;
    bool reach = c->reach[j * c->group_count + g];
    cover_lp_begin(&p->g, reach ? c->group_size[g] : 0, 0);
    cover_lp_entry(&p->g, j, c->need[s].child);
    cover_lp_entry(&p->g, row(p, s, p->r.open + j), 1);
    cover_lp_entry(&p->g, row(p, s, p->r.group + g), 1);
    cover_lp_end(&p->g);
}

/* Columns of a shard: y, z, w of all servers, m of all groups and servers, k. */
static void add_shard(program *p, size_t s)
{
    size_t n = p->c->server_count;
    for (size_t j = 0; j < n; j++)
        add_local(p, s, j);
    for (size_t j = 0; j < n; j++)
        add_global(p, s, j);
    for (size_t j = 0; j < n; j++)
        add_links(p, s, j);
    for (size_t g = 0; g < p->c->group_count; g++)
        for (size_t j = 0; j < n; j++)
            add_load(p, s, g, j);
    cover_lp_begin(&p->g, p->most, 0);
    cover_lp_entry(&p->g, row(p, s, p->r.count), -1);
    for (size_t j = 0; j < n; j++)
        cover_lp_entry(&p->g, row(p, s, p->r.link + j), -1);
    cover_lp_end(&p->g);
}

static void read_solution(const cover_pack *c, const double *x, cover_pack_answer *a)
{
    size_t n = c->server_count, loads = c->group_count * n;
    for (size_t s = 0; s < c->shard_count; s++) {
        const double *of = x + s * (3 * n + loads + 1);
        for (size_t j = 0; j < n; j++)
            if (of[n + j] > 0.5)
                a->global[s] = (uint32_t)j;
        for (size_t k = 0; k < loads; k++)
            a->load[s * loads + k] = (uint32_t)lround(of[3 * n + k]);
    }
}

static edgeps_err solve(program *p, cover_pack_answer *a)
{
    const cover_branch_limits limits = {
        .most_nodes = MOST_NODES, .seconds = p->c->deadline_s, .any = true};
    cover_branch_end end;
    limit_rows(p);
    for (size_t s = 0; s < p->c->shard_count; s++)
        add_shard(p, s);
    double *x = mem_alloc((size_t)p->g.columns, sizeof *x);
    if (!x)
        return EDGEPS_NOMEM;
    edgeps_err err = cover_lp_branch(&p->g, &limits, x, &end);
    if (!err) {
        a->verdict = end.found ? COVER_YES : end.done ? COVER_NO : COVER_UNSURE;
        if (end.found)
            read_solution(p->c, x, a);
    }
    mem_free(x);
    return err;
}

void cover_pack_answer_free(cover_pack_answer *a)
{
    mem_free(a->global);
    mem_free(a->load);
    *a = (cover_pack_answer){0};
}

edgeps_err cover_pack_solve(const cover_pack *c, cover_pack_answer *out)
{
    program p;
    cover_pack_answer a = {.verdict = COVER_UNSURE};
    size_t loads = c->shard_count * c->group_count * c->server_count;
    bool small = c->shard_count * c->server_count * (3 + c->group_count) <= MOST_COLUMNS;
    a.global = mem_alloc(c->shard_count, sizeof *a.global);
    a.load = mem_alloc(loads, sizeof *a.load);
    edgeps_err err = a.global && a.load ? EDGEPS_OK : EDGEPS_NOMEM;
    if (!err && c->server_count == 0)
        a.verdict = COVER_NO;
    else if (!err && small) {
        err = make_program(c, &p);
        if (!err) {
            err = solve(&p, &a);
            free_program(&p);
        }
    }
    if (err)
        cover_pack_answer_free(&a);
    else
        *out = a;
    return err;
}
