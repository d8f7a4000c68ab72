/* The subcommands of `edgeps topo`, and what they share. Each takes its own arguments (argv[0] is
 * its name); its options can be printed without running it. */
#ifndef EDGEPS_CLI_TOPO_H
#define EDGEPS_CLI_TOPO_H

#include "base/err.h"
#include "network/network.h"

#include <stdbool.h>
#include <stdio.h>

edgeps_err topo_generate(int argc, char **argv, edgeps_diag *diag);
void topo_generate_help(void);
edgeps_err topo_import(int argc, char **argv, edgeps_diag *diag);
void topo_import_help(void);
edgeps_err topo_check(int argc, char **argv, edgeps_diag *diag);
void topo_check_help(void);
edgeps_err topo_draw(int argc, char **argv, edgeps_diag *diag);
void topo_draw_help(void);
edgeps_err topo_convert(int argc, char **argv, edgeps_diag *diag);
void topo_convert_help(void);

/* Writes `text` into the file, or to standard output where `path` is NULL. EDGEPS_IO. */
edgeps_err topo_write(const char *text, const char *path, edgeps_diag *diag);

/* Closes what was written to, unless it is standard output (`path` is NULL); an error anywhere
 * before shows here. EDGEPS_IO. */
edgeps_err topo_finish(FILE *file, const char *path, edgeps_diag *diag);

/* Writes a network file. */
edgeps_err topo_write_network(const network *net, const char *path, edgeps_diag *diag);

/* Lets `write` put the network where topo_write would put a text. EDGEPS_IO. */
edgeps_err topo_write_with(const network *net, void (*write)(const network *net, FILE *file),
                           const char *path, edgeps_diag *diag);

bool topo_is_folder(const char *path);

/* Loads a network file, or a folder of CSV tables; what the tables leave open is told on standard
 * error. */
edgeps_err topo_load(const char *path, edgeps_diag *diag, network **out);

#endif
