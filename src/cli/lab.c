#include "cli/cli.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/options.h"
#include "cli/topo.h"
#include "formats/quantity.h"
#include "lab/check.h"
#include "lab/lab.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DIR, HELP, COMMON, FORCE = COMMON, JSON, OPTIONS };
enum { CORE = COMMON, MEMORY, COMPOSE_OPTIONS, BACKEND = COMPOSE_OPTIONS, OWN_DOCKERD, UP_OPTIONS };

#define COMMON_ROWS                                                                                \
    [DIR] = {"dir", "DIR", "lab", "folder that says which lab it is", false}, [HELP] = {           \
                                                                                  "help", NULL,    \
                                                                                  NULL,            \
                                                                                  "this text",     \
                                                                                  false}

static const options_row rows[OPTIONS] = {
    COMMON_ROWS,
    [FORCE] = {"force", NULL, NULL, "be content with whatever was measured", false},
    [JSON] = {"json", NULL, NULL, "the answer as JSON", false},
};

static const options_row up_rows[UP_OPTIONS] = {
    COMMON_ROWS,
    [BACKEND] = {"backend", "NAME", "netns", "what nodes are: netns, or docker: containers", false},
    [OWN_DOCKERD] = {"own-dockerd", NULL, NULL,
                     "with docker: a daemon for this lab alone, which ends with it", false},
    [MEMORY] = {"memory", "SIZE", "1 GiB",
                "with docker: what each container may use beside its storage", false},
    [CORE] = {"core", "SPEED", NULL,
              "what a core of this machine computes, as \"18000 samples/s\": each node gets the "
              "share of one that it is as fast as",
              false},
};

