/* Questions asked lazily against the same LP given to CLP in one piece. */
#include "cover/question.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "cover/question_int.h"

#include <math.h>
#include <string.h>

#define MOST ((size_t)40)

typedef struct world {
    size_t workers, servers, budget;
    double purse, cost[MOST];
    bool serves[MOST][MOST];
    cover_offer offer[MOST];
    cover_arc arcs[MOST][MOST];
    cover_server server[MOST];
} world;

static uint32_t most(const void *context, size_t server)
{
    const world *w = context;
    return w->offer[server].capacity + 1;
}

static cover_offer offer(const void *context, size_t server)
{
    return ((const world *)context)->offer[server];
}

static size_t serves(const void *context, size_t server, const cover_list *of, size_t most_served,
                     uint32_t *served)
{
    const world *w = context;
    size_t count = 0;
    for (size_t o = 0; o < of->count && count < most_served; o++)
        if (w->serves[server][of->workers[o]])
            served[count++] = of->workers[o];
    return count;
}

static double cost(const void *context, size_t server)
{
    return ((const world *)context)->cost[server];
}

static cover_question question_of(const world *w)
{
    return (cover_question){w->workers, w->servers, w->budget, w->purse, w,
                            most,       offer,      serves,    cost};
}

static void draw_world(uint64_t seed, size_t least, world *w)
{
    rng r = rng_make(seed, 9);
    memset(w, 0, sizeof *w);
    w->workers = least + rng_below(&r, MOST - least + 1);
    w->servers = least + rng_below(&r, MOST - least + 1);
    w->budget = 1 + rng_below(&r, 8);
    w->purse = INFINITY;
    double density = 0.1 + 0.9 * rng_uniform(&r);
    uint64_t largest = 1 + 2 * w->workers / w->budget;
    for (size_t j = 0; j < w->servers; j++) {
        for (size_t i = 0; i < w->workers; i++)
            w->serves[j][i] = rng_uniform(&r) < density;
        bool aside = j < w->workers && rng_below(&r, 2);
        w->offer[j] =
            (cover_offer){(uint32_t)rng_below(&r, largest), aside ? (uint32_t)j : COVER_NOBODY};
    }
}

/* The same as an instance for CLP: who is served aside has size 0. */
static cover_instance instance_of(world *w)
{
    for (size_t j = 0; j < w->servers; j++) {
        size_t count = 0;
        for (size_t i = 0; i < w->workers; i++) {
            if (w->offer[j].aside == i)
                w->arcs[j][count++] = (cover_arc){(uint32_t)i, 0};
            else if (w->serves[j][i])
                w->arcs[j][count++] = (cover_arc){(uint32_t)i, 1};
        }
        w->server[j] = (cover_server){w->arcs[j], count, w->offer[j].capacity};
    }
    return (cover_instance){w->workers, w->servers, w->server, (double)w->budget};
}

/* Lazily, and by the oracle that asks everybody, which must agree. */
static bool refutes(world *w, const double *price)
{
    bool asked_all;
    cover_prices p;
    cover_top top;
    cover_question q = question_of(w);
    cover_instance c = instance_of(w);
    assert_int_equal(cover_refutes(&c, price, &asked_all), EDGEPS_OK);
    assert_int_equal(cover_prices_make(price, w->workers, 0, &p), EDGEPS_OK);
    assert_int_equal(cover_top_make(w->workers, w->servers, &top), EDGEPS_OK);
    bool lazily = cover_prices_refute(&q, &p, &top);
    assert_int_equal(lazily, asked_all);
    cover_prices_free(&p);
    cover_top_free(&top);
    return lazily;
}

/* The shares keep the budget, and the flow through them keeps every limit. */
static void check_solution(world *w, const double *open)
{
    double sum = 0;
    cover_flow f;
    cover_column columns[MOST];
    uint64_t sets[MOST] = {0};
    for (size_t j = 0; j < w->servers; j++) {
        cover_offer o = w->offer[j];
        columns[j] = (cover_column){(uint32_t)j, o.capacity, o.aside, &sets[j], open[j]};
        for (size_t i = 0; i < w->workers; i++)
            if (w->serves[j][i] && i != o.aside)
                cover_put(&sets[j], i);
        assert_true(open[j] >= 0 && open[j] <= 1);
        sum += open[j];
    }
    assert_true(sum <= (double)w->budget + 1e-6);
    assert_int_equal(cover_flow_make(w->workers, w->servers, &f), EDGEPS_OK);
    assert_true(cover_flow_run(&f, columns, w->servers) <= 1e-4);
    for (size_t j = 0; j < w->servers; j++) {
        double all = 0;
        for (size_t i = 0; i < w->workers; i++) {
            double take = f.take[j * w->workers + i];
            assert_true(take >= 0 && take <= open[j] + 1e-9);
            assert_true(take == 0 || w->serves[j][i]);
            all += take;
        }
        assert_true(all <= open[j] * w->offer[j].capacity + 1e-9);
    }
    cover_flow_free(&f);
}

