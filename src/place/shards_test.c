/* Placement in shards against enumeration, and what must hold of every answer. */
#include "place/shards.h"

#include "base/mem.h"
#include "base/test_draws.h"
#include "place/place_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static place_set_result run(const char *algorithm, const problem *p, size_t shards, uint64_t seed)
{
    place_set_result r;
    edgeps_diag diag = {.text = ""};
    const place_options options = {.seed = seed};
    if (place_shards(algorithm, p, shards, &options, &diag, &r))
        fail_msg("%zu shards: %s", shards, diag.text);
    return r;
}

/* Everything that is said of an answer, held against the evaluator and the check. */
static void assert_sound(const problem *p, const place_set_result *r)
{
    edgeps_diag diag = {.text = ""};
    double round_s;
    assert_true(r->reason[0]);
    if (r->status == PLACE_INFEASIBLE) {
        assert_int_equal(r->set.count, 0);
        return;
    }
    if (plan_set_check(&r->set, p, &diag))
        fail_msg("%s", diag.text);
    assert_int_equal(cost_set_round_s(p, &r->set, &round_s), EDGEPS_OK);
    assert_true(round_s == r->cost.round_s);
    assert_true(r->lower_bound_s <= round_s);
}

/* ---- the oracle: every set of plans that the check accepts, each played ---- */

#define MOST_PLANS 400 /* of one shard */
#define QUICK 24
#define LONG 400

typedef struct oracle {
    plan plans[MOST_PLANS];
    size_t count;
    bool too_many;
    double best_s; /* of all sets of two; INFINITY: there is none */
} oracle;

/* Counts the parents up like a number of `count` digits; false after the last. */
static bool next_parents(const problem *p, plan *pl)
{
    for (size_t i = 0; i < p->count; i++) {
        if (!p->nodes[i].train)
            continue;
        if (++pl->parent[i] < (int32_t)p->count)
            return true;
        pl->parent[i] = 0;
    }
    return false;
}

static void list_plans(const problem *p, oracle *o)
{
    problem part = problem_shard(p, 1, 2); /* the smaller */
    plan pl;
    if (plan_make(p->count, &pl))
        abort();
    for (size_t i = 0; i < p->count; i++)
        pl.parent[i] = p->nodes[i].train ? 0 : PLAN_NONE;
    do {
        for (pl.global = 0; pl.global < (int32_t)p->count; pl.global++) {
            if (plan_check(&pl, &part, NULL) != EDGEPS_OK)
                continue;
            o->too_many = o->count == MOST_PLANS;
            if (o->too_many || plan_copy(&pl, &o->plans[o->count++]))
                goto out;
        }
    } while (next_parents(p, &pl));
out:
    plan_free(&pl);
}

static void enumerate(const problem *p, oracle *o)
{
    double scratch[COST_SET_SCRATCH * 5], round_s;
    plan pair[2];
    plan_set set = {2, pair};
    *o = (oracle){.best_s = INFINITY};
    assert_true(p->count <= 5);
    list_plans(p, o);
    for (size_t a = 0; a < o->count && !o->too_many; a++)
        for (size_t b = 0; b < o->count; b++) {
            pair[0] = o->plans[a];
            pair[1] = o->plans[b];
            if (plan_set_check(&set, p, NULL) != EDGEPS_OK ||
                cost_set_bound_s(p, &set, scratch) >= o->best_s)
                continue;
            if (cost_set_round_s(p, &set, &round_s))
                abort();
            o->best_s = fmin(o->best_s, round_s);
        }
    for (size_t k = 0; k < o->count; k++)
        plan_free(&o->plans[k]);
    o->count = 0;
}

/* About what the servers of one or two shards need, or a byte less. */
static int64_t draw_free(rng *r, const job *part)
{
    int64_t globals = (int64_t)rng_below(r, 3), locals = (int64_t)rng_below(r, 3);
    int64_t need = globals * job_global_need_bytes(part, 1 + (int64_t)rng_below(r, 2)) +
                   locals * job_local_need_bytes(part, 1 + (int64_t)rng_below(r, 4));
    return need > 0 ? need - (int64_t)rng_below(r, 2) : 0;
}

