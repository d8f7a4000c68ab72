#include "cli/show.h"

#include "base/mem.h"
#include "cli/show_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pty.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ERASE "\r\033[K"

static void feed(show *s, meter_event event) { show_event(s, &event); }

static meter_event start_event(int64_t epochs)
{
    return (meter_event){.kind = METER_START,
                         .network = "east",
                         .model = "mlp",
                         .seed = 7,
                         .epochs = epochs,
                         .rounds = 40,
                         .workers = 6,
                         .text = "pipelined"};
}

static meter_event round_event(double time_s, int64_t epoch, int64_t round)
{
    return (meter_event){
        .kind = METER_ROUND, .time_s = time_s, .epoch = epoch, .round = round, .rounds = 40};
}

static meter_event epoch_event(int64_t epoch, double measured_s)
{
    return (meter_event){.kind = METER_EPOCH,
                         .generation = 1,
                         .measured = {.epoch = epoch,
                                      .measured_s = measured_s,
                                      .predicted_s = 4,
                                      .loss = 0.25,
                                      .accuracy = 0.9}};
}

#define START_LINE "training mlp on east: 6 workers, 2 epochs of 40 rounds, pipelined, seed 7\n"
#define HEADER                                                                                     \
    "epochs (times in seconds)\n"                                                                  \
    "epoch plan  time predicted compute  push   sum  pull  wait  move   loss accuracy\n"

static void feed_run(show *s)
{
    feed(s, start_event(2));
    feed(s, (meter_event){.kind = METER_PLAN,
                          .epoch = 1,
                          .generation = 1,
                          .global = "lyon",
                          .locals = "lyon, nice",
                          .predicted_round_s = 0.1,
                          .bound_s = 0.08,
                          .text = "lyon is in the middle"});
    feed(s, round_event(0.5, 1, 1));
    feed(s, epoch_event(1, 5));
    feed(s, (meter_event){.kind = METER_CHECKPOINT, .epoch = 1, .text = "run/checkpoints"});
    feed(s,
         (meter_event){
             .kind = METER_SCENARIO, .epoch = 2, .node = "lyon", .text = "free storage is 1 MiB"});
    feed(s, (meter_event){.kind = METER_ADVICE, .epoch = 2, .text = "stay"});
    feed(s, (meter_event){.kind = METER_MOVE,
                          .role = "global",
                          .from = "lyon",
                          .to = "paris",
                          .bytes = 1258291,
                          .seconds = 0.08,
                          .frozen_s = 0.01,
                          .text = "storage of lyon"});
    feed(s, (meter_event){.kind = METER_LOST, .epoch = 2, .node = "nice", .text = "dead: reset"});
    feed(s, (meter_event){.kind = METER_WARNING, .text = "the clock jumped"});
    feed(s, epoch_event(2, 4.4));
    feed(s, (meter_event){.kind = METER_END,
                          .seconds = 12.5,
                          .accuracy = 0.9853,
                          .text = "all epochs are done"});
}

static void a_run_reads_like_this(void **state)
{
    (void)state;
    page p;
    page_open(&p);
    show *s = show_make(p.out, false);
    feed_run(s);
    page_expect(
        &p, START_LINE
        "plan 1: global server lyon; local servers lyon, nice; predicted 0.1 s a round (proved "
        "within a factor 1.25 of the best)\n"
        "  lyon is in the middle\n" HEADER
        "    1    1 5.000     4.000   0.000 0.000 0.000 0.000 0.000 0.000 0.2500  90.00 %\n"
        "epoch 2: lyon: free storage is 1 MiB\n"
        "epoch 2: advice: stay\n"
        "moved the global server lyon -> paris: 1.2 MiB in 0.08 s, still for 0.01 s (storage of "
        "lyon)\n"
        "epoch 2: lost nice: dead: reset\n"
        "warning: the clock jumped\n"
        "    2    1 4.400     4.000   0.000 0.000 0.000 0.000 0.000 0.000 0.2500  90.00 %\n"
        "ended: all epochs are done\n"
        "  epochs      2 of 2 in 12.5 s\n"
        "  accuracy    98.53 %\n"
        "  prediction  off by 17.5 % in the mean\n"
        "  moves       1, 1.2 MiB in 0.08 s\n"
        "  lost        nice (dead: reset)\n"
        "  checkpoint  run/checkpoints\n");
    show_free(s);
    page_close(&p);
}

static void a_run_that_failed_says_how(void **state)
{
    (void)state;
    page p;
    page_open(&p);
    show *s = show_make(p.out, false);
    feed(s, start_event(2));
    feed(s, (meter_event){.kind = METER_END,
                          .seconds = 3,
                          .accuracy = NAN,
                          .status = 130,
                          .text = "interrupted"});
    page_expect(&p, START_LINE "ended with exit status 130: interrupted\n"
                               "  epochs      0 of 2 in 3 s\n"
                               "  moves       none\n");
    show_free(s);
    page_close(&p);
}

static void a_resumed_run_says_so_and_sums_up_both_parts(void **state)
{
    (void)state;
    page p;
    page_open(&p);
    show *s = show_make(p.out, false);
    feed(s, start_event(2));
    feed(s, (meter_event){.kind = METER_WARNING, .time_s = 3, .text = "w"});
    page_expect(&p, START_LINE "warning: w\n");
    feed(s, start_event(2));
    page_expect(&p, "resuming mlp on east: 6 workers, 2 epochs of 40 rounds, pipelined, seed 7\n");
    feed(s, (meter_event){.kind = METER_END, .seconds = 2, .accuracy = 0.5, .text = "done"});
    page_expect(&p, "ended: done\n"
                    "  epochs      0 of 2 in 5 s\n"
                    "  accuracy    50.00 %\n"
                    "  moves       none\n");
    show_free(s);
    page_close(&p);
}

