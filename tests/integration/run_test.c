/* `edgeps run` as a user meets it: real processes, real sockets, a synthetic data set. */
#include "integration/training.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void expect_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", run_out, name);
    if (access(path, F_OK))
        fail_msg("%s is missing", path);
}

static void trains_and_leaves_events_plans_checkpoints_and_the_model(void **state)
{
    (void)state;
    command c;
    run_write_network("");
    run_start(&c, (const char *const[]){NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect_epochs(&c, 3);
    run_expect_nobody_left(&c);
    expect_file("events.jsonl");
    expect_file("plans/plan-1.json");
    expect_file("checkpoints");
    expect_file("model.safetensors");
    command again;
    command_run(&again, (const char *const[]){"report", run_out, NULL});
    run_expect_status(&again, 0);
    run_expect_epochs(&again, 3);
}

static void prints_events_as_json_lines(void **state)
{
    (void)state;
    command c;
    run_write_network("");
    run_start(&c, (const char *const[]){"--json", "--rates", "off", NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect(&c, "\"event\":\"start\"");
    run_expect(&c, "\"event\":\"epoch\"");
    run_expect(&c, "\"accuracy\":");
}

/* What has to do with stragglers, and is wrong. */
static void a_bad_quorum_time_out_or_staleness_is_refused_in_one_line(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {"--quorum", "0", "above 0"},         {"--quorum", "1.5", "--quorum"},
        {"--quorum", "most", "--quorum"},     {"--round-timeout", "2", "--round-timeout"},
        {"--round-timeout", "0x", "2x"},      {"--round-timeout", "-1 s", "500 ms"},
        {"--round-timeout", "x", "500 ms"},   {"--round-timeout", "0 s", "500 ms"},
        {"--staleness", "-1", "--staleness"}, {"--staleness", "1", "--quorum"},
    };
    run_write_network("");
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        command c;
        run_start(&c, (const char *const[]){bad[k][0], bad[k][1], NULL});
        command_finish(&c);
        run_expect_status(&c, 2);
        run_expect(&c, bad[k][2]);
        assert_ptr_equal(strchr(c.text, '\n'), c.text + strlen(c.text) - 1);
    }
}

static void an_interrupted_run_ends_at_once_and_is_resumed(void **state)
{
    (void)state;
    command c, again;
    run_write_network("");
    run_start(&c, (const char *const[]){"--epochs", "200", NULL});
    assert_true(command_await(&c, "\n    2 "));
    int64_t interrupted_ns = clock_now_ns();
    kill(-c.pid, SIGINT); /* as a terminal does: to the whole group */
    command_finish(&c);
    int64_t took_ns = clock_now_ns() - interrupted_ns;
    run_expect_status(&c, 130);
    run_expect(&c, "edgeps run --resume");
    run_expect_nobody_left(&c);
    if (took_ns > 2 * INT64_C(1000000000))
        fail_msg("the end took %.3f s", (double)took_ns * 1e-9);
    command_run(&again, (const char *const[]){"run", "--resume", run_out, "--epochs", "4", NULL});
    run_expect_status(&again, 0);
    run_expect(&again, "all epochs are done");
    expect_file("model.safetensors");
}

static void stores_and_forwards_where_asked(void **state)
{
    (void)state;
    command c;
    run_write_network("{\"epoch\": 2, \"node\": \"d\", \"kill\": true}");
    run_start(&c, (const char *const[]){"--transfer", "store-and-forward", "--split",
                                        "dirichlet:0.3", NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect(&c, "store-and-forward");
    run_expect(&c, "lost d: dead");
    run_expect_epochs(&c, 3);
}

static void with_adjusting_off_it_says_what_would_happen_and_why(void **state)
{
    (void)state;
    command c;
    run_write_network("{\"epoch\": 2, \"node\": \"b\", \"free\": \"100 KiB\"}");
    run_start(&c, (const char *const[]){"--adjust", "off", NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect(&c, "storage of b");
    run_expect_epochs(&c, 3);
}

static void servers_move_when_storage_falls(void **state)
{
    (void)state;
    static const char *const modes[] = {"adjust", "replan"};
    for (int k = 0; k < 2; k++) {
        command c;
        run_write_network("{\"epoch\": 2, \"node\": \"b\", \"free\": \"100 KiB\"}");
        run_start(&c, (const char *const[]){"--adjust", modes[k], "--force", NULL});
        command_finish(&c);
        run_expect_status(&c, 0);
        run_expect(&c, "moved the global server b -> ");
        run_expect_epochs(&c, 3);
    }
}

static void refuses(const char *const *arguments, int status, const char *words)
{
    command c;
    command_run(&c, arguments);
    run_expect_status(&c, status);
    run_expect(&c, words);
    const char *end = strchr(c.text, '\n');
    if (!end || end[1])
        fail_msg("not one line: %s", c.text);
}

static void bad_input_is_refused_in_one_line(void **state)
{
    (void)state;
    char missing[96], damaged[192];
    run_write_network("");
    run_path(missing, "nothing");
    refuses((const char *const[]){"run", NULL}, 2, "no network file given");
    refuses((const char *const[]){"run", missing, NULL}, 2, "cannot be read: No such file");
    refuses((const char *const[]){"run", run_network, "--data", missing, "--out", run_out, NULL}, 2,
            "train-images-idx3-ubyte: cannot be read");
    refuses((const char *const[]){"run", run_network, "--shards", "2", NULL}, 2,
            "--shards: a run carries the model whole so far, not in 2 shards");
    refuses((const char *const[]){"run", run_network, "--model", "gpt", "--data", run_data, NULL},
            2, "model 'gpt' is not known");
    refuses((const char *const[]){"run", run_network, "--epochs", "none", "--data", run_data, NULL},
            2, "--epochs: 'none' is not a whole number");
    refuses((const char *const[]){"run", run_network, "--split", "dirichlet:x", "--data", run_data,
                                  NULL},
            2, "--split: 'x' is not a number");
    refuses(
        (const char *const[]){"run", run_network, "--adjust", "maybe", "--data", run_data, NULL}, 2,
        "--adjust: 'maybe' is none of: off, replan, adjust");
    refuses((const char *const[]){"run", "--resume", missing, NULL}, 2,
            "holds no run to go on with");
    run_write_network("{\"epoch\": 2, \"node\": \"c\", \"cut\": true}");
    refuses((const char *const[]){"run", run_network, "--data", run_data, "--out", run_out, NULL},
            2, "scenario[0]: cut: needs --lab,");
    run_write_network("{\"epoch\": 2, \"node\": \"c\", \"latency\": \"9 ms\"}");
    refuses((const char *const[]){"run", run_network, "--data", run_data, "--out", run_out, NULL},
            2, "scenario[0]: latency: does not change in a run");
    run_write_network("");
    snprintf(damaged, sizeof damaged, "%s/t10k-labels-idx1-ubyte", run_data);
    assert_int_equal(truncate(damaged, 100), 0);
    refuses((const char *const[]){"run", run_network, "--data", run_data, "--out", run_out, NULL},
            2, "t10k-labels-idx1-ubyte: byte 4: says 500 items");
}

static void with_certificates_it_trains_over_tls(void **state)
{
    (void)state;
    char certs[96];
    command c;
    run_write_network("{\"epoch\": 2, \"node\": \"b\", \"kill\": true}");
    run_path(certs, "certs");
    command_run(&c,
                (const char *const[]){"cert", "init", "--out", certs, "--nodes", "a,b,c", NULL});
    run_expect_status(&c, 0);
    run_start(&c, (const char *const[]){"--certs", certs, NULL});
    command_finish(&c);
    command_expect_line(&c, 2, "certs/node-d.pem: No such file");
    command_run(&c, (const char *const[]){"cert", "issue", "--out", certs, "--nodes", "d", NULL});
    run_expect_status(&c, 0);
    run_start(&c, (const char *const[]){"--certs", certs, NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect(&c, "lost b: dead");
    run_expect_epochs(&c, 3);
    run_expect_nobody_left(&c);
}

/* Four nodes at the addresses 127.0.0.2 to 5, but c at `odd`. */
static void write_addresses(const char *odd)
{
    char address[32];
    FILE *file = fopen(run_network, "we");
    assert_non_null(file);
    fputs("{\"edgeps\": \"network/1\", \"name\": \"four\", \"nodes\": [\n", file);
    for (int i = 0; i < 4; i++) {
        snprintf(address, sizeof address, "127.0.0.%d", i + 2);
        fprintf(file,
                "%s{\"name\": \"%c\", \"up\": \"1 Gbit/s\", \"down\": \"1 Gbit/s\","
                " \"compute\": \"20000 samples/s\", \"free\": \"16 MiB\", \"address\": \"%s\"}",
                i ? ",\n" : "", 'a' + i, i == 2 ? odd : address);
    }
    fputs("]}\n", file);
    assert_int_equal(fclose(file), 0);
}

static void nodes_are_where_the_network_says(void **state)
{
    (void)state;
    command c;
    write_addresses("127.0.0.4");
    run_start(&c, (const char *const[]){NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_expect_epochs(&c, 3);
    /* Addresses for documentation (RFC 5737): no host has them. */
    write_addresses("192.0.2.7");
    run_start(&c, (const char *const[]){"--force", NULL});
    command_finish(&c);
    command_expect_line(&c, 2, "node c is at 192.0.2.7, beyond loopback: give --certs FOLDER");
    run_start(&c, (const char *const[]){"--force", "--insecure", NULL});
    command_finish(&c);
    run_expect_status(&c, 2);
    run_expect(&c, "who is on the way can read and change all");
    run_expect(&c, "c: this node is at 192.0.2.7: who is on the way");
    run_expect(&c, "node c cannot use its address 192.0.2.7");
    assert_null(strstr(c.text, "\n    1 "));
    run_expect_nobody_left(&c);
    command_refuses(
        (const char *const[]){"agent", "--coordinator", "192.0.2.7:9", "--node", "a", NULL}, 2,
        "the address of the coordinator, 192.0.2.7, is beyond loopback: give --certs FOLDER");
}

static void an_earlier_run_is_not_overwritten_unasked(void **state)
{
    (void)state;
    command c;
    run_write_network("");
    run_start(&c, (const char *const[]){"--rates", "off", "--epochs", "1", NULL});
    command_finish(&c);
    run_expect_status(&c, 0);
    run_start(&c, (const char *const[]){"--rates", "off", "--epochs", "1", NULL});
    command_finish(&c);
    run_expect_status(&c, 2);
    run_expect(&c, "holds an earlier run");
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(trains_and_leaves_events_plans_checkpoints_and_the_model),
        UNIT(prints_events_as_json_lines),
        UNIT(a_bad_quorum_time_out_or_staleness_is_refused_in_one_line),
        UNIT(an_interrupted_run_ends_at_once_and_is_resumed),
        UNIT(stores_and_forwards_where_asked),
        UNIT(with_adjusting_off_it_says_what_would_happen_and_why),
        UNIT(servers_move_when_storage_falls),
        UNIT(bad_input_is_refused_in_one_line),
        UNIT(with_certificates_it_trains_over_tls),
        UNIT(nodes_are_where_the_network_says),
        UNIT(an_earlier_run_is_not_overwritten_unasked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
