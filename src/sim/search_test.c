#include "sim/search.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static search_result search(const search_options *o)
{
    search_result r;
    edgeps_diag diag = {.text = ""};
    if (search_run(o, &diag, &r))
        fail_msg("%s", diag.text);
    return r;
}

/* 500 runs; as many as EDGEPS_SEARCH_RUNS says in the long check. */
static void no_random_faults_break_an_invariant(void **state)
{
    char text[SCRIPT_TEXT_BYTES];
    const char *runs = getenv("EDGEPS_SEARCH_RUNS");
    search_options o = {
        .seed = 1, .runs = runs ? strtoul(runs, NULL, 10) : 500, .most_nodes = 8, .most_faults = 3};
    (void)state;
    search_result r = search(&o);
    if (r.found) {
        script_text(&r.smallest, text);
        fail_msg("seed %d: %s\n%s", (int)r.seed, r.broken, text);
    }
    assert_int_equal(r.runs, o.runs);
    assert_true(r.faults > r.runs); /* 1.5 in the mean */
}

/* A server that adds what the protocol tells it to drop: only an edge that is cut while chunks are
 * on their way shows it, so one fault must be left, of the right kind. */
static void a_planted_error_is_found_shrunk_and_replayed(void **state)
{
    char text[SCRIPT_TEXT_BYTES];
    edgeps_diag diag;
    script again;
    search_options o = {
        .seed = 1, .runs = 2000, .most_nodes = 8, .most_faults = 8, .plant = SIM_ADDS_DROPPED};
    (void)state;
    search_result r = search(&o);
    assert_true(r.found);
    assert_non_null(strstr(r.broken, "lost or counted twice"));
    script whole = script_draw(r.seed, o.most_nodes, o.most_faults);
    assert_true(r.smallest.fault_count >= 1 && r.smallest.fault_count <= whole.fault_count);
    assert_true(r.smallest.nodes <= whole.nodes && r.smallest.rounds <= whole.rounds);

    script_text(&r.smallest, text);
    assert_int_equal(script_parse(text, NULL, &again), EDGEPS_OK);
    assert_int_equal(script_run(&again, NULL), EDGEPS_OK); /* the right rule */
    again.plant = SIM_ADDS_DROPPED;
    assert_int_equal(script_run(&again, &diag), EDGEPS_INTERNAL);
    assert_string_equal(diag.text, r.broken);
    for (size_t k = 0; k < again.fault_count; k++) { /* nothing more can go */
        script less = again;
        less.faults[k] = less.faults[--less.fault_count];
        assert_int_equal(script_run(&less, NULL), EDGEPS_OK);
    }
}

/* The first script of many such faults and nothing else that an error planted so breaks. */
static script first_broken(sim_plant plant, sim_fault_kind kind)
{
    for (uint64_t seed = 1; seed < 3000; seed++) {
        script s = script_draw(seed, 6, 8);
        s.plant = plant;
        for (size_t k = 0; k < s.fault_count; k++) {
            s.faults[k].kind = kind;
            s.faults[k].amount_s = sim_fault_has_amount(kind) ? 0.2 + 0.4 * (double)k : 0;
        }
        if (script_run(&s, NULL) == EDGEPS_INTERNAL)
            return s;
    }
    fail_msg("error %d is not found by faults of kind %d", (int)plant, (int)kind);
    return (script){.seed = 0};
}

