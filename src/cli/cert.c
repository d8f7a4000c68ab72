#include "cli/cli.h"

#include "base/mem.h"
#include "cli/options.h"
#include "formats/network_json.h"
#include "trust/cert.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OUT, NODES, JOB, DAYS, FORCE, HELP, OPTIONS };

static const options_row rows[OPTIONS] = {
    [OUT] = {"out", "FOLDER", NULL, "where the certificates are, or go", false},
    [NODES] = {"nodes", "FILE|LIST", NULL, "a network file, or names with commas between", false},
    [JOB] = {"job", "NAME", NULL, "init: the job's name (default: drawn)", false},
    [DAYS] = {"days", "N", "90", "valid for so long", false},
    [FORCE] = {"force", NULL, NULL, "replace what is there", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

typedef struct order {
    const char *value[OPTIONS];
    int days;
    bool replace;
    char (*who)[TRUST_MAX_WHO + 1]; /* who gets a certificate beside the coordinator */
    size_t count;
} order;

static edgeps_err add_node(order *o, const char *name, edgeps_diag *diag)
{
    if (!trust_node(name, o->who[o->count]))
        return diag_fail(diag, EDGEPS_USAGE, "--nodes: '%s' cannot be a node's name", name);
    o->count++;
    return EDGEPS_OK;
}

static edgeps_err make_room(order *o, size_t count, edgeps_diag *diag)
{
    o->who = mem_alloc(count, sizeof *o->who);
    return o->who ? EDGEPS_OK : diag_fail(diag, EDGEPS_NOMEM, "no memory for %zu names", count);
}

static edgeps_err read_list(order *o, char *list, edgeps_diag *diag)
{
    size_t count = 1;
    for (const char *c = list; *c; c++)
        count += *c == ',';
    edgeps_err err = make_room(o, count, diag);
    for (char *name = list, *comma; !err && name; name = comma) {
        comma = strchr(name, ',');
        if (comma)
            *comma++ = '\0';
        err = add_node(o, name, diag);
    }
    return err;
}

/* What ends in .json or lies in a folder is a file, whether it is there or not. */
static bool is_file(const char *text)
{
    size_t length = strlen(text);
    return strchr(text, '/') || (length > 5 && strcmp(text + length - 5, ".json") == 0) ||
           access(text, F_OK) == 0;
}

static edgeps_err read_nodes(order *o, edgeps_diag *diag)
{
    network *net = NULL;
    const char *nodes = o->value[NODES];
    if (!is_file(nodes)) {
        char *list = mem_copy_text(nodes);
        edgeps_err err = list ? read_list(o, list, diag)
                              : diag_fail(diag, EDGEPS_NOMEM, "no memory for the names");
        mem_free(list);
        return err;
    }
    edgeps_err err = network_json_load(nodes, diag, &net);
    if (!err)
        err = make_room(o, net->count, diag);
    for (size_t i = 0; !err && i < net->count; i++)
        err = add_node(o, net->nodes[i].name, diag);
    network_free(net);
    return err;
}

static edgeps_err make_nodes(const order *o, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t k = 0; !err && k < o->count; k++)
        err = cert_make_member(o->value[OUT], o->who[k], o->days, o->replace, diag);
    return err;
}

static edgeps_err init(order *o, edgeps_diag *diag)
{
    char drawn[TRUST_MAX_JOB + 1];
    const char *job = o->value[JOB];
    if (!job && !cert_draw_job(drawn))
        return diag_fail(diag, EDGEPS_INTERNAL, "no random bytes for the job's name");
    edgeps_err err =
        cert_make_authority(o->value[OUT], job ? job : drawn, o->days, o->replace, diag);
    o->replace = true; /* no authority that is there vouches for older members */
    if (!err)
        err = cert_make_member(o->value[OUT], TRUST_COORDINATOR, o->days, true, diag);
    return err ? err : make_nodes(o, diag);
}

static edgeps_err issue(order *o, edgeps_diag *diag)
{
    if (o->value[JOB])
        return diag_fail(diag, EDGEPS_USAGE, "--job: the job is that of the authority in --out");
    return make_nodes(o, diag);
}

static edgeps_err show(const char *path, edgeps_diag *diag)
{
    cert_description d;
    edgeps_err err = cert_describe(path, diag, &d);
    if (err)
        return err;
    printf("who          %s\njob          %s\nvalid        %s to %s%s\nfingerprint  %s\n",
           d.id.who[0] ? d.id.who : "authority", d.id.job, d.from, d.until,
           d.in_date ? "" : " (not today)", d.fingerprint);
    return EDGEPS_OK;
}

static edgeps_err make(const char *command, order *o, edgeps_diag *diag)
{
    int64_t days;
    for (int k = OUT; k <= NODES; k++)
        if (!o->value[k])
            return diag_fail(diag, EDGEPS_USAGE, "%s needs --out FOLDER and --nodes FILE|LIST",
                             command);
    edgeps_err err = options_whole("days", o->value[DAYS], 1, CERT_MAX_DAYS, diag, &days);
    bool coordinator = strcmp(o->value[NODES], TRUST_COORDINATOR) == 0;
    if (!err)
        err = coordinator ? make_room(o, 1, diag) : read_nodes(o, diag);
    if (err)
        return err;
    if (coordinator)
        snprintf(o->who[o->count++], sizeof *o->who, TRUST_COORDINATOR);
    o->days = (int)days;
    o->replace = o->value[FORCE] != NULL;
    return strcmp(command, "init") == 0 ? init(o, diag) : issue(o, diag);
}

static edgeps_err run(const char *operands[2], order *o, edgeps_diag *diag)
{
    const char *command = operands[0];
    if (!command)
        return diag_fail(diag, EDGEPS_USAGE, "init, issue or show? see edgeps cert --help");
    if (strcmp(command, "show") == 0)
        return operands[1] ? show(operands[1], diag)
                           : diag_fail(diag, EDGEPS_USAGE, "show needs a FILE");
    if (strcmp(command, "init") != 0 && strcmp(command, "issue") != 0)
        return diag_fail(diag, EDGEPS_USAGE, "'%s' is none of: init, issue, show", command);
    if (operands[1])
        return diag_fail(diag, EDGEPS_USAGE, "'%s': one argument too many; see --help",
                         operands[1]);
    return make(command, o, diag);
}

int cli_cert(int argc, char **argv)
{
    order o = {.days = 0};
    const char *operands[2] = {NULL, NULL};
    edgeps_diag diag = {.text = ""};
    edgeps_err err = options_read_two(table, argc, argv, o.value, operands, &diag);
    if (!err && o.value[HELP]) {
        options_help("cert init|issue --out FOLDER --nodes FILE|LIST [OPTIONS]\n"
                     "       edgeps cert show FILE",
                     "makes a job's authority and its members' certificates", table);
        return 0;
    }
    options_fill(table, o.value);
    if (!err)
        err = run(operands, &o, &diag);
    mem_free(o.who);
    if (err)
        fprintf(stderr, "edgeps cert: %s\n", diag.text);
    return err_exit_status(err);
}
