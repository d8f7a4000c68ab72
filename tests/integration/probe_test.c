/* `edgeps probe` in a lab whose rates and latencies are known. */
#include "integration/command.h"

#include "formats/network_json.h"
#include "nn/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODES 4
#define MBIT 125000.0

static char dir[64], lab[96], network_file[96], sketch_file[96], found_file[96];
static command agents[NODES];
static const char program[] = EDGEPS_BINARY_DIR "/edgeps";

/* No node is faster than the others together can be with it, as that is all that can be seen. */
static const struct {
    const char *name;
    double up_mbit, down_mbit, latency_ms;
} nodes[NODES] = {{"a", 20, 50, 3}, {"b", 8, 40, 10}, {"c", 80, 70, 1}, {"d", 60, 5, 5}};

static void write_files(void)
{
    FILE *whole = fopen(network_file, "we"), *sketch = fopen(sketch_file, "we");
    assert_true(whole && sketch);
    fputs("{\"edgeps\": \"network/1\", \"nodes\": [", whole);
    fputs("{\"edgeps\": \"network/1\", \"nodes\": [", sketch);
    for (int i = 0; i < NODES; i++) {
        fprintf(whole,
                "%s{\"name\": \"%s\", \"up\": \"%g Mbit/s\", \"down\": \"%g Mbit/s\", "
                "\"latency\": \"%g ms\", \"compute\": \"7 samples/s\", \"free\": \"16 MiB\"}",
                i ? "," : "", nodes[i].name, nodes[i].up_mbit, nodes[i].down_mbit,
                nodes[i].latency_ms);
        fprintf(sketch,
                "%s{\"name\": \"%s\", \"address\": \"10.77.0.%d\", \"compute\": \"7 samples/s\"}",
                i ? "," : "", nodes[i].name, i + 1);
    }
    fputs("]}\n", whole);
    fputs("]}\n", sketch);
    assert_int_equal(fclose(whole), 0);
    assert_int_equal(fclose(sketch), 0);
}

static int set_up(void **state)
{
    (void)state;
    folder_make(dir);
    snprintf(lab, sizeof lab, "%s/lab", dir);
    snprintf(network_file, sizeof network_file, "%s/network.json", dir);
    snprintf(sketch_file, sizeof sketch_file, "%s/sketch.json", dir);
    snprintf(found_file, sizeof found_file, "%s/found.json", dir);
    write_files();
    return 0;
}

static int tear_down(void **state)
{
    command c;
    (void)state;
    command_run(&c, (const char *const[]){"lab", "down", "--dir", lab, NULL});
    for (int i = 0; i < NODES; i++)
        if (agents[i].pid > 0)
            command_finish(&agents[i]);
    memset(agents, 0, sizeof agents);
    folder_remove(dir);
    return 0;
}

/* Control is a network of its own in the lab, so that asking is not in the way of probes. */
static void start_agents(void)
{
    for (int i = 0; i < NODES; i++)
        command_start(&agents[i], (const char *const[]){"lab", "exec", nodes[i].name, "--dir", lab,
                                                        "--", program, "agent", "--coordinator",
                                                        "10.78.0.1:7700", "--enclosed", "--node",
                                                        nodes[i].name, "--wait", "300", NULL});
}

static bool is_near(const char *what, const char *name, double found, double asked, double least)
{
    double off = fabs(found - asked);
    bool near = off <= fmax(0.1 * asked, least);
    if (off > 0)
        print_message("%s of %s: %.4g of %.4g%s\n", what, name, found, asked, near ? "" : " !");
    return near;
}

static bool is_as_asked(const network *net)
{
    bool good = true;
    for (size_t i = 0; i < NODES; i++) {
        const network_node *n = &net->nodes[i];
        good &= is_near("Mbit/s up", n->name, n->up_bytes_per_s / MBIT, nodes[i].up_mbit, 0);
        good &= is_near("Mbit/s down", n->name, n->down_bytes_per_s / MBIT, nodes[i].down_mbit, 0);
        assert_true(n->compute_samples_per_s == 7); /* as the file says */
        assert_true(n->free_bytes > 0);
        for (size_t j = 0; j < NODES; j++)
            good &= is_near("ms", n->name, 1e3 * network_latency_s(net, i, j),
                            j == i ? 0 : nodes[i].latency_ms + nodes[j].latency_ms, 1);
    }
    return good;
}

static bool probe(void)
{
    command c;
    network *net = NULL;
    command_run(&c, (const char *const[]){"lab", "exec", "a", "--dir", lab, "--", program, "probe",
                                          sketch_file, "--address", "10.78.0.1", "--insecure",
                                          "--out", found_file, NULL});
    if (c.status)
        fail_msg("%s", c.text);
    assert_int_equal(network_json_load(found_file, NULL, &net), EDGEPS_OK);
    bool good = is_as_asked(net);
    network_free(net);
    return good;
}

/* Other programs' load takes from what the machine gives the lab, so there is a second and a third
 * look, as of edgeps lab check. */
static void a_lab_is_found_as_it_is_within_a_tenth(void **state)
{
    (void)state;
    command c;
    bool good = false;
    command_run(&c, (const char *const[]){"lab", "up", network_file, "--dir", lab, NULL});
    if (strstr(c.text, "run as root") || strstr(c.text, "not installed")) {
        print_message("skipped: %s", c.text);
        skip();
    }
    assert_int_equal(c.status, 0);
    start_agents();
    for (int look = 0; look < 3 && !good; look++)
        good = probe();
    assert_true(good);
}

/* Agents that were there before the job, with storage of their own. */
static void a_run_takes_agents_that_call(void **state)
{
    (void)state;
    command c;
    char data[96], out[96], storage[NODES][96], path[128];
    snprintf(data, sizeof data, "%s/data", dir);
    snprintf(out, sizeof out, "%s/run", dir);
    assert_int_equal(mkdir(data, 0755), 0);
    assert_int_equal(nn_synthetic_write(data, 400, 100, 7, NULL), EDGEPS_OK);
    for (int i = 0; i < NODES; i++) {
        snprintf(storage[i], sizeof storage[i], "%s/%s", dir, nodes[i].name);
        command_start(&agents[i], (const char *const[]){"agent", "--coordinator", "127.0.0.1:7701",
                                                        "--node", nodes[i].name, "--storage",
                                                        storage[i], "--wait", "60", NULL});
    }
    command_run(&c, (const char *const[]){"run", network_file, "--await-agents", "--port", "7701",
                                          "--rates", "off", "--model", "mlp", "--data", data,
                                          "--out", out, "--epochs", "1", NULL});
    if (c.status)
        fail_msg("%s", c.text);
    for (int i = 0; i < NODES; i++) {
        command_finish(&agents[i]);
        assert_int_equal(agents[i].status, 0);
        assert_int_equal(access(storage[i], F_OK), 0);
        snprintf(path, sizeof path, "%s/nodes/%d", out, i);
        assert_true(rmdir(path) == 0 || errno == ENOENT); /* nothing is there */
    }
    memset(agents, 0, sizeof agents);
}

static void what_cannot_be_is_refused_in_a_line(void **state)
{
    (void)state;
    command_refuses((const char *const[]){"probe", sketch_file, NULL}, 2,
                    "10.77.0.1 is beyond loopback");
    command_refuses((const char *const[]){"probe", NULL}, 2, "no network file given");
    command_refuses((const char *const[]){"probe", sketch_file, "--most", "0 bit/s", NULL}, 2,
                    "--most");
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_lab_is_found_as_it_is_within_a_tenth),
        UNIT(a_run_takes_agents_that_call),
        UNIT(what_cannot_be_is_refused_in_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
