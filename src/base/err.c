#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *text;
    int status;
} table[] = {
#define EDGEPS_ERR_ROW(name, text, status) {text, status},
    EDGEPS_ERR_TABLE(EDGEPS_ERR_ROW)
#undef EDGEPS_ERR_ROW
};

const char *err_text(edgeps_err err) { return table[err].text; }

int err_exit_status(edgeps_err err) { return table[err].status; }

/* A foreign name in a message neither breaks the line nor steers a terminal. */
static void keep_one_line(edgeps_diag *diag)
{
    for (char *c = diag->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

#undef diag_fail
#undef diag_wrap

edgeps_err diag_fail(edgeps_diag *diag, edgeps_err err, const char *format, ...)
{
    if (!diag)
        return err;
    va_list args;
    va_start(args, format);
    vsnprintf(diag->text, sizeof diag->text, format, args);
    va_end(args);
    keep_one_line(diag);
    return err;
}

edgeps_err diag_wrap(edgeps_diag *diag, edgeps_err err, const char *format, ...)
{
    if (!diag)
        return err;
    char inner[sizeof diag->text];
    memcpy(inner, diag->text, sizeof inner);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(diag->text, sizeof diag->text, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof diag->text)
        snprintf(diag->text + used, sizeof diag->text - (size_t)used, ": %s", inner);
    keep_one_line(diag);
    return err;
}