static problem *tiny(uint64_t seed, bool tight)
{
    fixture_kind kind = fixture_any_kind(seed, 3 + seed % 3);
    kind.chunks = kind.chunks == 1 ? 1 : 2 + kind.chunks;
    kind.tight = tight;
    kind.gaps = kind.count > 3;
    kind.max_locals = kind.count < 5 ? kind.max_locals : 1;
    problem *p = fixture_problem(seed, kind);
    if (tight) { /* about what two shards need */
        rng r = rng_make(seed, 79);
        problem part = problem_shard(p, 0, 2);
        for (size_t j = 0; j < p->count; j++)
            p->nodes[j].free_bytes = draw_free(&r, &part.job);
    }
    return p;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static size_t instances;

/* The search against all pairs of plans, where these are few enough. */
static void two_shards_are_close_to_the_best_of_all(void **state)
{
    (void)state;
    static oracle o;
    double ratio[LONG];
    size_t count = 0, none = 0;
    for (uint64_t seed = 0; seed < instances; seed++) {
        problem *p = tiny(seed, seed % 2);
        enumerate(p, &o);
        place_set_result r = {.status = PLACE_INFEASIBLE};
        if (!o.too_many && job_most_shards(&p->job) > 1) {
            r = run("approx", p, 2, seed);
            assert_sound(p, &r);
            assert_int_equal(r.status == PLACE_INFEASIBLE, o.best_s == INFINITY);
            none += o.best_s == INFINITY;
        }
        if (r.status != PLACE_INFEASIBLE) {
            assert_true(r.lower_bound_s <= o.best_s * (1 + 1e-9));
            ratio[count++] = r.cost.round_s / o.best_s;
        }
        place_set_result_free(&r);
        fixture_free(p);
    }
    qsort(ratio, count, sizeof *ratio, ascending);
    print_message("two shards: %zu instances, median %.4f, worst %.4f of the best; %zu have none\n",
                  count, ratio[count / 2], ratio[count - 1], none);
    assert_in_range(count, instances / 2, instances);
    assert_true(none >= instances / 20);
    assert_true(ratio[count / 2] < 1 + 1e-9);
    assert_true(ratio[count * 9 / 10] < 1.03);
    assert_true(ratio[count - 1] < 1.2);
}

static void one_shard_is_the_ordinary_plan(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        problem *p = fixture_problem(seed, fixture_any_kind(seed, 3 + seed % 6));
        place_result plain = fixture_run("approx", p, seed);
        place_set_result r = run("approx", p, 1, seed);
        assert_int_equal(r.status, plain.status);
        assert_string_equal(r.reason, plain.reason);
        assert_true(r.lower_bound_s == plain.lower_bound_s);
        if (plain.status != PLACE_INFEASIBLE) {
            assert_true(plan_equal(&r.set.shards[0], &plain.plan));
            assert_int_equal(r.set.shards[0].generation, plain.plan.generation);
            assert_true(r.cost.round_s == plain.cost.round_s);
        }
        place_result_free(&plain);
        place_set_result_free(&r);
        fixture_free(p);
    }
}

static void shards_hold_the_model_once_and_every_algorithm_places_them(void **state)
{
    (void)state;
    problem *p = fixture_problem(3, (fixture_kind){.count = 6, .max_locals = 2, .chunks = 7});
    for (size_t a = 0; a < place_algorithm_count; a++) {
        int64_t parameters = 0, state_bytes = 0, need_bytes = 0;
        const place_options options = {.seed = 1, .no_polish = true};
        place_set_result r;
        assert_int_equal(place_shards(place_algorithms[a].name, p, 3, &options, NULL, &r), 0);
        assert_sound(p, &r);
        assert_int_equal(r.set.count, 3);
        for (int64_t s = 0; s < 3; s++) {
            job part = job_shard(&p->job, s, 3);
            plan_set alone = {1, &r.set.shards[s]};
            parameters += part.parameter_count;
            state_bytes += job_global_state_bytes(&part);
            for (size_t j = 0; j < p->count; j++)
                need_bytes += plan_set_need_bytes(&alone, &part, j);
        }
        assert_int_equal(parameters, p->job.parameter_count);
        assert_int_equal(state_bytes, job_global_state_bytes(&p->job));
        for (size_t j = 0; j < p->count; j++)
            need_bytes -= plan_set_need_bytes(&r.set, &p->job, j);
        assert_int_equal(need_bytes, 0);
        place_set_result_free(&r);
    }
    fixture_free(p);
}

