#include "formats/event_file.h"

#include "formats/event_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gives one line away; a failure names the line's number. */
static edgeps_err read_line(const char *line, size_t length, int number, edgeps_diag *diag,
                            meter_kept *kept)
{
    edgeps_err err = event_json_parse(line, length, diag, kept);
    if (err == EDGEPS_FORMAT) {
        diag_wrap(diag, err, "line %d", number);
        if (diag)
            diag->line = number;
    }
    return err;
}

static edgeps_err read_lines(FILE *file, edgeps_diag *diag, meter_observer *observe, void *context,
                             bool *cut)
{
    char *line = NULL;
    size_t room = 0;
    edgeps_err err = EDGEPS_OK;
    errno = 0;
    for (int number = 1; !err; number++) {
        ssize_t length = getline(&line, &room, file);
        if (length < 0)
            break;
        meter_kept kept = {0};
        err = read_line(line, (size_t)length, number, diag, &kept);
        if (err == EDGEPS_FORMAT && line[length - 1] != '\n') {
            *cut = true;
            err = EDGEPS_OK;
            break;
        }
        if (!err)
            observe(context, &kept.event);
        meter_kept_free(&kept);
    }
    if (!err && ferror(file))
        err = diag_fail(diag, EDGEPS_IO, "%s", strerror(errno));
    free(line); /* getline's own memory */
    return err;
}

edgeps_err event_file_read(const char *path, edgeps_diag *diag, meter_observer *observe,
                           void *context, bool *cut)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return diag_fail(diag, EDGEPS_USAGE, "%s: %s", path, strerror(errno));
    edgeps_err err = read_lines(file, diag, observe, context, cut);
    fclose(file);
    return err ? diag_wrap(diag, err, "%s", path) : EDGEPS_OK;
}
