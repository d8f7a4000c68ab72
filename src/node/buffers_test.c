#include "node/buffers.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct world {
    char dir[64];
    char folder[80];
    store *store;
    job j;
} world;

static int set_up(void **state)
{
    static world w;
    w = (world){0};
    snprintf(w.dir, sizeof w.dir, "/tmp/edgeps-buffers-XXXXXX");
    assert_non_null(mkdtemp(w.dir));
    snprintf(w.folder, sizeof w.folder, "%s/node", w.dir);
    assert_int_equal(job_make("lenet5", 1000, 10, JOB_PIPELINED, NULL, &w.j), EDGEPS_OK);
    assert_int_equal(store_open(w.folder, INT64_C(1) << 30, NULL, &w.store), EDGEPS_OK);
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    world *w = *state;
    char path[96];
    store_close(w->store);
    snprintf(path, sizeof path, "%s/lock", w->folder);
    unlink(path);
    rmdir(w->folder);
    rmdir(w->dir);
    return 0;
}

static void a_local_server_takes_what_the_planner_says(void **state)
{
    world *w = *state;
    buffers b = {.role = MESSAGE_LOCAL};
    for (int64_t children = 1; children <= 5; children += 2) {
        assert_int_equal(buffers_fit(&b, w->store, &w->j, children, NULL), EDGEPS_OK);
        assert_int_equal(store_used_bytes(w->store), job_local_need_bytes(&w->j, children));
    }
    buffers_release(&b, w->store);
    assert_int_equal(store_used_bytes(w->store), 0);
}

static void a_global_server_takes_what_the_planner_says_checkpoints_included(void **state)
{
    world *w = *state;
    buffers b = {.role = MESSAGE_GLOBAL};
    assert_int_equal(buffers_fit(&b, w->store, &w->j, 3, NULL), EDGEPS_OK);
    int64_t kept = JOB_CHECKPOINTS_KEPT + 1;
    assert_int_equal(store_used_bytes(w->store) + kept * checkpoint_max_bytes(w->j.parameter_count),
                     job_global_need_bytes(&w->j, 3));
    store_set_quota(w->store, job_global_need_bytes(&w->j, 3));
    checkpoint cp = {.model = "lenet5",
                     .parameter_count = w->j.parameter_count,
                     .parameters = b.parameters,
                     .velocity = b.velocity};
    for (int64_t round = 1; round <= 5; round++) {
        cp.round = round;
        assert_int_equal(store_write_checkpoint(w->store, &cp, JOB_CHECKPOINTS_KEPT, NULL),
                         EDGEPS_OK);
    }
    assert_int_equal(store_drop_checkpoints(w->store, NULL), EDGEPS_OK);
    buffers_release(&b, w->store);
    assert_int_equal(store_used_bytes(w->store), 0);
}

static void what_a_server_holds_outlives_a_change_of_its_family(void **state)
{
    world *w = *state;
    buffers b = {.role = MESSAGE_LOCAL};
    assert_int_equal(buffers_fit(&b, w->store, &w->j, 2, NULL), EDGEPS_OK);
    b.parameters[100] = 42;
    assert_int_equal(buffers_fit(&b, w->store, &w->j, 4, NULL), EDGEPS_OK);
    assert_true(b.parameters[100] == 42);
    memset(b.inbox, 1, (size_t)(4 * w->j.chunk_bytes));
    buffers_release(&b, w->store);
}

static void a_server_that_does_not_fit_leaves_nothing_behind(void **state)
{
    world *w = *state;
    for (int role = MESSAGE_LOCAL; role <= MESSAGE_GLOBAL; role++)
        for (int64_t quota = 0; quota < job_local_need_bytes(&w->j, 1); quota += 100000) {
            buffers b = {.role = (message_role)role};
            edgeps_diag diag = {.text = ""};
            store_set_quota(w->store, quota);
            assert_int_equal(buffers_fit(&b, w->store, &w->j, 1, &diag), EDGEPS_FULL);
            assert_non_null(strstr(diag.text, "needs"));
            buffers_release(&b, w->store);
            assert_int_equal(store_used_bytes(w->store), 0);
        }
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_local_server_takes_what_the_planner_says),
        UNIT(a_global_server_takes_what_the_planner_says_checkpoints_included),
        UNIT(what_a_server_holds_outlives_a_change_of_its_family),
        UNIT(a_server_that_does_not_fit_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
