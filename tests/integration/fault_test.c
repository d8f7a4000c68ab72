/* `edgeps run` when processes die, stop, come back or lag: real processes, real sockets. */
#include "integration/training.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/test_port.h"
#include "coord/coord.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_killed_worker_is_left_out_and_the_epochs_are_all_there(void **state)
{
    (void)state;
    command c;
    run_write_network("{\"epoch\": 2, \"node\": \"d\", \"kill\": true}");
    run_start(&c, (const char *const[]){NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect(&c, "lost d: dead");
    run_expect(&c, "d is gone");
    run_expect_epochs(&c, 3);
    run_expect_nobody_left(&c);
}

static void a_killed_global_server_is_restored_from_the_checkpoint(void **state)
{
    (void)state;
    command c;
    run_write_network("{\"epoch\": 2, \"node\": \"b\", \"kill\": true}");
    run_start(&c, (const char *const[]){NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect(&c, "global server b;");
    run_expect(&c, "lost b: dead");
    run_expect(&c, "from the checkpoint");
    run_expect_epochs(&c, 3);
    run_expect_nobody_left(&c);
}

/* The second local server, e, has kept the optimizer's state. */
static void a_killed_global_server_is_restored_from_its_standby(void **state)
{
    (void)state;
    command c;
    run_write_nodes((const int[]){200, 300, 200, 200, 290, 200}, 6,
                    "{\"epoch\": 2, \"node\": \"b\", \"kill\": true}");
    run_start(&c, (const char *const[]){NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect(&c, "global server b; local servers b, e;");
    run_expect(&c, "restored the global server on e from what it kept in reserve");
    run_expect_epochs(&c, 3);
    run_expect_nobody_left(&c);
}

/* The plan that takes d in again follows the one without it. */
static void a_node_whose_agent_is_started_again_joins(void **state)
{
    (void)state;
    command c, agent;
    char coordinator[32];
    int port = test_port();
    snprintf(coordinator, sizeof coordinator, "%d", port);
    run_write_network("{\"epoch\": 1, \"node\": \"d\", \"kill\": true}");
    run_start(&c, (const char *const[]){"--port", coordinator, "--epochs", "6", NULL});
    assert_true(command_await(&c, "d is gone"));
    snprintf(coordinator, sizeof coordinator, "127.0.0.1:%d", port);
    command_run(&agent,
                (const char *const[]){"agent", "--coordinator", coordinator, "--node", "d", NULL});
    command_finish(&c);
    run_expect_status(&agent, 0);
    run_expect_status(&c, 0);
    run_expect(&c, "d is back: a new process says hello");
    run_expect(&c, "plan 3:");
    run_expect_epochs(&c, 6);
    run_expect_nobody_left(&c);
}

/* Node d takes 250 ms for what the others do in 1.25 ms. */
static void rounds_go_on_without_a_slow_worker_and_what_comes_late_is_counted(void **state)
{
    (void)state;
    command c;
    run_write_network("{\"epoch\": 1, \"node\": \"d\", \"compute\": \"100 samples/s\"}");
    run_start(&c, (const char *const[]){"--quorum", "0.7", "--round-timeout", "40 ms", NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect_epochs(&c, 3);
    run_expect(&c, "goes on without d: its gradient came after the sum");
    run_expect(&c, "  late  ");
    run_expect(&c, "  d (in "); /* on a full machine others, too, may be late */
    if (strstr(c.text, "lost") || run_accuracy(&c) < 0.9)
        fail_msg("%s", c.text);
}

/* Nobody is there to wait for orphans but the system: they are looked for until they are gone. */
static void await_nobody_left(const command *c)
{
    int64_t deadline_ns = clock_now_ns() + 5 * INT64_C(1000000000);
    while (kill(-c->pid, 0) == 0 && clock_now_ns() < deadline_ns)
        sched_yield();
    run_expect_nobody_left(c);
}

static void agents_end_when_their_coordinator_is_killed_and_none_takes_over(void **state)
{
    (void)state;
    command c;
    run_write_network("");
    run_start(&c, (const char *const[]){"--epochs", "200", "--orphan-after", "0.5", NULL});
    assert_true(command_await(&c, "\n    1 "));
    kill(c.pid, SIGKILL);
    command_finish(&c); /* the agents, too, hold its output */
    run_expect_status(&c, 128 + SIGKILL);
    run_expect(&c, "edgeps agent: d: lost the coordinator at 127.0.0.1:");
    run_expect(&c, "none took over in 0.5 s");
    await_nobody_left(&c);
}

/* Which processes the agents of the run are, as the run itself noted. */
static void read_agents(char text[256])
{
    char path[256], *value;
    coord *record;
    snprintf(path, sizeof path, "%s/job.db", run_out);
    assert_int_equal(coord_open(path, NULL, &record), EDGEPS_OK);
    assert_int_equal(coord_get(record, "agents", NULL, &value), EDGEPS_OK);
    coord_close(record);
    assert_non_null(value);
    snprintf(text, 256, "%s", value);
    mem_free(value);
}

static size_t read_model(char *bytes, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/model.safetensors", run_out);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t count = fread(bytes, 1, size, file);
    fclose(file);
    return count;
}

/* Two workers: their sum does not depend on who comes first, so the model does not either. */
static void a_killed_coordinator_is_followed_and_nothing_is_lost(void **state)
{
    (void)state;
    static char models[2][1 << 20];
    char agents[2][256];
    size_t bytes[2];
    command c, next, second;
    run_write_nodes((const int[]){600, 600}, 2, "");
    run_start(&c, (const char *const[]){"--backend", "ref", "--epochs", "6", NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    bytes[0] = read_model(models[0], sizeof models[0]);
    run_start(&c, (const char *const[]){"--backend", "ref", "--epochs", "6", "--force", NULL});
    assert_true(command_await(&c, "\n    2 "));
    command_run(&second, (const char *const[]){"run", "--resume", run_out, NULL});
    command_expect_line(&second, 2, "a coordinator is at work in this folder");
    read_agents(agents[0]);
    kill(c.pid, SIGKILL);
    assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
    command_run(&second, (const char *const[]){"run", "--resume", run_out, "--batch", "50", NULL});
    command_expect_line(&second, 2, "--batch: the agents of this run may be at work, not with 50");
    command_run(&second,
                (const char *const[]){"run", "--resume", run_out, "--quorum", "0.5", NULL});
    command_expect_line(&second, 2,
                        "--quorum: the agents of this run may be at work, not with 0.5");
    command_run(&next, (const char *const[]){"run", "--resume", run_out, NULL});
    run_expect_status(&next, 0);
    run_expect(&next, "taken over: 2 agents go on");
    run_expect_epochs(&next, 6);
    read_agents(agents[1]);
    assert_string_equal(agents[0], agents[1]); /* none was started */
    bytes[1] = read_model(models[1], sizeof models[1]);
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(models[0], models[1], bytes[0]);
    command_run(&next, (const char *const[]){"report", run_out, "--json", NULL});
    run_expect(&next, "\"takeovers\": [\n");
    command_run(&next,
                (const char *const[]){"run", "--resume", run_out, NULL}); /* nothing is left */
    run_expect_status(&next, 0);
    run_expect(&next, "all epochs are done");
    assert_int_equal(read_model(models[1], sizeof models[1]), bytes[0]);
    assert_memory_equal(models[0], models[1], bytes[0]);
    close(c.out);
    await_nobody_left(&c);
}

/* The process of the n-th agent, from 0: a number and a time for each, behind the kernel's own. */
static pid_t agent_process(int n)
{
    char text[256];
    read_agents(text);
    const char *at = text;
    for (int k = 0; k < 1 + 2 * n && at; k++)
        at = strchr(at + 1, ' ');
    return at ? (pid_t)strtol(at, NULL, 10) : 0;
}

static void a_stopped_node_is_left_out_and_turned_away_when_it_goes_on(void **state)
{
    (void)state;
    command c;
    run_write_network("{\"epoch\": 2, \"node\": \"c\", \"stop\": true}");
    run_start(&c,
              (const char *const[]){"--suspect", "0.5", "--silent", "1.5", "--epochs", "8", NULL});
    assert_true(command_await(&c, "c is suspected: not heard for 0.5"));
    assert_true(command_await(&c, "lost c: silent: not heard for 1.5 s"));
    assert_int_equal(kill(agent_process(2), SIGCONT), 0);
    assert_true(command_await(&c, "turns this process away: the job has gone on without it"));
    assert_true(command_await(&c, ": an old process of c: the job has gone on without it"));
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect(&c, "rounds go on, ");
    run_expect(&c, "  faults      silent 1; the next round after ");
    run_expect_epochs(&c, 8);
    run_expect_nobody_left(&c);
}

/* Stopped for good: with a quorum epochs end without it, too, and at the run's end it is gone. */
static void with_a_quorum_epochs_end_without_a_stopped_node(void **state)
{
    (void)state;
    command c;
    run_write_network("{\"epoch\": 2, \"node\": \"d\", \"stop\": true}");
    run_start(&c, (const char *const[]){"--quorum", "0.7", "--round-timeout", "20 ms", "--suspect",
                                        "0.3", "--silent", "600", NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect(&c, "d is suspected");
    run_expect_epochs(&c, 3);
    if (strstr(c.text, "lost"))
        fail_msg("%s", c.text);
    run_expect_nobody_left(&c);
}

/* Three nodes that only serve, and four that only train. */
static void write_servers_and_workers(const char *scenario)
{
    static const int mbit_per_s[] = {620, 600, 590, 400, 400, 400, 400};
    FILE *file = fopen(run_network, "we");
    assert_non_null(file);
    fputs("{\"edgeps\": \"network/1\", \"nodes\": [\n", file);
    for (int i = 0; i < 7; i++)
        fprintf(file,
                "%s{\"name\": \"%c\", \"up\": \"%d Mbit/s\", \"down\": \"%d Mbit/s\","
                " \"compute\": \"20000 samples/s\", \"free\": \"16 MiB\", \"%s\": false}",
                i ? ",\n" : "", 'a' + i, mbit_per_s[i], mbit_per_s[i], i < 3 ? "train" : "serve");
    fprintf(file, "],\n \"scenario\": [%s]}\n", scenario);
    assert_int_equal(fclose(file), 0);
}

/* When the first line with these words was written, in seconds. */
static double time_of(const char *words)
{
    char path[128], line[1024];
    double time_s = -1;
    snprintf(path, sizeof path, "%s/events.jsonl", run_out);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (time_s < 0 && fgets(line, sizeof line, file))
        if (strstr(line, words))
            time_s = strtod(strstr(line, "\"time_s\":") + 9, NULL);
    fclose(file);
    return time_s;
}

/* dmlc/parameter_server issue 32: the job hung when a server was killed. */
static void a_killed_local_server_among_three_hangs_nobody(void **state)
{
    (void)state;
    command c;
    write_servers_and_workers("{\"epoch\": 2, \"node\": \"b\", \"kill\": true}");
    run_start(&c, (const char *const[]){NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect(&c, "local servers a, b;");
    run_expect(&c, "2 workers re-attached");
    run_expect_epochs(&c, 3);
    double killed_s = time_of("\"scenario\""), told_s = time_of("\"lost\"");
    if (!(killed_s >= 0 && told_s >= killed_s && told_s <= killed_s + 2.5 + 1))
        fail_msg("killed at %g s, told at %g s", killed_s, told_s);
    assert_true(time_of("\"recovered\"") >= told_s);
    if (!(run_accuracy(&c) > 0.9))
        fail_msg("%s", c.text);
    run_expect_nobody_left(&c);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_killed_local_server_among_three_hangs_nobody),
        UNIT(a_killed_worker_is_left_out_and_the_epochs_are_all_there),
        UNIT(a_killed_global_server_is_restored_from_the_checkpoint),
        UNIT(a_killed_global_server_is_restored_from_its_standby),
        UNIT(a_node_whose_agent_is_started_again_joins),
        UNIT(rounds_go_on_without_a_slow_worker_and_what_comes_late_is_counted),
        UNIT(agents_end_when_their_coordinator_is_killed_and_none_takes_over),
        UNIT(a_killed_coordinator_is_followed_and_nothing_is_lost),
        UNIT(a_stopped_node_is_left_out_and_turned_away_when_it_goes_on),
        UNIT(with_a_quorum_epochs_end_without_a_stopped_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
