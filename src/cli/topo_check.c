#include "base/mem.h"
#include "cli/check.h"
#include "cli/setting.h"
#include "cli/topo.h"

#include <stdio.h>

enum { MODEL, MAX_LOCALS, TRANSFER, JSON, HELP, OPTIONS };

static const options_row rows[OPTIONS] = {
    [MODEL] = {"model", "NAME", NULL, "judge storage for this model, too, as of edgeps plan",
               false},
    [MAX_LOCALS] = {"max-locals", "K", "4", "with --model: most local servers", false},
    [TRANSFER] = {"transfer", "HOW", "pipelined", "with --model: pipelined or store-and-forward",
                  false},
    [JSON] = {"json", NULL, NULL, "the answer as JSON", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

void topo_check_help(void)
{
    options_help("topo check NETWORK [OPTIONS]",
                 "tells whether a network can train, and which of its values look wrong", table);
}

static edgeps_err print(const check_facts *facts, bool json, edgeps_diag *diag)
{
    char *text = NULL;
    if (!json) {
        check_print(facts);
        return topo_finish(stdout, NULL, diag);
    }
    if (check_json_text(facts, &text))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the answer's text");
    edgeps_err err = topo_write(text, NULL, diag);
    mem_free(text);
    return err;
}

/* The first error stands for all on standard error, as in any other command. */
static edgeps_err verdict(const check_facts *facts, edgeps_diag *diag)
{
    for (size_t k = 0; k < facts->count; k++)
        if (facts->findings[k].severity == CHECK_ERROR)
            return diag_fail(diag, EDGEPS_INFEASIBLE, "%s: %s", facts->source,
                             facts->findings[k].text);
    return EDGEPS_OK;
}

static edgeps_err check(const char *path, const char *const *value, edgeps_diag *diag)
{
    /* What there is room for does not depend on samples and seed. */
    const char *const texts[SETTING_OPTIONS] = {[SETTING_MODEL] = value[MODEL],
                                                [SETTING_MAX_LOCALS] = value[MAX_LOCALS],
                                                [SETTING_TRANSFER] = value[TRANSFER],
                                                [SETTING_BATCH] = "1",
                                                [SETTING_LOCAL_STEPS] = "1",
                                                [SETTING_SAMPLES] = "1",
                                                [SETTING_SEED] = "0"};
    setting asked = {.max_locals = 0};
    check_request request = {.job = NULL};
    check_facts facts = {.count = 0};
    network *net = NULL;
    edgeps_err err = value[MODEL] ? setting_read(texts, diag, &asked) : EDGEPS_OK;
    if (!err)
        err = topo_load(path, diag, &net);
    if (err)
        return err;
    request = (check_request){net, value[MODEL] ? &asked.job : NULL, asked.max_locals};
    err = check_find(&request, diag, &facts);
    facts.source = path;
    if (!err)
        err = print(&facts, value[JSON] != NULL, diag);
    if (!err)
        err = verdict(&facts, diag);
    check_free(&facts);
    network_free(net);
    return err;
}

edgeps_err topo_check(int argc, char **argv, edgeps_diag *diag)
{
    const char *value[OPTIONS] = {NULL}, *path = NULL;
    edgeps_err err = options_read(table, argc, argv, value, &path, diag);
    if (!err && value[HELP]) {
        topo_check_help();
        return EDGEPS_OK;
    }
    if (!err && !path)
        err = diag_fail(diag, EDGEPS_USAGE, "no network file given; see --help");
    options_fill(table, value);
    return err ? err : check(path, value, diag);
}
