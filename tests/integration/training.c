#include "integration/training.h"

#include "nn/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char run_dir[64], run_data[96], run_out[96], run_network[96];

void run_path(char path[96], const char *name) { snprintf(path, 96, "%s/%s", run_dir, name); }

int run_set_up(void **state)
{
    (void)state;
    folder_make(run_dir);
    run_path(run_data, "data");
    run_path(run_out, "run");
    run_path(run_network, "network.json");
    assert_int_equal(mkdir(run_data, 0700), 0);
    assert_int_equal(nn_synthetic_write(run_data, 2000, 500, 7, NULL), EDGEPS_OK);
    return 0;
}

int run_tear_down(void **state)
{
    (void)state;
    folder_remove(run_dir);
    return 0;
}

/* Nodes a, b, ... with these rates both ways. */
void run_write_nodes(const int *mbit_per_s, int count, const char *scenario)
{
    FILE *file = fopen(run_network, "we");
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
void run_write_network(const char *scenario)
{
    run_write_nodes((const int[]){600, 2000, 600, 600}, 4, scenario);
}

void run_start(command *c, const char *const *more)
{
    const char *arguments[32] = {"run",      run_network, "--model",      "mlp",     "--data",
                                 run_data,   "--out",     run_out,        "--batch", "25",
                                 "--epochs", "3",         "--max-locals", "2"};
    size_t count = 14;
    while (*more)
        arguments[count++] = *more++;
    arguments[count] = NULL;
    command_start(c, arguments);
}

void run_expect(const command *c, const char *words)
{
    if (!strstr(c->text, words))
        fail_msg("'%s' is not in:\n%s", words, c->text);
}

void run_expect_status(const command *c, int status)
{
    if (c->status != status)
        fail_msg("status %d, not %d:\n%s", c->status, status, c->text);
}

void run_expect_epochs(const command *c, int epochs)
{
    char words[32];
    snprintf(words, sizeof words, "%d of %d in", epochs, epochs);
    run_expect(c, words);
}

/* As the summary tells it, a fraction. */
double run_accuracy(const command *c)
{
    const char *label = "  accuracy ", *at = strstr(c->text, label);
    return at ? strtod(at + strlen(label), NULL) / 100 : -1;
}

/* No process of the run is left. */
void run_expect_nobody_left(const command *c) { assert_int_equal(kill(-c->pid, 0), -1); }