static void replies_equal_those_of_clp(void **state)
{
    (void)state;
    size_t no = 0, yes = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        world w;
        cover_answer exact;
        cover_reply r;
        draw_world(seed, 2, &w);
        cover_instance c = instance_of(&w);
        cover_question q = question_of(&w);
        assert_int_equal(cover_solve(&c, &exact), EDGEPS_OK);
        assert_int_equal(cover_decide_question(&q, NULL, 0, &r), EDGEPS_OK);
        if (r.verdict != exact.verdict)
            fail_msg("seed %d: %d, by CLP %d", (int)seed, (int)r.verdict, (int)exact.verdict);
        assert_int_equal(refutes(&w, exact.weight), exact.verdict == COVER_NO);
        if (r.verdict == COVER_NO)
            assert_true(refutes(&w, r.price));
        else
            check_solution(&w, r.open);
        no += r.verdict == COVER_NO;
        yes += r.verdict == COVER_YES;
        cover_answer_free(&exact);
        cover_reply_free(&r);
    }
    assert_in_range(no, 100, 300);
    assert_in_range(yes, 100, 300);
}

static void hints_change_no_reply(void **state)
{
    (void)state;
    size_t at_once = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        world w;
        cover_reply first, again;
        cover_prices hint;
        draw_world(seed, 20, &w);
        cover_question q = question_of(&w);
        assert_int_equal(cover_decide_question(&q, NULL, 0, &first), EDGEPS_OK);
        assert_int_equal(cover_prices_make(first.price, w.workers, first.toll, &hint), EDGEPS_OK);
        assert_int_equal(cover_decide_question(&q, &hint, 1, &again), EDGEPS_OK);
        assert_int_equal(first.verdict, again.verdict);
        if (first.verdict == COVER_NO)
            assert_true(again.rounds == 0);
        at_once += first.verdict == COVER_NO;
        cover_prices_free(&hint);
        cover_reply_free(&first);
        cover_reply_free(&again);
    }
    assert_in_range(at_once, 20, 80);
}

/* Equal costs are a budget in another unit: a purse of k of them says what a budget of k does. */
static void a_purse_of_equal_costs_is_a_budget(void **state)
{
    (void)state;
    size_t tolled = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        world w;
        cover_reply by_budget, by_purse;
        draw_world(seed, 5, &w);
        cover_question q = question_of(&w);
        assert_int_equal(cover_decide_question(&q, NULL, 0, &by_budget), EDGEPS_OK);
        for (size_t j = 0; j < w.servers; j++)
            w.cost[j] = 0.25;
        w.purse = 0.25 * (double)w.budget;
        w.budget = w.servers;
        q = question_of(&w);
        assert_int_equal(cover_decide_question(&q, NULL, 0, &by_purse), EDGEPS_OK);
        assert_int_equal(by_purse.verdict, by_budget.verdict);
        tolled += by_purse.toll > 0;
        cover_reply_free(&by_budget);
        cover_reply_free(&by_purse);
    }
    assert_in_range(tolled, 20, 150);
}

static void nobody_is_covered_without_servers(void **state)
{
    (void)state;
    world w;
    cover_reply r;
    draw_world(1, 5, &w);
    w.budget = 0;
    cover_question q = question_of(&w);
    assert_int_equal(cover_decide_question(&q, NULL, 0, &r), EDGEPS_OK);
    assert_int_equal(r.verdict, COVER_NO);
    cover_reply_free(&r);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    world w;
    edgeps_err err = EDGEPS_NOMEM;
    draw_world(7, 20, &w);
    cover_question q = question_of(&w);
    for (long nth = 1; err == EDGEPS_NOMEM; nth++) {
        cover_reply r = {.rounds = 4242};
        mem_fail_at(nth);
        err = cover_decide_question(&q, NULL, 0, &r);
        mem_fail_at(0);
        if (err)
            assert_true(r.rounds == 4242);
        else
            cover_reply_free(&r);
    }
    assert_int_equal(err, EDGEPS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_equal_those_of_clp),
        cmocka_unit_test(hints_change_no_reply),
        cmocka_unit_test(a_purse_of_equal_costs_is_a_budget),
        cmocka_unit_test(nobody_is_covered_without_servers),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