/* Some of the same options at the same places. */
static const options_row compose_rows[COMPOSE_OPTIONS] = {
    [DIR] = {"dir", "DIR", "compose", "folder for the files", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
    [CORE] = {"core", "SPEED", NULL,
              "what a core computes: containers get the share that their nodes are as fast as",
              false},
    [MEMORY] = {"memory", "SIZE", "1 GiB", "what each container may use beside its storage", false},
};

#define LEAST_MEMORY_BYTES 16e6
#define MOST_MEMORY_BYTES 1e15

/* What a subcommand is given. */
typedef struct call {
    const char *operand;
    const char *dir;
    const char *const *value; /* of the options */
    char **argv;              /* what follows "--"; NULL without it */
    int status;               /* of the command, where it is not that of an error */
} call;

static edgeps_err no_operand(const call *c, edgeps_diag *diag)
{
    return c->operand ? diag_fail(diag, EDGEPS_USAGE, "'%s': one argument too many; see --help",
                                  c->operand)
                      : EDGEPS_OK;
}

static edgeps_err read_up(const call *c, edgeps_diag *diag, lab_options *out)
{
    static const char *const backends[] = {"netns", "docker", NULL};
    int backend = 0;
    double memory = 0;
    lab_options o = {.own_dockerd = c->value[OWN_DOCKERD] != NULL};
    edgeps_err err = EDGEPS_OK;
    if (c->value[BACKEND])
        err = options_choice("backend", c->value[BACKEND], backends, diag, &backend);
    if (!err && c->value[CORE] &&
        quantity_parse(QUANTITY_SPEED, c->value[CORE], diag, &o.core_samples_per_s))
        err = diag_wrap(diag, EDGEPS_USAGE, "--core");
    if (!err && quantity_parse(QUANTITY_SIZE, c->value[MEMORY], diag, &memory))
        err = diag_wrap(diag, EDGEPS_USAGE, "--memory");
    if (!err && (memory < LEAST_MEMORY_BYTES || memory > MOST_MEMORY_BYTES))
        err = diag_fail(diag, EDGEPS_USAGE, "--memory: %s is not from 16 MB to 1 PB",
                        c->value[MEMORY]);
    if (!err && o.own_dockerd && backend == 0)
        err = diag_fail(diag, EDGEPS_USAGE, "--own-dockerd goes with --backend docker");
    if (err)
        return err;
    o.backend = backend == 1 ? LAB_DOCKER : LAB_NETNS;
    o.memory_bytes = (int64_t)memory;
    *out = o;
    return EDGEPS_OK;
}

static edgeps_err up(call *c, edgeps_diag *diag)
{
    network *net = NULL;
    if (!c->operand)
        return diag_fail(diag, EDGEPS_USAGE, "no network file given; see --help");
    lab_options options;
    edgeps_err err = read_up(c, diag, &options);
    if (!err)
        err = topo_load(c->operand, diag, &net);
    if (err)
        return err;
    int64_t begun_ns = clock_now_ns();
    err = lab_up(net, c->dir, &options, diag);
    if (!err)
        printf("%s: %zu nodes are up after %.2f s; end the lab with: edgeps lab down --dir %s\n",
               c->dir, net->count, clock_since_s(begun_ns), c->dir);
    network_free(net);
    return err;
}

static edgeps_err compose(call *c, edgeps_diag *diag)
{
    network *net = NULL;
    lab_options options;
    if (!c->operand)
        return diag_fail(diag, EDGEPS_USAGE, "no network file given; see --help");
    edgeps_err err = read_up(c, diag, &options);
    if (!err)
        err = topo_load(c->operand, diag, &net);
    if (!err)
        err = lab_compose(net, c->dir, &options, diag);
    if (!err)
        printf("%s: compose.yaml, network.json, image.tar; go on with\n"
               "  docker import %s/image.tar edgeps\n"
               "  EDGEPS_DATA=FOLDER docker compose --project-directory %s up\n",
               c->dir, c->dir, c->dir);
    network_free(net);
    return err;
}

static edgeps_err down(call *c, edgeps_diag *diag)
{
    edgeps_err err = no_operand(c, diag);
    return err ? err : lab_down(c->dir, diag);
}

static void print_node(const network_node *node, size_t index)
{
    char address[LAB_ADDRESS_BYTES], control[LAB_ADDRESS_BYTES];
    char rate_up[QUANTITY_TEXT_BYTES], rate_down[QUANTITY_TEXT_BYTES];
    lab_address(index, address);
    lab_control_address(index, control);
    quantity_short(QUANTITY_RATE, node->up_bytes_per_s, rate_up);
    quantity_short(QUANTITY_RATE, node->down_bytes_per_s, rate_down);
    printf("  %-15s %-15s %14s %14s  %s\n", address, control, rate_up, rate_down, node->name);
}

static void print_docker(const lab *l)
{
    char host[LAB_HOST_BYTES];
    lab_docker_host(l, host);
    if (lab_backend_of(l) == LAB_DOCKER)
        printf("  containers edgeps-lab-%d-n0 and on%s%s\n", lab_keeper(l),
               *host ? ", of DOCKER_HOST=" : "", host);
}

static edgeps_err status(call *c, edgeps_diag *diag)
{
    lab *l = NULL;
    edgeps_err err = no_operand(c, diag);
    if (!err)
        err = lab_open(c->dir, diag, &l);
    if (err)
        return err;
    const network *net = lab_network(l);
    printf("%s: %zu nodes %s; keeper: process %d\n", c->dir, net->count,
           lab_has_root(l) ? "by root" : "in a user namespace", lab_keeper(l));
    print_docker(l);
    printf("  %-15s %-15s %14s %14s  %s\n", "address", "for control", "up", "down", "node");
    for (size_t i = 0; i < net->count; i++)
        print_node(&net->nodes[i], i);
    lab_close(l);
    return EDGEPS_OK;
}

static edgeps_err exec(call *c, edgeps_diag *diag)
{
    lab *l = NULL;
    if (!c->operand || !c->argv || !c->argv[0])
        return diag_fail(diag, EDGEPS_USAGE,
                         "needs a node and a command: edgeps lab exec NODE -- COMMAND...");
    edgeps_err err = lab_open(c->dir, diag, &l);
    if (err)
        return err;
    int64_t node = network_find(lab_network(l), c->operand);
    if (node < 0)
        err = diag_fail(diag, EDGEPS_USAGE,
                        "%s: no node is called '%s'; edgeps lab status lists "
                        "them",
                        c->dir, c->operand);
    if (!err)
        err = lab_exec(l, (size_t)node, c->argv, diag, &c->status);
    lab_close(l);
    return err;
}

static edgeps_err keep(const char *dir, const char *text, edgeps_diag *diag)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/" LAB_CHECK_FILE, dir);
    return topo_write(text, path, diag);
}

