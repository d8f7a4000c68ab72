/* `edgeps run` as a user meets it: real processes, real sockets, a synthetic data set. */
#include "integration/command.h"

#include "base/clock.h"
#include "base/mem.h"
#include "coord/coord.h"
#include "nn/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], data[96], out[96], network[96];

static void path_in(char path[96], const char *name) { snprintf(path, 96, "%s/%s", dir, name); }

static int set_up(void **state)
{
    (void)state;
    folder_make(dir);
    path_in(data, "data");
    path_in(out, "run");
    path_in(network, "network.json");
    assert_int_equal(mkdir(data, 0700), 0);
    assert_int_equal(nn_synthetic_write(data, 2000, 500, 7, NULL), EDGEPS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(dir);
    return 0;
}

/* Nodes a, b, ... with these rates both ways. */
static void write_nodes(const int *mbit_per_s, int count, const char *scenario)
{
    FILE *file = fopen(network, "we");
    assert_non_null(file);
    fputs("{\"edgeps\": \"network/1\", \"name\": \"few\", \"nodes\": [\n", file);
    for (int i = 0; i < count; i++)
        fprintf(file,
                "%s{\"name\": \"%c\", \"up\": \"%d Mbit/s\", \"down\": \"%d Mbit/s\","
                " \"compute\": \"20000 samples/s\", \"free\": \"16 MiB\"}",
                i ? ",\n" : "", 'a' + i, mbit_per_s[i], mbit_per_s[i]);
    fprintf(file, "],\n \"scenario\": [%s]}\n", scenario);
    assert_int_equal(fclose(file), 0);
}

/* Four nodes; b is the best connected one and so becomes the global and the only local server. */
static void write_network(const char *scenario)
{
    write_nodes((const int[]){600, 2000, 600, 600}, 4, scenario);
}

static void run(command *c, const char *const *more)
{
    const char *arguments[32] = {"run",          network, "--model", "mlp", "--data",   data,
                                 "--out",        out,     "--batch", "25",  "--epochs", "3",
                                 "--max-locals", "2"};
    size_t count = 14;
    while (*more)
        arguments[count++] = *more++;
    arguments[count] = NULL;
    command_start(c, arguments);
}

static void expect(const command *c, const char *words)
{
    if (!strstr(c->text, words))
        fail_msg("'%s' is not in:\n%s", words, c->text);
}

static void expect_status(const command *c, int status)
{
    if (c->status != status)
        fail_msg("status %d, not %d:\n%s", c->status, status, c->text);
}

static void expect_epochs(const command *c, int epochs)
{
    char words[32];
    snprintf(words, sizeof words, "%d of %d in", epochs, epochs);
    expect(c, words);
}

/* As the summary tells it, a fraction. */
static double accuracy_of(const command *c)
{
    const char *label = "  accuracy ", *at = strstr(c->text, label);
    return at ? strtod(at + strlen(label), NULL) / 100 : -1;
}

/* No process of the run is left. */
static void expect_nobody_left(const command *c) { assert_int_equal(kill(-c->pid, 0), -1); }

static void expect_file(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", out, name);
    if (access(path, F_OK))
        fail_msg("%s is missing", path);
}

static void trains_and_leaves_events_plans_checkpoints_and_the_model(void **state)
{
    (void)state;
    command c;
    write_network("");
    run(&c, (const char *const[]){NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect_epochs(&c, 3);
    expect_nobody_left(&c);
    expect_file("events.jsonl");
    expect_file("plans/plan-1.json");
    expect_file("checkpoints");
    expect_file("model.safetensors");
    command again;
    command_run(&again, (const char *const[]){"report", out, NULL});
    expect_status(&again, 0);
    expect_epochs(&again, 3);
}

static void prints_events_as_json_lines(void **state)
{
    (void)state;
    command c;
    write_network("");
    run(&c, (const char *const[]){"--json", "--rates", "off", NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect(&c, "\"event\":\"start\"");
    expect(&c, "\"event\":\"epoch\"");
    expect(&c, "\"accuracy\":");
}

static void a_killed_worker_is_left_out_and_the_epochs_are_all_there(void **state)
{
    (void)state;
    command c;
    write_network("{\"epoch\": 2, \"node\": \"d\", \"kill\": true}");
    run(&c, (const char *const[]){NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect(&c, "lost d: dead");
    expect(&c, "d is gone");
    expect_epochs(&c, 3);
    expect_nobody_left(&c);
}

static void a_killed_global_server_is_restored_from_the_checkpoint(void **state)
{
    (void)state;
    command c;
    write_network("{\"epoch\": 2, \"node\": \"b\", \"kill\": true}");
    run(&c, (const char *const[]){NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect(&c, "global server b;");
    expect(&c, "lost b: dead");
    expect(&c, "from the checkpoint");
    expect_epochs(&c, 3);
    expect_nobody_left(&c);
}

/* The second local server, e, has kept the optimizer's state. */
static void a_killed_global_server_is_restored_from_its_standby(void **state)
{
    (void)state;
    command c;
    write_nodes((const int[]){200, 300, 200, 200, 290, 200}, 6,
                "{\"epoch\": 2, \"node\": \"b\", \"kill\": true}");
    run(&c, (const char *const[]){NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect(&c, "global server b; local servers b, e;");
    expect(&c, "restored the global server on e from what it kept in reserve");
    expect_epochs(&c, 3);
    expect_nobody_left(&c);
}

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

/* The plan that takes d in again follows the one without it. */
static void a_node_whose_agent_is_started_again_joins(void **state)
{
    (void)state;
    command c, agent;
    char coordinator[32];
    int port = free_port();
    snprintf(coordinator, sizeof coordinator, "%d", port);
    write_network("{\"epoch\": 1, \"node\": \"d\", \"kill\": true}");
    run(&c, (const char *const[]){"--port", coordinator, "--epochs", "6", NULL});
    assert_true(command_await(&c, "d is gone"));
    snprintf(coordinator, sizeof coordinator, "127.0.0.1:%d", port);
    command_run(&agent,
                (const char *const[]){"agent", "--coordinator", coordinator, "--node", "d", NULL});
    command_finish(&c);
    expect_status(&agent, 0);
    expect_status(&c, 0);
    expect(&c, "d is back: a new process says hello");
    expect(&c, "plan 3:");
    expect_epochs(&c, 6);
    expect_nobody_left(&c);
}

/* Node d takes 250 ms for what the others do in 1.25 ms. */
static void rounds_go_on_without_a_slow_worker_and_what_comes_late_is_counted(void **state)
{
    (void)state;
    command c;
    write_network("{\"epoch\": 1, \"node\": \"d\", \"compute\": \"100 samples/s\"}");
    run(&c, (const char *const[]){"--quorum", "0.7", "--round-timeout", "40 ms", NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect_epochs(&c, 3);
    expect(&c, "goes on without d: its gradient came after the sum");
    expect(&c, "  late        d (in ");
    if (strstr(c.text, "lost") || accuracy_of(&c) < 0.9)
        fail_msg("%s", c.text);
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
    write_network("");
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        command c;
        run(&c, (const char *const[]){bad[k][0], bad[k][1], NULL});
        command_finish(&c);
        expect_status(&c, 2);
        expect(&c, bad[k][2]);
        assert_ptr_equal(strchr(c.text, '\n'), c.text + strlen(c.text) - 1);
    }
}

static void an_interrupted_run_ends_at_once_and_is_resumed(void **state)
{
    (void)state;
    command c, again;
    write_network("");
    run(&c, (const char *const[]){"--epochs", "200", NULL});
    assert_true(command_await(&c, "\n    2 "));
    int64_t interrupted_ns = clock_now_ns();
    kill(-c.pid, SIGINT); /* as a terminal does: to the whole group */
    command_finish(&c);
    int64_t took_ns = clock_now_ns() - interrupted_ns;
    expect_status(&c, 130);
    expect(&c, "edgeps run --resume");
    expect_nobody_left(&c);
    if (took_ns > 2 * INT64_C(1000000000))
        fail_msg("the end took %.3f s", (double)took_ns * 1e-9);
    command_run(&again, (const char *const[]){"run", "--resume", out, "--epochs", "4", NULL});
    expect_status(&again, 0);
    expect(&again, "all epochs are done");
    expect_file("model.safetensors");
}

static void stores_and_forwards_where_asked(void **state)
{
    (void)state;
    command c;
    write_network("{\"epoch\": 2, \"node\": \"d\", \"kill\": true}");
    run(&c,
        (const char *const[]){"--transfer", "store-and-forward", "--split", "dirichlet:0.3", NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect(&c, "store-and-forward");
    expect(&c, "lost d: dead");
    expect_epochs(&c, 3);
}

/* Nobody is there to wait for orphans but the system: they are looked for until they are gone. */
static void await_nobody_left(const command *c)
{
    int64_t deadline_ns = clock_now_ns() + 5 * INT64_C(1000000000);
    while (kill(-c->pid, 0) == 0 && clock_now_ns() < deadline_ns)
        sched_yield();
    expect_nobody_left(c);
}

static void agents_end_when_their_coordinator_is_killed_and_none_takes_over(void **state)
{
    (void)state;
    command c;
    write_network("");
    run(&c, (const char *const[]){"--epochs", "200", "--orphan-after", "0.5", NULL});
    assert_true(command_await(&c, "\n    1 "));
    kill(c.pid, SIGKILL);
    command_finish(&c); /* the agents, too, hold its output */
    expect_status(&c, 128 + SIGKILL);
    expect(&c, "edgeps agent: d: lost the coordinator at 127.0.0.1:");
    expect(&c, "none took over in 0.5 s");
    await_nobody_left(&c);
}

/* Which processes the agents of the run are, as the run itself noted. */
static void read_agents(char text[256])
{
    char path[256], *value;
    coord *record;
    snprintf(path, sizeof path, "%s/job.db", out);
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
    snprintf(path, sizeof path, "%s/model.safetensors", out);
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
    write_nodes((const int[]){600, 600}, 2, "");
    run(&c, (const char *const[]){"--backend", "ref", "--epochs", "6", NULL});
    command_finish(&c);
    expect_status(&c, 0);
    bytes[0] = read_model(models[0], sizeof models[0]);
    run(&c, (const char *const[]){"--backend", "ref", "--epochs", "6", "--force", NULL});
    assert_true(command_await(&c, "\n    2 "));
    command_run(&second, (const char *const[]){"run", "--resume", out, NULL});
    command_expect_line(&second, 2, "a coordinator is at work in this folder");
    read_agents(agents[0]);
    kill(c.pid, SIGKILL);
    assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
    command_run(&second, (const char *const[]){"run", "--resume", out, "--batch", "50", NULL});
    command_expect_line(&second, 2, "--batch: the agents of this run may be at work, not with 50");
    command_run(&second, (const char *const[]){"run", "--resume", out, "--quorum", "0.5", NULL});
    command_expect_line(&second, 2,
                        "--quorum: the agents of this run may be at work, not with 0.5");
    command_run(&next, (const char *const[]){"run", "--resume", out, NULL});
    expect_status(&next, 0);
    expect(&next, "taken over: 2 agents go on");
    expect_epochs(&next, 6);
    read_agents(agents[1]);
    assert_string_equal(agents[0], agents[1]); /* none was started */
    bytes[1] = read_model(models[1], sizeof models[1]);
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(models[0], models[1], bytes[0]);
    command_run(&next, (const char *const[]){"report", out, "--json", NULL});
    expect(&next, "\"takeovers\": [\n");
    command_run(&next, (const char *const[]){"run", "--resume", out, NULL}); /* nothing is left */
    expect_status(&next, 0);
    expect(&next, "all epochs are done");
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
    write_network("{\"epoch\": 2, \"node\": \"c\", \"stop\": true}");
    run(&c, (const char *const[]){"--suspect", "0.5", "--silent", "1.5", "--epochs", "8", NULL});
    assert_true(command_await(&c, "c is suspected: not heard for 0.5"));
    assert_true(command_await(&c, "lost c: silent: not heard for 1.5 s"));
    assert_int_equal(kill(agent_process(2), SIGCONT), 0);
    assert_true(command_await(&c, "turns this process away: the job has gone on without it"));
    assert_true(command_await(&c, ": an old process of c: the job has gone on without it"));
    command_finish(&c);
    expect_status(&c, 0);
    expect(&c, "rounds go on, ");
    expect(&c, "  faults      silent 1; the next round after ");
    expect_epochs(&c, 8);
    expect_nobody_left(&c);
}

/* Stopped for good: with a quorum epochs end without it, too, and at the run's end it is gone. */
static void with_a_quorum_epochs_end_without_a_stopped_node(void **state)
{
    (void)state;
    command c;
    write_network("{\"epoch\": 2, \"node\": \"d\", \"stop\": true}");
    run(&c, (const char *const[]){"--quorum", "0.7", "--round-timeout", "20 ms", "--suspect", "0.3",
                                  "--silent", "600", NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect(&c, "d is suspected");
    expect_epochs(&c, 3);
    if (strstr(c.text, "lost"))
        fail_msg("%s", c.text);
    expect_nobody_left(&c);
}

static void with_adjusting_off_it_says_what_would_happen_and_why(void **state)
{
    (void)state;
    command c;
    write_network("{\"epoch\": 2, \"node\": \"b\", \"free\": \"100 KiB\"}");
    run(&c, (const char *const[]){"--adjust", "off", NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect(&c, "storage of b");
    expect_epochs(&c, 3);
}

static void servers_move_when_storage_falls(void **state)
{
    (void)state;
    static const char *const modes[] = {"adjust", "replan"};
    for (int k = 0; k < 2; k++) {
        command c;
        write_network("{\"epoch\": 2, \"node\": \"b\", \"free\": \"100 KiB\"}");
        run(&c, (const char *const[]){"--adjust", modes[k], "--force", NULL});
        command_finish(&c);
        expect_status(&c, 0);
        expect(&c, "moved the global server b -> ");
        expect_epochs(&c, 3);
    }
}

static void refuses(const char *const *arguments, int status, const char *words)
{
    command c;
    command_run(&c, arguments);
    expect_status(&c, status);
    expect(&c, words);
    const char *end = strchr(c.text, '\n');
    if (!end || end[1])
        fail_msg("not one line: %s", c.text);
}

static void bad_input_is_refused_in_one_line(void **state)
{
    (void)state;
    char missing[96], damaged[192];
    write_network("");
    path_in(missing, "nothing");
    refuses((const char *const[]){"run", NULL}, 2, "no network file given");
    refuses((const char *const[]){"run", missing, NULL}, 2, "cannot be read: No such file");
    refuses((const char *const[]){"run", network, "--data", missing, "--out", out, NULL}, 2,
            "train-images-idx3-ubyte: cannot be read");
    refuses((const char *const[]){"run", network, "--shards", "2", NULL}, 2,
            "--shards: a run carries the model whole so far, not in 2 shards");
    refuses((const char *const[]){"run", network, "--model", "gpt", "--data", data, NULL}, 2,
            "model 'gpt' is not known");
    refuses((const char *const[]){"run", network, "--epochs", "none", "--data", data, NULL}, 2,
            "--epochs: 'none' is not a whole number");
    refuses((const char *const[]){"run", network, "--split", "dirichlet:x", "--data", data, NULL},
            2, "--split: 'x' is not a number");
    refuses((const char *const[]){"run", network, "--adjust", "maybe", "--data", data, NULL}, 2,
            "--adjust: 'maybe' is none of: off, replan, adjust");
    refuses((const char *const[]){"run", "--resume", missing, NULL}, 2,
            "holds no run to go on with");
    write_network("{\"epoch\": 2, \"node\": \"c\", \"cut\": true}");
    refuses((const char *const[]){"run", network, "--data", data, "--out", out, NULL}, 2,
            "scenario[0]: cut: needs --lab,");
    write_network("{\"epoch\": 2, \"node\": \"c\", \"latency\": \"9 ms\"}");
    refuses((const char *const[]){"run", network, "--data", data, "--out", out, NULL}, 2,
            "scenario[0]: latency: does not change in a run");
    write_network("");
    snprintf(damaged, sizeof damaged, "%s/t10k-labels-idx1-ubyte", data);
    assert_int_equal(truncate(damaged, 100), 0);
    refuses((const char *const[]){"run", network, "--data", data, "--out", out, NULL}, 2,
            "t10k-labels-idx1-ubyte: byte 4: says 500 items");
}

static void with_certificates_it_trains_over_tls(void **state)
{
    (void)state;
    char certs[96];
    command c;
    write_network("{\"epoch\": 2, \"node\": \"b\", \"kill\": true}");
    path_in(certs, "certs");
    command_run(&c,
                (const char *const[]){"cert", "init", "--out", certs, "--nodes", "a,b,c", NULL});
    expect_status(&c, 0);
    run(&c, (const char *const[]){"--certs", certs, NULL});
    command_finish(&c);
    command_expect_line(&c, 2, "certs/node-d.pem: No such file");
    command_run(&c, (const char *const[]){"cert", "issue", "--out", certs, "--nodes", "d", NULL});
    expect_status(&c, 0);
    run(&c, (const char *const[]){"--certs", certs, NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect(&c, "lost b: dead");
    expect_epochs(&c, 3);
    expect_nobody_left(&c);
}

/* Four nodes at the addresses 127.0.0.2 to 5, but c at `odd`. */
static void write_addresses(const char *odd)
{
    char address[32];
    FILE *file = fopen(network, "we");
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
    run(&c, (const char *const[]){NULL});
    command_finish(&c);
    expect_status(&c, 0);
    expect_epochs(&c, 3);
    /* Addresses for documentation (RFC 5737): no host has them. */
    write_addresses("192.0.2.7");
    run(&c, (const char *const[]){"--force", NULL});
    command_finish(&c);
    command_expect_line(&c, 2, "node c is at 192.0.2.7, beyond loopback: give --certs FOLDER");
    run(&c, (const char *const[]){"--force", "--insecure", NULL});
    command_finish(&c);
    expect_status(&c, 2);
    expect(&c, "who is on the way can read and change all");
    expect(&c, "c: this node is at 192.0.2.7: who is on the way");
    expect(&c, "node c cannot use its address 192.0.2.7");
    assert_null(strstr(c.text, "\n    1 "));
    expect_nobody_left(&c);
    command_refuses(
        (const char *const[]){"agent", "--coordinator", "192.0.2.7:9", "--node", "a", NULL}, 2,
        "the address of the coordinator, 192.0.2.7, is beyond loopback: give --certs FOLDER");
}

static void an_earlier_run_is_not_overwritten_unasked(void **state)
{
    (void)state;
    command c;
    write_network("");
    run(&c, (const char *const[]){"--rates", "off", "--epochs", "1", NULL});
    command_finish(&c);
    expect_status(&c, 0);
    run(&c, (const char *const[]){"--rates", "off", "--epochs", "1", NULL});
    command_finish(&c);
    expect_status(&c, 2);
    expect(&c, "holds an earlier run");
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(trains_and_leaves_events_plans_checkpoints_and_the_model),
        UNIT(prints_events_as_json_lines),
        UNIT(a_killed_worker_is_left_out_and_the_epochs_are_all_there),
        UNIT(a_killed_global_server_is_restored_from_the_checkpoint),
        UNIT(a_killed_global_server_is_restored_from_its_standby),
        UNIT(a_node_whose_agent_is_started_again_joins),
        UNIT(rounds_go_on_without_a_slow_worker_and_what_comes_late_is_counted),
        UNIT(a_bad_quorum_time_out_or_staleness_is_refused_in_one_line),
        UNIT(an_interrupted_run_ends_at_once_and_is_resumed),
        UNIT(stores_and_forwards_where_asked),
        UNIT(agents_end_when_their_coordinator_is_killed_and_none_takes_over),
        UNIT(a_killed_coordinator_is_followed_and_nothing_is_lost),
        UNIT(a_stopped_node_is_left_out_and_turned_away_when_it_goes_on),
        UNIT(with_a_quorum_epochs_end_without_a_stopped_node),
        UNIT(with_adjusting_off_it_says_what_would_happen_and_why),
        UNIT(servers_move_when_storage_falls),
        UNIT(bad_input_is_refused_in_one_line),
        UNIT(with_certificates_it_trains_over_tls),
        UNIT(nodes_are_where_the_network_says),
        UNIT(an_earlier_run_is_not_overwritten_unasked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