static void each_kind_of_fault_finds_the_error_planted_for_it(void **state)
{
    static const struct {
        sim_plant plant;
        sim_fault_kind kind;
        const char *broken;
    } rows[] = {{SIM_ADDS_DROPPED, SIM_TWICE, "counted twice"},
                {SIM_FORGETS_HELD, SIM_STOP, "no round in"},
                {SIM_FORGETS_LATE, SIM_DELAY, "no round in"},
                {SIM_BLAMES_SILENCE, SIM_CLOCK, "gave up"},
                {SIM_BLAMES_SILENCE, SIM_FREEZE, "gave up"},
                {SIM_FORGETS_DONE, SIM_FOLLOW, "no round in"},
                {SIM_HALF_SAVES, SIM_UNSAVED, "no checkpoint is whole"}};
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char text[SCRIPT_TEXT_BYTES];
        edgeps_diag diag = {.text = ""};
        script s = first_broken(rows[k].plant, rows[k].kind), least, again;
        assert_int_equal(script_shrink(&s, &least), EDGEPS_OK);
        script_text(&least, text);
        assert_int_equal(script_parse(text, NULL, &again), EDGEPS_OK);
        if (script_run(&again, &diag)) /* the right rule */
            fail_msg("%s\n%s", diag.text, text);
        again.plant = rows[k].plant;
        assert_int_equal(script_run(&again, &diag), EDGEPS_INTERNAL);
        assert_non_null(strstr(diag.text, rows[k].broken));
        assert_true(again.fault_count >= 1 && again.faults[0].kind == rows[k].kind);
    }
}

static void the_same_seed_draws_the_same_script(void **state)
{
    char a[SCRIPT_TEXT_BYTES], b[SCRIPT_TEXT_BYTES];
    (void)state;
    for (uint64_t seed = 1; seed < 200; seed++) {
        script s = script_draw(seed, 64, SCRIPT_MOST_FAULTS), back;
        script_text(&s, a);
        assert_int_equal(script_parse(a, NULL, &back), EDGEPS_OK);
        script_text(&back, b);
        assert_string_equal(a, b);
    }
}

static void a_bad_script_is_refused_with_its_line(void **state)
{
#define HEAD "edgeps-script 1\nseed 1\nnodes 3\nrounds 2\n"
    static const struct {
        const char *text, *words;
    } bad[] = {{"", "line 1:"},
               {"edgeps-script 2\n", "line 1:"},
               {"edgeps-script 1\nseed x\n", "line 2:"},
               {"edgeps-script 1\nseed 1\nnodes 1\n", "line 3:"},
               {"edgeps-script 1\nseed 1\nnodes 65\n", "line 3:"},
               {"edgeps-script 1\nseed 1\nnodes 3\nrounds 0\n", "line 4:"},
               {HEAD "fault 1 kill 3\n", "line 5:"},
               {HEAD "fault nan kill 1\n", "line 5:"},
               {HEAD "fault -1 kill 1\n", "line 5:"},
               {HEAD "fault 1 burn 1\n", "line 5:"},
               {HEAD "fault 1 stop 1\n", "line 5:"},
               {HEAD "fault 1 stop 1 -2\n", "line 5:"},
               {HEAD "fault 1 stop 3 2\n", "line 5:"},
               {HEAD "fault 1 kill 1 2\n", "line 5:"},
               {HEAD "fault 1 cut 1\nfault 1 cut 1 x\n", "line 6:"}};
    edgeps_diag diag;
    script s = {.seed = 77};
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(script_parse(bad[k].text, &diag, &s), EDGEPS_FORMAT);
        assert_non_null(strstr(diag.text, bad[k].words));
        assert_int_equal(s.seed, 77);
    }
}

static void survives_each_allocation_failing(void **state)
{
    script s = {.seed = 3, .nodes = 3, .rounds = 1};
    edgeps_err err = EDGEPS_NOMEM;
    (void)state;
    for (long n = 1; err == EDGEPS_NOMEM; n++) {
        mem_fail_at(n);
        err = script_run(&s, NULL);
        mem_fail_at(0);
    }
    assert_int_equal(err, EDGEPS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_random_faults_break_an_invariant),
        cmocka_unit_test(a_planted_error_is_found_shrunk_and_replayed),
        cmocka_unit_test(each_kind_of_fault_finds_the_error_planted_for_it),
        cmocka_unit_test(the_same_seed_draws_the_same_script),
        cmocka_unit_test(a_bad_script_is_refused_with_its_line),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