static edgeps_err tell(const call *c, const lab_check *found, edgeps_diag *diag)
{
    char *text = NULL;
    if (lab_check_json(found, &text))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the answer's text");
    edgeps_err err = keep(c->dir, text, diag);
    if (!err && c->value[JSON])
        err = topo_write(text, NULL, diag);
    else if (!err)
        lab_check_print(found, stdout);
    mem_free(text);
    return err || c->value[FORCE] ? err : lab_check_verdict(found, diag);
}

static edgeps_err check(call *c, edgeps_diag *diag)
{
    lab *l = NULL;
    lab_check found;
    edgeps_err err = no_operand(c, diag);
    if (!err)
        err = lab_open(c->dir, diag, &l);
    if (err)
        return err;
    err = lab_check_run(l, diag, &found);
    if (!err) {
        err = tell(c, &found, diag);
        lab_check_free(&found);
    }
    lab_close(l);
    return err;
}

static const struct {
    const char *name;
    edgeps_err (*run)(call *c, edgeps_diag *diag);
    const char *usage;
    const char *text;
    options_table table;
} commands[] = {
    {"up",
     up,
     "lab up NETWORK",
     "makes a network of namespaces or containers that does what the file says",
     {up_rows, UP_OPTIONS}},
    {"compose",
     compose,
     "lab compose NETWORK",
     "writes the files with which Docker Compose makes it",
     {compose_rows, COMPOSE_OPTIONS}},
    {"check", check, "lab check", "measures every link against the file", {rows, OPTIONS}},
    {"exec",
     exec,
     "lab exec NODE -- COMMAND...",
     "runs a program in a node's network",
     {rows, COMMON}},
    {"status",
     status,
     "lab status",
     "prints the nodes with their addresses and rates",
     {rows, COMMON}},
    {"down", down, "lab down", "ends the lab with all that runs in it", {rows, COMMON}},
};

#define COMMANDS (sizeof commands / sizeof *commands)

static int help(void)
{
    printf("usage: edgeps lab COMMAND [ARGUMENTS] [OPTIONS]\n\n");
    for (size_t k = 0; k < COMMANDS; k++)
        printf("  %-8s %s\n", commands[k].name, commands[k].text);
    for (size_t k = 0; k < COMMANDS; k++) {
        putchar('\n');
        options_help(commands[k].usage, commands[k].text, commands[k].table);
    }
    return 0;
}

static int run(size_t which, int argc, char **argv)
{
    const char *value[UP_OPTIONS] = {NULL};
    edgeps_diag diag = {.text = ""};
    const options_table table = commands[which].table;
    call c = {.value = value};
    for (int k = 1; k < argc && !c.argv; k++)
        if (strcmp(argv[k], "--") == 0) {
            c.argv = &argv[k + 1];
            argc = k;
        }
    edgeps_err err = options_read(table, argc, argv, value, &c.operand, &diag);
    if (!err && value[HELP]) {
        options_help(commands[which].usage, commands[which].text, table);
        return 0;
    }
    options_fill(table, value);
    c.dir = value[DIR];
    if (!err)
        err = commands[which].run(&c, &diag);
    if (err)
        fprintf(stderr, "edgeps lab %s: %s\n", commands[which].name, diag.text);
    return err ? err_exit_status(err) : c.status;
}

int cli_lab(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "edgeps lab: no command given; see edgeps lab --help\n");
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help();
    for (size_t k = 0; k < COMMANDS; k++)
        if (strcmp(argv[1], commands[k].name) == 0)
            return run(k, argc - 1, argv + 1);
    if (strcmp(argv[1], "wait") == 0)
        return lab_wait();
    fprintf(stderr, "edgeps lab: '%s' is no command; see edgeps lab --help\n", argv[1]);
    return 2;
}
