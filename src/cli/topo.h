/* The subcommands of `edgeps topo`, and what they share. Each takes its own arguments (argv[0] is
 * its name); its options can be printed without running it. */
#ifndef EDGEPS_CLI_TOPO_H
#define EDGEPS_CLI_TOPO_H

#include "base/err.h"
#include "network/network.h"

edgeps_err topo_generate(int argc, char **argv, edgeps_diag *diag);
void topo_generate_help(void);

/* Writes `text` into the file, or to standard output where `path` is NULL. EDGEPS_IO. */
edgeps_err topo_write(const char *text, const char *path, edgeps_diag *diag);

/* Writes a network file. */
edgeps_err topo_write_network(const network *net, const char *path, edgeps_diag *diag);

#endif
