#include "lab/lab.h"

#include "base/mem.h"
#include "formats/network_json.h"
#include "lab/lab_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64], text[8192];

static const char *file_in(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void read_all(FILE *file)
{
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
}

static void expect(const char *words)
{
    if (!strstr(text, words))
        fail_msg("'%s' is not in:\n%s", words, text);
}

static network *two_nodes(void)
{
    network *net = fixture_network(2, 10 * MBIT);
    mem_free(net->nodes[1].name);
    net->nodes[1].name = mem_copy_text("a \"b\" $c");
    net->nodes[1].compute_samples_per_s = 2500;
    net->nodes[1].free_bytes = 4096 + 1;
    return net;
}

/* Numbers by hand: a quarter of a core, two pages, and 100,000,000 bytes beside them. In what
 * Compose reads a dollar stands for itself when it is written twice. */
static void each_node_is_a_service_with_its_limits(void **state)
{
    (void)state;
    network *net = two_nodes(), *placed = NULL;
    const lab_options options = {.core_samples_per_s = 10000, .memory_bytes = 100000000};
    fixture_folder(dir);
    assert_int_equal(lab_compose(net, dir, &options, NULL), EDGEPS_OK);
    FILE *file = fopen(file_in("compose.yaml"), "re");
    read_all(file);
    fclose(file);
    expect(
        "--enclosed, --node, \"a \\\"b\\\" $$c\"]\n    tmpfs: [\"/storage:size=8192,mode=755\"]\n"
        "    mem_limit: 100008192\n    cpus: 0.250\n"
        "    networks: {edge: {ipv4_address: 10.77.0.2}}\n");
    expect("--await-agents, --address, 10.77.255.254, --port, \"7700\"");
    assert_int_equal(network_json_load(file_in("network.json"), NULL, &placed), EDGEPS_OK);
    assert_string_equal(placed->nodes[0].address, "10.77.0.1");
    assert_string_equal(placed->nodes[1].address, "10.77.0.2");
    network_free(placed);
    network_free(net);
}

static void the_image_holds_this_program_and_its_loader(void **state)
{
    (void)state;
    char program[4096], command[160];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(length > 0);
    program[length] = '\0';
    snprintf(command, sizeof command, "tar -tf %s", file_in("image.tar"));
    FILE *list = popen(command, "re"); /* NOLINT(cert-env33-c): a command of the test's own */
    read_all(list);
    assert_int_equal(pclose(list), 0);
    expect(program + 1);
    expect("ld-linux");
    expect("libc.so");
    static const char *const files[] = {"compose.yaml", "network.json", "image.tar"};
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(unlink(file_in(files[k])), 0);
    assert_int_equal(rmdir(dir), 0); /* and nothing else */
}

static void says_where_it_cannot_write(void **state)
{
    (void)state;
    edgeps_diag diag = {.text = ""};
    network *net = two_nodes();
    assert_int_equal(lab_compose(net, "/nonexistent/x", &(lab_options){.tied = false}, &diag),
                     EDGEPS_IO);
    assert_non_null(strstr(diag.text, "/nonexistent/x"));
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_node_is_a_service_with_its_limits),
        cmocka_unit_test(the_image_holds_this_program_and_its_loader),
        cmocka_unit_test(says_where_it_cannot_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
