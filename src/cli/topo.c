#include "cli/topo.h"

#include "base/mem.h"
#include "cli/cli.h"
#include "formats/network_csv.h"
#include "formats/network_json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name;
    edgeps_err (*run)(int argc, char **argv, edgeps_diag *diag);
    void (*help)(void);
    const char *text;
} commands[] = {
    {"generate", topo_generate, topo_generate_help, "draw a network at random"},
    {"import", topo_import, topo_import_help, "make a network of a topology or of measurements"},
    {"check", topo_check, topo_check_help, "tell what is amiss with a network"},
    {"draw", topo_draw, topo_draw_help, "make a picture of a network, or of a plan in it"},
    {"convert", topo_convert, topo_convert_help, "write a network in another format"},
};

static edgeps_err unwritable(const char *path, edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_IO, "%s cannot be written: %s", path ? path : "standard output",
                     strerror(errno));
}

edgeps_err topo_finish(FILE *file, const char *path, edgeps_diag *diag)
{
    bool good = !ferror(file) && fflush(file) == 0;
    if (path && fclose(file))
        good = false;
    return good ? EDGEPS_OK : unwritable(path, diag);
}

edgeps_err topo_write(const char *text, const char *path, edgeps_diag *diag)
{
    FILE *file = path ? fopen(path, "we") : stdout;
    if (!file)
        return unwritable(path, diag);
    fprintf(file, "%s\n", text);
    return topo_finish(file, path, diag);
}

edgeps_err topo_write_with(const network *net, void (*write)(const network *net, FILE *file),
                           const char *path, edgeps_diag *diag)
{
    FILE *file = path ? fopen(path, "we") : stdout;
    if (!file)
        return unwritable(path, diag);
    write(net, file);
    return topo_finish(file, path, diag);
}

edgeps_err topo_write_network(const network *net, const char *path, edgeps_diag *diag)
{
    char *text = NULL;
    if (network_json_text(net, &text))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the network's text");
    edgeps_err err = topo_write(text, path, diag);
    mem_free(text);
    return err;
}

bool topo_is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

edgeps_err topo_load(const char *path, edgeps_diag *diag, network **out)
{
    topology_report report = {0};
    if (!topo_is_folder(path))
        return network_json_load(path, diag, out);
    edgeps_err err = network_csv_load(path, &(topology_options){0}, diag, out, &report);
    for (size_t k = 0; k < report.count; k++)
        fprintf(stderr, "%s\n", report.lines[k]);
    topology_report_free(&report);
    return err;
}

static int help(void)
{
    printf("usage: edgeps topo COMMAND [ARGUMENTS]\n\n");
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
        printf("  %-8s %s\n", commands[k].name, commands[k].text);
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
        putchar('\n');
        commands[k].help();
    }
    return 0;
}

int cli_topo(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "edgeps topo: no command given; see edgeps topo --help\n");
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help();
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
        if (strcmp(argv[1], commands[k].name) != 0)
            continue;
        edgeps_diag diag = {.text = ""};
        edgeps_err err = commands[k].run(argc - 1, argv + 1, &diag);
        if (err)
            fprintf(stderr, "edgeps topo %s: %s\n", argv[1], diag.text);
        return err_exit_status(err);
    }
    fprintf(stderr, "edgeps topo: '%s' is no command; see edgeps topo --help\n", argv[1]);
    return 2;
}
