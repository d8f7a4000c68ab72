#include "base/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

edgeps_err file_write_text(const char *path, const char *text, edgeps_diag *diag)
{
    FILE *file = fopen(path, "we");
    bool good = file && fputs(text, file) >= 0;
    if (file && fclose(file))
        good = false;
    return good ? EDGEPS_OK
                : diag_fail(diag, EDGEPS_IO, "%s: cannot be written: %s", path, strerror(errno));
}

edgeps_err file_end_output(edgeps_diag *diag)
{
    if (fflush(stdout) || ferror(stdout))
        return diag_fail(diag, EDGEPS_IO, "standard output cannot be written: %s", strerror(errno));
    return EDGEPS_OK;
}
