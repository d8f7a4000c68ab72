#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *text;
} commands[] = {
    {"plan", cli_plan, "place the parameter servers of a job in a network"},
    {"explain", cli_explain, "tell why a plan is as it is, and what would make it faster"},
    {"run", cli_run, "train through placed servers, one process per node"},
    {"report", cli_report, "print what happened in a run, and what it came to"},
    {"topo", cli_topo, "generate, import, check, draw and convert networks"},
    {"scenario", cli_scenario, "draw or import what happens to a network in time"},
    {"lab", cli_lab, "make the network of a file on this machine"},
    {"bench", cli_bench, "measure the planner"},
    {"cert", cli_cert, "make the certificates of a job's members"},
    {"sim", cli_sim, "train in virtual time, or search there for faults that break the protocol"},
    {"probe", cli_probe, "measure a fleet's links by its agents"},
    {"agent", cli_agent, "host the roles of one node (started by run)"},
};

static int help(FILE *out)
{
    fprintf(out, "usage: edgeps COMMAND [ARGUMENTS]\n\n");
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
        fprintf(out, "  %-8s %s\n", commands[k].name, commands[k].text);
    fprintf(out, "\nedgeps COMMAND --help tells more; edgeps --version the version.\n");
    return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return help(stderr);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return help(stdout);
    if (strcmp(argv[1], "--version") == 0) {
        printf("edgeps %s\n", EDGEPS_VERSION);
        return 0;
    }
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
        if (strcmp(argv[1], commands[k].name) == 0)
            return commands[k].run(argc - 1, argv + 1);
    fprintf(stderr, "edgeps: '%s' is no command; see edgeps --help\n", argv[1]);
    return 2;
}
