/* The twenty-site example keeps its promise: a fall of free storage makes the plan in force
 * infeasible, adjusting finds another one, and the node that is killed carries a server then. */
#include "adapt/adapt.h"
#include "formats/network_json.h"
#include "place/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static problem *make_problem(const network *net)
{
    job j;
    problem *p;
    assert_int_equal(job_make("lenet5", 60000, 32, JOB_PIPELINED, NULL, &j), EDGEPS_OK);
    assert_int_equal(problem_make(net, &j, &(problem_options){.max_locals = 4}, NULL, &p),
                     EDGEPS_OK);
    return p;
}

static uint32_t killed_node(const network *net, int epoch)
{
    for (size_t k = 0; k < net->event_count; k++)
        if (net->events[k].change == NETWORK_KILL && net->events[k].epoch == epoch)
            return net->events[k].node;
    fail_msg("nobody is killed in epoch %d", epoch);
    return 0;
}

static void the_twenty_sites_force_a_move_and_kill_a_server(void **state)
{
    (void)state;
    network *net;
    place_result placed;
    adapt_result adapted;
    edgeps_diag diag = {.text = ""};
    assert_int_equal(network_json_load(EDGEPS_SOURCE_DIR "/examples/twenty-site.json", NULL, &net),
                     EDGEPS_OK);
    problem *before = make_problem(net);
    assert_int_equal(place_run("approx", before, &(place_options){.seed = 1}, NULL, &placed),
                     EDGEPS_OK);
    assert_true(placed.status != PLACE_INFEASIBLE && placed.lower_bound_s > 0);

    network_apply_epochs(net, 2);
    problem *after = make_problem(net);
    assert_int_equal(plan_check(&placed.plan, after, &diag), EDGEPS_INFEASIBLE);
    assert_non_null(strstr(diag.text, "storage of "));
    adapt_options o = {.mode = ADAPT_ADJUST, .algorithm = "approx", .seed = 1, .horizon_epochs = 3};
    assert_int_equal(adapt_step(after, &placed.plan, &o, NULL, &adapted), EDGEPS_OK);
    assert_true(adapted.changed && adapted.repair && !adapted.infeasible);
    assert_int_equal(plan_check(&adapted.plan, after, NULL), EDGEPS_OK);

    uint32_t killed = killed_node(net, 3);
    assert_true(plan_is_local(&adapted.plan, killed));
    assert_int_not_equal(adapted.plan.global, killed);
    adapt_result_free(&adapted);
    place_result_free(&placed);
    problem_free(before);
    problem_free(after);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_twenty_sites_force_a_move_and_kill_a_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
