#include "cover/pcenter_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cover/pcenter_int.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#define INSTANCES EDGEPS_SOURCE_DIR "/../shared/data/pcenter"

static void check_optimum(const points *p, double radius)
{
    pcenter_instance c = points_instance(p);
    pcenter_answer a;
    assert_int_equal(pcenter_solve(&c, &(pcenter_options){0}, &a), EDGEPS_OK);
    assert_true(a.lower == a.upper);
    assert_true(a.upper == radius);
    assert_in_range(a.center_count, 1, p->centers);
    assert_true(points_radius(p, a.center, a.center_count) == radius);
    pcenter_answer_free(&a);
}

static void solves_the_tiny_instances(void **state)
{
    (void)state;
    static const double by_hand[POINTS_TINY] = {2, 2, 50};
    for (size_t k = 0; k < POINTS_TINY; k++) {
        points p = points_tiny(k);
        assert_true(points_best_radius(&p) == by_hand[k]);
        check_optimum(&p, by_hand[k]);
        points_free(&p);
    }
}

static void equals_the_best_of_all_sets_of_centers(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        size_t count = 2 + seed % 11;
        points p = points_random(seed, count, 1 + seed % (count < 5 ? count : 5), seed % 3 == 0);
        check_optimum(&p, points_best_radius(&p));
        points_free(&p);
    }
}

static void needs_no_metric(void **state)
{
    (void)state;
    points p = points_tiny(0);
    p.distance[0 * 7 + 6] = 0.5; /* the first house has a tunnel to the last */
    p.distance[5 * 7 + 0] = INFINITY;
    check_optimum(&p, points_best_radius(&p));
    points_free(&p);
}

static void as_many_centers_as_points_leave_no_distance(void **state)
{
    (void)state;
    points p = points_tiny(1);
    p.centers = 6;
    check_optimum(&p, 0);
    points_free(&p);
}

/* From the first p points, at the least radius that any centers have. */
static void exchanges_find_a_covering_where_there_is_one(void **state)
{
    (void)state;
    size_t found = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        points p = points_random(seed, 6 + seed % 8, 1 + seed % 4, seed % 2 == 0);
        pcenter_instance c = points_instance(&p);
        double best = points_best_radius(&p);
        bool open[20] = {false}, covered;
        uint32_t center[20];
        size_t count = 0;
        for (size_t j = 0; j < p.centers; j++)
            open[j] = true;
        assert_int_equal(pcenter_swap(&c, best, 300, open, &covered), EDGEPS_OK);
        for (size_t j = 0; j < p.count; j++)
            if (open[j])
                center[count++] = (uint32_t)j;
        assert_int_equal(count, p.centers);
        assert_int_equal(covered, points_radius(&p, center, count) <= best);
        found += covered;
        points_free(&p);
    }
    print_message("%zu of 100\n", found);
    assert_in_range(found, 90, 100);
}

static bool refuse(void *asked)
{
    ++*(int *)asked;
    return false;
}

static void a_stopped_search_has_bounds_around_the_optimum(void **state)
{
    (void)state;
    int asked = 0;
    points p = points_random(5, 15, 4, false);
    pcenter_instance c = points_instance(&p);
    pcenter_answer a;
    double best = points_best_radius(&p);
    assert_int_equal(pcenter_solve(&c, &(pcenter_options){.go_on = refuse, .asked = &asked}, &a),
                     EDGEPS_OK);
    assert_int_equal(asked, 1);
    assert_true(a.lower <= best && best <= a.upper && a.lower < a.upper);
    assert_true(points_radius(&p, a.center, a.center_count) == a.upper);
    pcenter_answer_free(&a);
    points_free(&p);
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    points p = points_random(3, 12, 3, true);
    pcenter_instance c = points_instance(&p);
    edgeps_err err = EDGEPS_NOMEM;
    for (long nth = 1; err == EDGEPS_NOMEM; nth++) {
        pcenter_answer a = {.rows = 42};
        mem_fail_at(nth);
        err = pcenter_solve(&c, &(pcenter_options){0}, &a);
        mem_fail_at(0);
        if (err)
            assert_int_equal(a.rows, 42);
        else
            pcenter_answer_free(&a);
    }
    assert_int_equal(err, EDGEPS_OK);
    points_free(&p);
}

/* Beasley's pmed1 to pmed15 with the published radii. */
static void proves_the_radii_of_pmed(void **state)
{
    (void)state;
    static const double radii[] = {127, 98, 93, 74, 48, 84, 64, 55, 37, 20, 59, 51, 36, 26, 18};
    struct stat folder;
    if (stat(INSTANCES, &folder)) {
        print_message("left out: there is no folder %s\n", INSTANCES);
        skip();
    }
    for (int k = 1; k <= 15; k++) {
        char path[512];
        points p;
        snprintf(path, sizeof path, INSTANCES "/pmed%d.txt", k);
        assert_int_equal(points_load(path, 0, NULL, &p), EDGEPS_OK);
        check_optimum(&p, radii[k - 1]);
        points_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_the_tiny_instances),
        cmocka_unit_test(equals_the_best_of_all_sets_of_centers),
        cmocka_unit_test(needs_no_metric),
        cmocka_unit_test(as_many_centers_as_points_leave_no_distance),
        cmocka_unit_test(exchanges_find_a_covering_where_there_is_one),
        cmocka_unit_test(a_stopped_search_has_bounds_around_the_optimum),
        cmocka_unit_test(survives_each_allocation_failing),
        cmocka_unit_test(proves_the_radii_of_pmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
