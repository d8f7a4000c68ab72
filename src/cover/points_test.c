#include "cover/points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void put(const char *ending, const char *text)
{
    snprintf(path, sizeof path, "/tmp/edgeps-points-XXXXXX%s", ending);
    int fd = mkstemps(path, (int)strlen(ending));
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
}

static void edges_become_shortest_paths_and_the_last_of_a_pair_counts(void **state)
{
    (void)state;
    static const double by_hand[9] = {0, 3, 7, 3, 0, 4, 7, 4, 0};
    points p;
    put(".txt", "3 4 1\n1 2 3\n2 3 9\n1 3 20\n3 2 4\n");
    assert_int_equal(points_load(path, 0, NULL, &p), EDGEPS_OK);
    unlink(path);
    assert_int_equal(p.count, 3);
    assert_int_equal(p.centers, 1);
    for (size_t a = 0; a < 9; a++)
        assert_true(p.distance[a] == by_hand[a]);
    points_free(&p);
}

static void points_in_the_plane_lie_whole_distances_apart(void **state)
{
    (void)state;
    points p;
    put(".tsp", "NAME : x\nDIMENSION : 3\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n3 1e1 1\nEOF\n");
    assert_int_equal(points_load(path, 2, NULL, &p), EDGEPS_OK);
    unlink(path);
    assert_int_equal(p.centers, 2);
    assert_true(p.distance[1] == 5 && p.distance[2] == 10 && p.distance[5] == 8);
    points_free(&p);
}

static void refuses_what_is_no_instance(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {".txt", "pmed", "must begin with"},
        {".txt", "3 2 1\n1 2 3\n", "edge 2: must be two points (1 to 3) and a length"},
        {".txt", "3 1 1\n1 4 3\n", "edge 1: "},
        {".tsp", "DIMENSION : 3\nNODE_COORD_SECTION\n1 0 0\n2 x 0\n", "point 2: "},
        {".tsp", "NODE_COORD_SECTION\n1 0 0\n", "DIMENSION: must be 1 to 10000"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        edgeps_diag diag = {.text = ""};
        points p = {.count = 42};
        put(bad[k][0], bad[k][1]);
        assert_int_equal(points_load(path, 1, &diag, &p), EDGEPS_FORMAT);
        unlink(path);
        assert_non_null(strstr(diag.text, bad[k][2]));
        assert_non_null(strstr(diag.text, path));
        assert_int_equal(p.count, 42);
        assert_int_equal(points_load(path, 1, &diag, &p), EDGEPS_USAGE);
    }
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        {".txt", "2 1 1\n1 2 3\n"},
        {".tsp", "DIMENSION : 2\nNODE_COORD_SECTION\n1 0 0\n2 1 1\n"},
    };
    for (size_t k = 0; k < 2; k++) {
        points p = {.count = 42};
        edgeps_err err = EDGEPS_NOMEM;
        long nth = 0;
        put(good[k][0], good[k][1]);
        while (err == EDGEPS_NOMEM) {
            mem_fail_at(++nth);
            err = points_load(path, 1, NULL, &p);
            mem_fail_at(0);
            assert_int_equal(p.count, err ? 42 : 2);
        }
        unlink(path);
        assert_int_equal(err, EDGEPS_OK);
        assert_int_equal(nth, k + 2);
        points_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_become_shortest_paths_and_the_last_of_a_pair_counts),
        cmocka_unit_test(points_in_the_plane_lie_whole_distances_apart),
        cmocka_unit_test(refuses_what_is_no_instance),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