/* Node i of the problem is node n - 1 - i of its mirror image. */
static problem *mirrored(const problem *p)
{
    problem *m = fixture_copy(p);
    size_t n = p->count;
    for (size_t a = 0; a < n; a++) {
        m->nodes[a] = p->nodes[n - 1 - a];
        m->nodes[a].site = (uint32_t)a;
        for (size_t b = 0; b < n; b++) {
            size_t pair = (n - 1 - a) * n + n - 1 - b;
            m->latency_s[a * n + b] = p->latency_s[pair];
            m->cap_bytes_per_s[a * n + b] = p->cap_bytes_per_s[pair];
        }
    }
    return m;
}

/* The names of the nodes change neither what is feasible nor, but for luck, what is found. */
static void other_names_give_plans_as_good(void **state)
{
    (void)state;
    double worst = 1;
    for (uint64_t seed = 0; seed < test_draws(12); seed++) {
        problem *p = tiny(seed, seed % 2), *m = mirrored(p);
        size_t shards = job_most_shards(&p->job) > 1 ? 2 : 1;
        place_set_result r = run("approx", p, shards, 1), of_m = run("approx", m, shards, 1);
        assert_sound(m, &of_m);
        assert_int_equal(r.status == PLACE_INFEASIBLE, of_m.status == PLACE_INFEASIBLE);
        if (r.status != PLACE_INFEASIBLE) {
            double ratio = r.cost.round_s / of_m.cost.round_s;
            worst = fmax(worst, fmax(ratio, 1 / ratio));
            assert_true(r.lower_bound_s <= of_m.cost.round_s * (1 + 1e-9));
            assert_true(of_m.lower_bound_s <= r.cost.round_s * (1 + 1e-9));
        }
        place_set_result_free(&r);
        place_set_result_free(&of_m);
        fixture_free(p);
        fixture_free(m);
    }
    print_message("mirrored: %.4f at worst\n", worst);
    assert_true(worst < 1.2);
}

/* `count` equal nodes, each with storage for the servers of a 1/`parts` of the model and no more:
 * one global server with one local server that has all workers. */
static problem *parts_fit(size_t count, int64_t parts)
{
    problem *p = fixture_problem(
        1, (fixture_kind){.count = count, .max_locals = 1, .chunks = 8, .uniform = true});
    p->job.chunk_bytes = 80000;
    p->job.parameter_count = 40 * p->job.chunk_bytes / JOB_VALUE_BYTES;
    job part = job_shard(&p->job, 0, parts);
    for (size_t j = 0; j < count; j++)
        p->nodes[j].free_bytes =
            job_global_need_bytes(&part, 1) + job_local_need_bytes(&part, (int64_t)count);
    return p;
}

static void what_fits_on_no_node_is_cut_into_as_few_shards_as_fit(void **state)
{
    (void)state;
    problem *p = parts_fit(6, 4);
    assert_true(place_shards_may_help(p));
    for (size_t shards = 1; shards < 4; shards++) {
        place_set_result r = run("approx", p, shards, 1);
        assert_int_equal(r.status, PLACE_INFEASIBLE);
        assert_sound(p, &r);
        place_set_result_free(&r);
    }
    place_set_result four = run("approx", p, 4, 1), r = run("approx", p, PLACE_AUTO_SHARDS, 1);
    assert_sound(p, &four);
    assert_sound(p, &r);
    assert_int_equal(four.set.count, 4);
    assert_in_range(r.set.count, 4, 8);
    assert_true(r.cost.round_s <= four.cost.round_s);
    assert_true(r.lower_bound_s > 0);
    assert_non_null(strstr(r.reason, "of 4 to "));
    place_set_result_free(&four);
    place_set_result_free(&r);
    fixture_free(p);
}

