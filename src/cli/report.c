#include "cli/report.h"

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/show.h"
#include "formats/event_file.h"
#include "formats/summary_json.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum { JSON, HELP, OPTIONS };

static const options_row rows[OPTIONS] = {
    [JSON] = {"json", NULL, NULL, "one JSON object instead of text", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

typedef struct collection {
    meter_history history;
    edgeps_err err;
} collection;

static void collect(void *context, const meter_event *event)
{
    collection *c = context;
    if (!c->err)
        c->err = meter_history_add(&c->history, event);
}

static edgeps_err add_remedy(edgeps_diag *diag, edgeps_err err)
{
    size_t used = strlen(diag->text);
    const char *remedy = err == EDGEPS_USAGE ? "name the folder that edgeps run wrote to (--out)"
                                             : "remove that line to see the rest";
    if (err == EDGEPS_USAGE || err == EDGEPS_FORMAT)
        snprintf(diag->text + used, sizeof diag->text - used, "; %s", remedy);
    return err;
}

static edgeps_err read_events(const char *path, FILE *warnings, edgeps_diag *diag, collection *c)
{
    bool cut = false;
    edgeps_err err = event_file_read(path, diag, collect, c, &cut);
    if (err)
        return add_remedy(diag, err);
    if (c->err)
        return diag_fail(diag, c->err, "%s: no memory for its events", path);
    if (c->history.count == 0)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: holds no event; wait until the run has begun",
                         path);
    if (cut)
        fprintf(warnings,
                "edgeps report: warning: %s: the last line is cut off, as by a crash; it is left "
                "out\n",
                path);
    return EDGEPS_OK;
}

static edgeps_err print_text(const meter_history *history, FILE *out, edgeps_diag *diag)
{
    show *s = show_make(out, false);
    if (!s)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the report");
    for (size_t i = 0; i < history->count; i++)
        show_event(s, &history->kept[i].event);
    if (!meter_summarize(history).end)
        show_summary(s);
    show_free(s);
    return EDGEPS_OK;
}

static edgeps_err print_json(const meter_history *history, FILE *out, edgeps_diag *diag)
{
    char *text = NULL;
    edgeps_err err = summary_json_text(history, diag, &text);
    if (!err)
        fprintf(out, "%s\n", text);
    mem_free(text);
    return err;
}

edgeps_err report_print(const char *dir, bool json, FILE *out, FILE *warnings, edgeps_diag *diag)
{
    char path[PATH_MAX];
    collection c = {0};
    if ((size_t)snprintf(path, sizeof path, "%s/events.jsonl", dir) >= sizeof path)
        return diag_fail(diag, EDGEPS_USAGE, "%.60s...: this path is too long", dir);
    edgeps_err err = read_events(path, warnings, diag, &c);
    if (!err)
        err = json ? print_json(&c.history, out, diag) : print_text(&c.history, out, diag);
    if (!err && (fflush(out) || ferror(out)))
        err = diag_fail(diag, EDGEPS_IO, "standard output: %s", strerror(errno));
    meter_history_free(&c.history);
    return err;
}

int cli_report(int argc, char **argv)
{
    const char *value[OPTIONS] = {NULL}, *dir = NULL;
    edgeps_diag diag = {.text = ""};
    edgeps_err err = options_read(table, argc, argv, value, &dir, &diag);
    if (!err && value[HELP]) {
        options_help("report [DIR] [--json]",
                     "prints what happened in the run whose folder is DIR (default run), and what "
                     "it came to",
                     table);
        return 0;
    }
    if (!err)
        err = report_print(dir ? dir : "run", value[JSON] != NULL, stdout, stderr, &diag);
    if (err)
        fprintf(stderr, "edgeps report: %s\n", diag.text);
    return err_exit_status(err);
}
