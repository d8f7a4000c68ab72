/* The reduction of docs/algorithms/hardness.md, run: a p-center instance becomes a placement
 * problem whose best round is the instance's radius. */
#include "place/place.h"

#include "cover/pcenter_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INSTANCES EDGEPS_SOURCE_DIR "/../shared/data/pcenter"
#define NO_LIMIT 1e18 /* bytes per second: a gradient takes no time that counts */

/* Nodes 0..n-1 may serve as centers, n..2n-1 are the points and train, 2n carries the global
 * server, for which no other node has the storage, and reaches no point. */
static problem *reduced(const points *from, size_t chunks)
{
    size_t n = from->count;
    problem *p;
    if (problem_blank(2 * n + 1, &p))
        abort();
    p->max_locals = from->centers;
    p->rounds = 1;
    p->worker_count = n;
    p->job.chunk_bytes = 400;
    p->job.parameter_count = (int64_t)chunks * 100;
    p->job.transfer = chunks == 1 ? JOB_STORE_AND_FORWARD : JOB_PIPELINED;
    for (size_t i = 0; i < p->count; i++) {
        bool point = i >= n && i < 2 * n;
        p->nodes[i] = (problem_node){.name = "n",
                                     .train = point,
                                     .serve = !point,
                                     .up_bytes_per_s = NO_LIMIT,
                                     .down_bytes_per_s = NO_LIMIT,
                                     .sum_bytes_per_s = INFINITY,
                                     .free_bytes = job_local_need_bytes(&p->job, (int64_t)n),
                                     .site = (uint32_t)i};
    }
    p->nodes[2 * n].free_bytes = job_global_need_bytes(&p->job, (int64_t)from->centers);
    for (size_t a = 0; a < p->count; a++)
        for (size_t b = 0; b < p->count; b++)
            problem_set_cap_bytes_per_s(p, a, b, INFINITY);
    for (size_t i = n; i < 2 * n; i++)
        problem_set_cap_bytes_per_s(p, i, 2 * n, 0);
    for (size_t center = 0; center < n; center++)
        for (size_t point = 0; point < n; point++)
            problem_set_latency_s(p, center, n + point, from->distance[center * n + point]);
    return p;
}

static void check_radius(const points *from, size_t chunks, const char *algorithm, double radius)
{
    problem *p = reduced(from, chunks);
    place_result r;
    uint32_t center[1024];
    size_t count = 0;
    edgeps_diag diag = {0};
    assert_true(job_global_need_bytes(&p->job, 1) > job_local_need_bytes(&p->job, 0));
    if (place_run(algorithm, p, NULL, &diag, &r))
        fail_msg("%s: %s", algorithm, diag.text);
    assert_int_equal(r.status, PLACE_OPTIMAL);
    assert_true(fabs(r.cost.round_s - radius) <= 1e-9 * fmax(radius, 1));
    for (size_t j = 0; j < p->count; j++)
        if (plan_is_local(&r.plan, j))
            center[count++] = (uint32_t)j;
    assert_in_range(count, 1, from->centers);
    assert_true(points_radius(from, center, count) <= radius * (1 + 1e-9));
    place_result_free(&r);
    problem_free(p);
}

static void the_best_round_is_the_radius_of_random_asymmetric_instances(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        size_t count = 2 + seed % 10;
        points from = points_random(seed, count, 1 + seed % (count < 4 ? count : 4), seed % 4 != 0);
        check_radius(&from, seed % 2 ? 1 : 4, "exact", points_best_radius(&from));
        points_free(&from);
    }
}

static void brute_agrees_on_the_smallest(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        points from = points_random(seed, 2 + seed % 4, 2, true);
        check_radius(&from, 1, "brute", points_best_radius(&from));
        points_free(&from);
    }
}

static void the_tiny_instances_come_out(void **state)
{
    (void)state;
    for (size_t k = 0; k < POINTS_TINY; k++) {
        points from = points_tiny(k);
        check_radius(&from, 1, "exact", points_best_radius(&from));
        points_free(&from);
    }
}

static void the_radii_of_pmed_come_out(void **state)
{
    (void)state;
    static const double radii[] = {127, 98, 93, 74, 48};
    struct stat folder;
    if (stat(INSTANCES, &folder)) {
        print_message("left out: there is no folder %s\n", INSTANCES);
        skip();
    }
    for (int k = 1; k <= 5; k++) {
        char path[512];
        points from;
        snprintf(path, sizeof path, INSTANCES "/pmed%d.txt", k);
        assert_int_equal(points_load(path, 0, NULL, &from), EDGEPS_OK);
        check_radius(&from, 1, "exact", radii[k - 1]);
        points_free(&from);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_round_is_the_radius_of_random_asymmetric_instances),
        cmocka_unit_test(brute_agrees_on_the_smallest),
        cmocka_unit_test(the_tiny_instances_come_out),
        cmocka_unit_test(the_radii_of_pmed_come_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
