/* Agents that are there before their coordinator, in any order. The argument is the number of
 * orders. */
#include "node/node_fixture.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/test_port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 5, ROUNDS = 2 };

static int orders = 4;

static void *run_agent(void *options)
{
    edgeps_diag diag = {.text = ""};
    if (agent_run(options, &diag))
        fprintf(stderr, "%s\n", diag.text);
    return NULL;
}

static void start_agents(fixture *f, const uint32_t *order)
{
    for (size_t k = 0; k < NODES; k++) {
        size_t i = order[k];
        f->agents[i] = (agent_options){.name = f->net->nodes[i].name,
                                       .host = "127.0.0.1",
                                       .port = f->options.port,
                                       .wait_s = 60};
        assert_int_equal(pthread_create(&f->threads[k], NULL, run_agent, &f->agents[i]), 0);
    }
}

static edgeps_err find_agents(void *launcher, int port, edgeps_diag *diag)
{
    fixture *f = launcher;
    (void)port;
    (void)diag;
    f->started = NODES; /* to be joined */
    return EDGEPS_OK;
}

static void read_plan(const fixture *f, char *text, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/plans/plan-1.json", f->dir);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void agents_that_come_first_in_any_order_attach_as_the_plan_says(void **state)
{
    (void)state;
    static char plans[2][16384];
    rng random = rng_make(9, 0);
    for (int k = 0; k < orders; k++) {
        fixture f;
        uint32_t order[NODES];
        edgeps_diag diag = {.text = ""};
        fixture_make(&f, NODES, 10 * NODES * ROUNDS, 10);
        f.options.launch = find_agents;
        f.options.port = test_port();
        rng_permutation(&random, NODES, order);
        start_agents(&f, order);
        if (fixture_run(&f, &diag))
            fail_msg("order %d: %s", k, diag.text);
        const fixture_event *epoch = fixture_nth(&f, METER_EPOCH, 0);
        assert_int_equal(epoch->measured.workers, NODES);
        assert_int_equal(epoch->measured.samples, 10 * NODES * ROUNDS);
        assert_int_equal(f.rounds, ROUNDS);
        assert_null(fixture_nth(&f, METER_PLAN, 1));
        assert_null(fixture_nth(&f, METER_LOST, 0));
        read_plan(&f, plans[k > 0], sizeof plans[0]);
        if (k > 0)
            assert_string_equal(plans[0], plans[1]);
        fixture_free(&f);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_that_come_first_in_any_order_attach_as_the_plan_says),
    };
    if (argc > 1)
        orders = (int)strtol(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