static void a_terminal_shows_progress_and_erases_it(void **state)
{
    (void)state;
    page p;
    page_open(&p);
    show *s = show_make(p.out, true);
    feed(s, start_event(2));
    page_expect(&p, START_LINE);
    feed(s, round_event(1.0, 1, 1));
    page_expect(&p,
                "\repoch 1 of 2 [#.......................................] round 1 of 40\033[K");
    feed(s, round_event(1.05, 1, 2)); /* too soon */
    page_expect(&p, "");
    feed(s, round_event(1.5, 1, 20));
    page_expect(&p, "\repoch 1 of 2 [###############................] round 20 of 40, 0.0263 s a "
                    "round\033[K");
    feed(s, (meter_event){.kind = METER_WARNING, .text = "w"});
    page_expect(&p, ERASE "warning: w\n");
    feed(s, (meter_event){.kind = METER_WARNING, .text = "w"});
    page_expect(&p, "warning: w\n");
    feed(s, round_event(1.51, 1, 21)); /* erased: drawn again at once */
    feed(s, round_event(1.52, 1, 40)); /* the last: always */
    feed(s, epoch_event(1, 5));
    page_expect(
        &p,
        "\repoch 1 of 2 [################...............] round 21 of 40, 0.0255 s a round\033[K"
        "\repoch 1 of 2 [###############################] round 40 of 40, 0.0133 s a "
        "round\033[K" ERASE HEADER
        "    1    1 5.000     4.000   0.000 0.000 0.000 0.000 0.000 0.000 0.2500  90.00 %\n");
    feed(s, round_event(1.53, 2, 1));
    page_expect(&p,
                "\repoch 2 of 2 [#.......................................] round 1 of 40\033[K");
    show_summary(s);
    page_expect(&p, ERASE "no end: the run is still going on, or was cut off\n"
                          "  epochs      1 of 2 in 0 s\n"
                          "  accuracy    90.00 %\n"
                          "  prediction  off by 25.0 % in the mean\n"
                          "  moves       none\n");
    show_free(s);
    page_close(&p);
}

static void what_is_no_terminal_shows_no_progress(void **state)
{
    (void)state;
    page p;
    page_open(&p);
    show *s = show_make(p.out, false);
    for (int64_t round = 1; round <= 40; round++)
        feed(s, round_event((double)round, 1, round));
    page_expect(&p, "");
    show_free(s);
    page_close(&p);
}

/* What a real terminal of `columns` gets for a round. */
static void draw_on_terminal(unsigned short columns, char *text, size_t size)
{
    struct winsize window = {.ws_row = 24, .ws_col = columns};
    int far, near;
    assert_int_equal(openpty(&far, &near, NULL, NULL, &window), 0);
    FILE *out = fdopen(near, "w");
    assert_non_null(out);
    show *s = show_make(out, true);
    feed(s, round_event(1, 123, 20));
    ssize_t got = read(far, text, size - 1);
    assert_true(got > 0);
    text[got] = '\0';
    show_free(s);
    fclose(out);
    close(far);
}

static void the_progress_line_fits_every_width(void **state)
{
    (void)state;
    for (unsigned short columns = 1; columns <= 200; columns++) {
        char text[512];
        draw_on_terminal(columns, text, sizeof text);
        size_t width = strlen(text) - strlen(ERASE); /* the same bytes, around the line */
        assert_true(width < columns);
        assert_true(text[0] == '\r' && strcmp(text + width + 1, "\033[K") == 0);
        assert_int_equal(strchr(text, '#') != NULL, columns >= 41);
    }
}

static void odd_numbers_do_no_harm(void **state)
{
    (void)state;
    page p;
    page_open(&p);
    show *s = show_make(p.out, true);
    feed(s, (meter_event){.kind = METER_ROUND, .time_s = NAN});
    feed(s, (meter_event){.kind = METER_ROUND, .time_s = -1, .round = INT64_MAX, .rounds = 1});
    feed(s, (meter_event){.kind = METER_ROUND, .time_s = 1, .round = 0, .rounds = INT64_MAX});
    fflush(p.out);
    assert_non_null(strstr(p.text, "epoch 0 of 0"));
    show_free(s);
    page_close(&p);
}

/* The lines of a run still come, shorter where memory is short, and the summary says that it is. */
static void survives_each_allocation_failing(void **state)
{
    (void)state;
    mem_fail_at(1);
    assert_null(show_make(stdout, false));
    for (long n = 1;; n++) {
        page p;
        mem_fail_at(0);
        page_open(&p);
        show *s = show_make(p.out, false);
        mem_fail_at(n);
        feed_run(s);
        bool failed = mem_allocations() >= n;
        mem_fail_at(0);
        assert_int_equal(failed, strstr(p.text, "(no memory for this line)") != NULL);
        show_free(s);
        page_close(&p);
        if (!failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_reads_like_this),
        cmocka_unit_test(a_run_that_failed_says_how),
        cmocka_unit_test(a_resumed_run_says_so_and_sums_up_both_parts),
        cmocka_unit_test(a_terminal_shows_progress_and_erases_it),
        cmocka_unit_test(what_is_no_terminal_shows_no_progress),
        cmocka_unit_test(the_progress_line_fits_every_width),
        cmocka_unit_test(odd_numbers_do_no_harm),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