static void too_little_storage_in_all_is_said(void **state)
{
    (void)state;
    problem *p = parts_fit(3, 8);
    place_set_result r = run("approx", p, PLACE_AUTO_SHARDS, 1);
    assert_int_equal(r.status, PLACE_INFEASIBLE);
    assert_non_null(strstr(r.reason, "storage: the servers of 1 shard need at least "));
    assert_false(place_shards_may_help(p));
    place_set_result_free(&r);
    fixture_free(p);
}

static bool stop(void *context, const place_progress *now)
{
    (void)context;
    (void)now;
    return false;
}

static void a_stopped_search_has_a_plan_and_says_why_it_ended(void **state)
{
    (void)state;
    problem *p = fixture_problem(2, (fixture_kind){.count = 9, .max_locals = 3, .chunks = 6});
    const place_options told = {.progress = stop}, late = {.deadline_s = 1e-6};
    for (size_t shards = 0; shards < 4; shards++) {
        place_set_result r;
        assert_int_equal(place_shards("approx", p, shards, &told, NULL, &r), EDGEPS_OK);
        assert_sound(p, &r);
        assert_int_equal(r.stopped, PLACE_STOPPED_CANCELLED);
        place_set_result_free(&r);
        assert_int_equal(place_shards("approx", p, shards, &late, NULL, &r), EDGEPS_OK);
        assert_sound(p, &r);
        assert_int_equal(r.stopped, PLACE_STOPPED_DEADLINE);
        place_set_result_free(&r);
    }
    fixture_free(p);
}

static void the_same_seed_gives_the_same_shards(void **state)
{
    (void)state;
    problem *p = fixture_problem(4, (fixture_kind){.count = 8, .max_locals = 3, .chunks = 6});
    place_set_result a = run("approx", p, 3, 5), b = run("approx", p, 3, 5);
    assert_true(plan_set_equal(&a.set, &b.set));
    assert_true(a.cost.round_s == b.cost.round_s);
    assert_true(a.lower_bound_s == b.lower_bound_s);
    place_set_result_free(&a);
    place_set_result_free(&b);
    fixture_free(p);
}

static void refuses(const problem *p, const char *name, size_t shards, const char *words)
{
    edgeps_diag diag = {.text = ""};
    place_set_result r;
    assert_int_equal(place_shards(name, p, shards, NULL, &diag, &r), EDGEPS_USAGE);
    if (!strstr(diag.text, words))
        fail_msg("'%s' lacks '%s'", diag.text, words);
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    problem *p = fixture_problem(4, (fixture_kind){.count = 4, .max_locals = 3, .chunks = 6});
    refuses(p, "approx", 7, "shards: this job can be cut into 1 to 6, not 7");
    refuses(p, "magic", 2, "algorithm 'magic' is not known");
    fixture_free(p);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    problem *p = fixture_problem(5, (fixture_kind){.count = 3, .max_locals = 1, .chunks = 2});
    edgeps_err err = EDGEPS_NOMEM;
    long nth = 0;
    while (err == EDGEPS_NOMEM) {
        place_set_result r = {.reason = "untouched"};
        nth += 1 + nth / 15; /* the later ones recur in every restart */
        mem_fail_at(nth);
        err = place_shards("greedy", p, 2, NULL, NULL, &r);
        mem_fail_at(0);
        if (err == EDGEPS_NOMEM)
            assert_string_equal(r.reason, "untouched");
        else
            place_set_result_free(&r);
    }
    assert_int_equal(err, EDGEPS_OK);
    assert_in_range(nth, 20, 1000000);
    fixture_free(p);
}

/* "long": more instances. */
int main(int argc, char **argv)
{
    instances = argc > 1 && strcmp(argv[1], "long") == 0 ? LONG : test_draws(QUICK);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_shards_are_close_to_the_best_of_all),
        cmocka_unit_test(one_shard_is_the_ordinary_plan),
        cmocka_unit_test(shards_hold_the_model_once_and_every_algorithm_places_them),
        cmocka_unit_test(other_names_give_plans_as_good),
        cmocka_unit_test(what_fits_on_no_node_is_cut_into_as_few_shards_as_fit),
        cmocka_unit_test(too_little_storage_in_all_is_said),
        cmocka_unit_test(a_stopped_search_has_a_plan_and_says_why_it_ended),
        cmocka_unit_test(the_same_seed_gives_the_same_shards),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
