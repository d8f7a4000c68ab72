/* `edgeps bench predict`; argv[0] is its name. */
#ifndef EDGEPS_CLI_PREDICT_H
#define EDGEPS_CLI_PREDICT_H

#include "base/err.h"

edgeps_err predict_command(int argc, char **argv, edgeps_diag *diag);
void predict_help(void);

#endif
