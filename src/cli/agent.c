#include "cli/cli.h"

#include "cli/options.h"
#include "node/agent.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COORDINATOR, NODE, CERTS, INSECURE, ENCLOSED, STORAGE, WAIT, HELP, OPTIONS };

static const options_row rows[OPTIONS] = {
    [COORDINATOR] = {"coordinator", "HOST:PORT", NULL, "where the coordinator listens", false},
    [NODE] = {"node", "NAME", NULL, "the node of the network that this agent is", false},
    [CERTS] = {"certs", "FOLDER", NULL, "TLS with the node's certificate in it (edgeps cert)",
               false},
    [INSECURE] = {"insecure", NULL, NULL, "let connections leave this host without TLS", false},
    [ENCLOSED] = {"enclosed", NULL, NULL, "likewise: nobody but the job is in its network", false},
    [STORAGE] = {"storage", "FOLDER", NULL,
                 "where its server state goes (default: in the run's folder)", false},
    [WAIT] = {"wait", "SECONDS", "0", "call so long for a coordinator that is not there yet",
              false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

static edgeps_err split_address(const char *text, char *host, size_t size, int *port,
                                edgeps_diag *diag)
{
    const char *colon = strrchr(text, ':');
    int64_t number;
    if (!colon || colon == text || (size_t)(colon - text) >= size)
        return diag_fail(diag, EDGEPS_USAGE, "--coordinator: '%s' is not HOST:PORT", text);
    edgeps_err err = options_whole("coordinator", colon + 1, 1, 65535, diag, &number);
    if (err)
        return err;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    *port = (int)number;
    return EDGEPS_OK;
}

int cli_agent(int argc, char **argv)
{
    const char *value[OPTIONS] = {NULL}, *operand = NULL;
    edgeps_diag diag = {.text = ""};
    char host[256];
    agent_options o = {.host = host};
    edgeps_err err = options_read(table, argc, argv, value, &operand, &diag);
    if (!err && value[HELP]) {
        options_help("agent --coordinator HOST:PORT --node NAME",
                     "hosts the roles of one node; `edgeps run` starts one per node", table);
        return 0;
    }
    if (!err && (!value[COORDINATOR] || !value[NODE] || operand))
        err = diag_fail(&diag, EDGEPS_USAGE, "needs --coordinator HOST:PORT and --node NAME");
    if (!err)
        err = split_address(value[COORDINATOR], host, sizeof host, &o.port, &diag);
    options_fill(table, value);
    if (!err)
        err = options_real("wait", value[WAIT], 0, 1e9, &diag, &o.wait_s);
    o.name = value[NODE];
    o.certs = value[CERTS];
    o.insecure = value[INSECURE] != NULL;
    o.enclosed = value[ENCLOSED] != NULL;
    o.storage = value[STORAGE];
    /* Ctrl-C goes to the whole process group; when to end is the coordinator's decision. */
    signal(SIGINT, SIG_IGN);
    /* Nor does it end where the coordinator that read its lines is gone. */
    signal(SIGPIPE, SIG_IGN);
    if (!err)
        err = agent_run(&o, &diag);
    if (err)
        fprintf(stderr, "edgeps agent: %s: %s\n", value[NODE] ? value[NODE] : "", diag.text);
    return err_exit_status(err);
}
