/* Small files as a whole, and standard output. */
#ifndef EDGEPS_BASE_FILE_H
#define EDGEPS_BASE_FILE_H

#include "base/err.h"

/* Makes the file, or replaces what is in it. EDGEPS_IO names it and the reason. */
edgeps_err file_write_text(const char *path, const char *text, edgeps_diag *diag);

/* To be called when all is printed. EDGEPS_IO: not all of it arrived, as on a full disk. */
edgeps_err file_end_output(edgeps_diag *diag);

#endif
