#include "cli/cli.h"

#include "base/log.h"
#include "base/mem.h"
#include "cli/emulate.h"
#include "cli/options.h"
#include "cli/rundir.h"
#include "cli/setting.h"
#include "cli/show.h"
#include "formats/event_json.h"
#include "formats/network_json.h"
#include "formats/quantity.h"
#include "launch/launch.h"
#include "loop/loop.h"
#include "nn/dataset.h"
#include "nn/speed.h"
#include "node/host.h"
#include "plan/plan.h"
#include "trust/session.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRACE_S 1.0

/* Every option is kept as text: so a resumed run reads back what the first one was given. */
enum {
    MODEL,
    EPOCHS,
    DATA,
    OUT,
    ALGO,
    NO_POLISH,
    MAX_LOCALS,
    SHARDS,
    TRANSFER,
    BATCH,
    LOCAL_STEPS,
    SAMPLES,
    RATE,
    MOMENTUM,
    QUORUM,
    ROUND_TIMEOUT,
    STALENESS,
    SPLIT,
    SEED,
    ADJUST,
    HYSTERESIS,
    RATES,
    LAB,
    OWN_DOCKERD,
    NO_CHECK,
    CORE,
    BACKEND,
    AWAIT_AGENTS,
    ADDRESS,
    PORT,
    CERTS,
    INSECURE,
    SUSPECT,
    SILENT,
    ORPHAN_AFTER,
    RESUME,
    JSON,
    FORCE,
    HELP,
    OPTIONS
};

static const options_row rows[OPTIONS] = {
    [MODEL] = {"model", "NAME", "lenet5", "lenet5, mlp or resnet20", true},
    [EPOCHS] = {"epochs", "E", "3", "passes over the data", true},
    [DATA] = {"data", "DIR", NULL,
              "folder with the four IDX files (default: where ./dev setup puts MNIST)", true},
    [OUT] = {"out", "DIR", "run", "where events, plans, checkpoints and the model go", false},
    [ALGO] = {"algo", "NAME", "approx", "placement algorithm, as of edgeps plan", true},
    [NO_POLISH] = {"no-polish", NULL, NULL, "leave the local search out of the placement", true},
    [MAX_LOCALS] = {"max-locals", "K", "4", "most local servers", true},
    [SHARDS] = {"shards", "N", NULL, "1: a run carries the model whole", false},
    [TRANSFER] = {"transfer", "HOW", "pipelined", "pipelined or store-and-forward", true},
    [BATCH] = {"batch", "N", "32", "samples of an average worker in a step", true},
    [LOCAL_STEPS] = {"local-steps", "T", "1", "steps that a worker makes in a round", true},
    [SAMPLES] = {"samples", "N", "0", "training samples to use; 0: all", true},
    [RATE] = {"rate", "LR", "0.03", "learning rate of SGD", true},
    [MOMENTUM] = {"momentum", "M", "0.9", "momentum of SGD", true},
    [QUORUM] = {"quorum", "F", "1",
                "share of its children that a server needs once a round's time-out is over", true},
    [ROUND_TIMEOUT] = {"round-timeout", "TIME|Nx", "2x",
                       "from the first arrival of a round: \"500 ms\", or N times what rounds "
                       "usually take to a quorum",
                       true},
    [STALENESS] = {"staleness", "S", "0", "by how many rounds a gradient may be late and count",
                   true},
    [SPLIT] = {"split", "HOW", "iid", "iid or dirichlet:ALPHA", true},
    [SEED] = {"seed", "N", "1", "of placement, split, initial parameters and order", true},
    [ADJUST] = {"adjust", "MODE", "adjust", "after each epoch: off, replan or adjust", true},
    [HYSTERESIS] = {"hysteresis", "X", "0.1", "by how much the gain of a move must exceed its cost",
                    true},
    [RATES] = {"rates", "on|off", "on", "keep the network file's rates, latencies and speeds",
               true},
    [LAB] = {"lab", "NAME", "off",
             "off, or each node in a network of its own: netns, or docker, in a container", true},
    [OWN_DOCKERD] = {"own-dockerd", NULL, NULL,
                     "with --lab docker: a Docker daemon for this run alone", true},
    [NO_CHECK] = {"no-check", NULL, NULL, "with --lab: do not measure it before training", true},
    [CORE] = {"core", "SPEED|measured", NULL,
              "with --lab: what a core of this machine computes; each agent gets the share of one "
              "that its node is as fast as",
              true},
    [BACKEND] = {"backend", "NAME", "dnnl", "dnnl or ref", true},
    [AWAIT_AGENTS] = {"await-agents", NULL, NULL,
                      "start none: they call at --address and --port (edgeps agent --wait)", true},
    [ADDRESS] = {"address", "HOST", HOST_LOOPBACK, "where the coordinator listens", true},
    [PORT] = {"port", "N", "0", "of the coordinator; 0: any free one", false},
    [CERTS] = {"certs", "FOLDER", NULL,
               "TLS between all agents, with these certificates (edgeps cert)", true},
    [INSECURE] = {"insecure", NULL, NULL, "let connections leave this host without TLS", true},
    [SUSPECT] = {"suspect", "SECONDS", "1", "a node that is not heard for so long is suspected",
                 true},
    [SILENT] = {"silent", "SECONDS", "2.5", "a node that is not heard for so long is gone", true},
    [ORPHAN_AFTER] = {"orphan-after", "SECONDS", "10",
                      "agents whose coordinator is killed wait so long for another", true},
    [RESUME] = {"resume", "DIR", NULL,
                "take over the agents of a killed run, or go on from its last checkpoint", false},
    [JSON] = {"json", NULL, NULL, "events as JSON lines on standard output", false},
    [FORCE] = {"force", NULL, NULL,
               "replace an earlier run in --out; use a lab that is not as asked", false},
    [HELP] = {"help", NULL, NULL, "this text", false},
};

static const options_table table = {rows, OPTIONS};

typedef struct run {
    const char *value[OPTIONS];
    char *owned[OPTIONS]; /* values that were read back */
    char default_dir[PATH_MAX];
    char data_dir[PATH_MAX];
    char certs_dir[PATH_MAX];
    network *net;
    nn_kind reader;
    nn_image image; /* what it reads */
    host_options host;
    launch *launch;
    emulation *emulation; /* NULL: --lab off */
    show *show;
    int lock; /* of the folder, -1: none */
} run;

#define AGENTS "agents" /* the fact that says which processes they are */

static void observe(void *context, const meter_event *event)
{
    run *r = context;
    if (r->show) {
        show_event(r->show, event);
        return;
    }
    char *line;
    if (event->kind == METER_ROUND || event_json_text(event, NULL, &line))
        return;
    puts(line);
    fflush(stdout);
    mem_free(line);
}

static edgeps_err start_agents(void *launcher, int port, edgeps_diag *diag)
{
    run *r = launcher;
    if (r->value[AWAIT_AGENTS])
        return EDGEPS_OK;
    edgeps_err err = launch_start(r->launch, r->host.address, port, diag);
    if (err)
        return err;
    char *agents = launch_describe(r->launch);
    err = agents ? rundir_remember(r->value[OUT], AGENTS, agents, diag)
                 : diag_fail(diag, EDGEPS_NOMEM, "no memory for the agents' numbers");
    mem_free(agents);
    return err;
}

static edgeps_err change_lab(void *launcher, const network_event *event, edgeps_diag *diag)
{
    run *r = launcher;
    return emulation_change(r->emulation, event, diag);
}

static void signal_node(void *launcher, size_t node, int signo)
{
    run *r = launcher;
    launch_signal(r->launch, node, signo);
}

static edgeps_err read_split(run *r, edgeps_diag *diag)
{
    const char *text = r->value[SPLIT];
    if (strcmp(text, "iid") == 0)
        return EDGEPS_OK;
    if (strncmp(text, "dirichlet:", 10) != 0)
        return diag_fail(diag, EDGEPS_USAGE, "--split: '%s' is neither iid nor dirichlet:ALPHA",
                         text);
    r->host.dirichlet = true;
    edgeps_err err = options_real("split", text + 10, 1e-3, 1e6, diag, &r->host.alpha);
    return err;
}

static edgeps_err read_job(run *r, edgeps_diag *diag)
{
    int64_t batch, steps, samples;
    job_transfer transfer;
    nn_dataset *data = NULL;
    edgeps_err err = setting_transfer(r->value[TRANSFER], diag, &transfer);
    if (!err)
        err = options_whole("batch", r->value[BATCH], 1, 65536, diag, &batch);
    if (!err)
        err = options_whole("local-steps", r->value[LOCAL_STEPS], 1, SETTING_MOST_STEPS, diag,
                            &steps);
    if (!err)
        err = options_whole("samples", r->value[SAMPLES], 0, INT64_C(1) << 40, diag, &samples);
    if (!err)
        err = nn_kind_of(r->value[MODEL], diag, &r->reader);
    if (!err)
        err = nn_dataset_open(r->value[DATA], r->reader, diag, &data);
    if (err)
        return err;
    if (samples == 0)
        samples = (int64_t)nn_dataset_count(data, NN_TRAIN);
    r->image = nn_dataset_image(data);
    nn_dataset_close(data);
    err = job_make(r->value[MODEL], samples, batch, transfer, diag, &r->host.job);
    r->host.job.local_steps = steps;
    return err;
}

static edgeps_err read_choices(run *r, edgeps_diag *diag)
{
    static const char *const adjusts[] = {"off", "replan", "adjust", NULL};
    static const char *const switches[] = {"off", "on", NULL};
    static const char *const labs[] = {"off", "netns", "docker", NULL};
    static const char *const backends[] = {"dnnl", "ref", NULL};
    int adjust, rates, network_of, backend;
    edgeps_err err = options_choice("adjust", r->value[ADJUST], adjusts, diag, &adjust);
    if (!err)
        err = options_choice("rates", r->value[RATES], switches, diag, &rates);
    if (!err)
        err = options_choice("lab", r->value[LAB], labs, diag, &network_of);
    if (!err && network_of != 2 && r->value[OWN_DOCKERD])
        err = diag_fail(diag, EDGEPS_USAGE, "--own-dockerd goes with --lab docker");
    if (!err && network_of == 0 && r->value[CORE])
        err = diag_fail(diag, EDGEPS_USAGE, "--core goes with --lab");
    if (!err && network_of == 0 && r->value[NO_CHECK])
        err = diag_fail(diag, EDGEPS_USAGE, "--no-check goes with --lab");
    if (!err && network_of > 0 && r->value[AWAIT_AGENTS])
        err = diag_fail(diag, EDGEPS_USAGE, "--await-agents: those of a lab are started");
    if (!err && network_of > 0 && rates == 0)
        err = diag_fail(diag, EDGEPS_USAGE, "--lab: its links have rates; leave --rates off out");
    if (!err)
        err = options_choice("backend", r->value[BACKEND], backends, diag, &backend);
    if (err)
        return err;
    r->host.adjust = (adapt_mode)adjust;
    r->host.emulate = rates == 1;
    r->host.reference_backend = backend == 1;
    return EDGEPS_OK;
}

static edgeps_err read_numbers(run *r, edgeps_diag *diag)
{
    int64_t locals, seed, port;
    host_options *h = &r->host;
    edgeps_err err = options_whole("epochs", r->value[EPOCHS], 1, 1000000, diag, &h->epochs);
    if (!err)
        err =
            options_whole("max-locals", r->value[MAX_LOCALS], 1, NETWORK_MAX_NODES, diag, &locals);
    if (!err)
        err = options_whole("seed", r->value[SEED], 0, INT64_MAX, diag, &seed);
    if (!err)
        err = options_whole("port", r->value[PORT], 0, 65535, diag, &port);
    if (!err)
        err = options_real("rate", r->value[RATE], 0, 1e6, diag, &h->rate);
    if (!err)
        err = options_real("momentum", r->value[MOMENTUM], 0, 1, diag, &h->momentum);
    if (!err)
        err = options_real("hysteresis", r->value[HYSTERESIS], 0, 1e6, diag, &h->hysteresis);
    if (!err)
        err = options_real("silent", r->value[SILENT], 0.1, 1e6, diag, &h->silent_s);
    if (!err)
        err = options_real("suspect", r->value[SUSPECT], 0.1, 1e6, diag, &h->suspect_s);
    if (!err)
        err = options_real("orphan-after", r->value[ORPHAN_AFTER], 0, 1e6, diag, &h->orphan_s);
    if (err)
        return err;
    h->max_locals = (size_t)locals;
    h->seed = (uint64_t)seed;
    h->port = (int)port;
    return EDGEPS_OK;
}

static edgeps_err read_timeout(const char *text, edgeps_diag *diag, proto_patience *out)
{
    double number = 0, seconds = 0;
    const char *rest = quantity_number(text, &number);
    bool is_multiple = rest != text && strcmp(rest, "x") == 0 && number > 0 && number <= 1e6;
    if (is_multiple) {
        out->times_median = number;
        return EDGEPS_OK;
    }
    bool is_time = quantity_parse(QUANTITY_TIME, text, NULL, &seconds) == EDGEPS_OK &&
                   seconds >= 1e-6 && seconds <= 1e6;
    if (!is_time)
        return diag_fail(diag, EDGEPS_USAGE,
                         "--round-timeout: '%s' is neither a time, such as \"500 ms\", nor a "
                         "multiple, such as 2x",
                         text);
    out->timeout_ns = (int64_t)(seconds * 1e9);
    return EDGEPS_OK;
}

/* Everyone is waited for with a quorum of 1: nothing else of it counts then. */
static edgeps_err read_patience(run *r, edgeps_diag *diag)
{
    proto_patience p = {.quorum = 0};
    edgeps_err err = options_real("quorum", r->value[QUORUM], 0, 1, diag, &p.quorum);
    if (!err && p.quorum <= 0)
        err = diag_fail(diag, EDGEPS_USAGE, "--quorum: %s is not above 0", r->value[QUORUM]);
    if (!err)
        err = read_timeout(r->value[ROUND_TIMEOUT], diag, &p);
    if (!err)
        err = options_whole("staleness", r->value[STALENESS], 0, 1000, diag, &p.staleness);
    if (!err && p.staleness > 0 && p.quorum >= 1)
        err = diag_fail(diag, EDGEPS_USAGE,
                        "--staleness: nothing is late where --quorum is 1; give a lower quorum");
    if (!err && p.quorum < 1)
        r->host.patience = p;
    return err;
}

static edgeps_err read_settings(run *r, edgeps_diag *diag)
{
    if (!r->value[DATA]) {
        options_default_data(r->default_dir, sizeof r->default_dir);
        r->value[DATA] = r->default_dir;
    }
    edgeps_err err = read_numbers(r, diag);
    if (!err)
        err = read_choices(r, diag);
    if (!err)
        err = read_patience(r, diag);
    if (!err)
        err = read_split(r, diag);
    if (!err)
        err = read_job(r, diag);
    if (!err && !loop_is_loopback(r->value[ADDRESS]) && !r->value[CERTS] && !r->value[INSECURE])
        err = diag_fail(diag, EDGEPS_USAGE,
                        "--address: %s is beyond loopback: give --certs FOLDER (edgeps cert init "
                        "makes it), or --insecure",
                        r->value[ADDRESS]);
    r->host.address = r->value[ADDRESS];
    r->host.algorithm = r->value[ALGO];
    r->host.no_polish = r->value[NO_POLISH] != NULL;
    r->host.data_dir = r->value[DATA];
    r->host.out_dir = r->value[OUT];
    r->host.certs = r->value[CERTS];
    r->host.insecure = r->value[INSECURE] != NULL;
    r->host.resume = r->value[RESUME] != NULL;
    return err;
}

/* An agent that cannot start for want of a certificate would be waited for in vain. */
static edgeps_err check_certs(const run *r, edgeps_diag *diag)
{
    char who[TRUST_MAX_WHO + 1];
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; r->value[CERTS] && !err && i < r->net->count; i++) {
        trust *keys = NULL;
        if (!trust_node(r->net->nodes[i].name, who))
            return diag_fail(diag, EDGEPS_USAGE, "--certs: '%s' cannot be in a certificate",
                             r->net->nodes[i].name);
        err = trust_load(r->value[CERTS], who, diag, &keys);
        trust_free(keys);
    }
    return err;
}

static edgeps_err make_launcher(run *r, edgeps_diag *diag)
{
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        return diag_fail(diag, EDGEPS_IO, "/proc/self/exe: cannot find this program");
    program[length] = '\0';
    const char **names = mem_alloc(r->net->count, sizeof *names);
    if (!names)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the nodes' names");
    for (size_t i = 0; i < r->net->count; i++)
        names[i] = r->net->nodes[i].name;
    edgeps_err err = launch_local(program, names, r->net->count, diag, &r->launch);
    mem_free(names);
    if (!err)
        launch_certs(r->launch, r->value[CERTS]);
    if (!err && r->value[INSECURE])
        launch_insecure(r->launch);
    return err;
}

static edgeps_err adopt_agents(const run *r, edgeps_diag *diag)
{
    char *agents = NULL;
    edgeps_err err = rundir_recall(r->value[OUT], AGENTS, diag, &agents);
    if (agents)
        launch_adopt(r->launch, agents);
    mem_free(agents);
    return err;
}

/* 0: nobody is limited. */
static edgeps_err find_core(const run *r, edgeps_diag *diag, double *samples_per_s)
{
    const char *text = r->value[CORE];
    *samples_per_s = 0;
    if (!text)
        return EDGEPS_OK;
    if (strcmp(text, "measured") != 0) {
        edgeps_err wrong = quantity_parse(QUANTITY_SPEED, text, diag, samples_per_s);
        if (!wrong && *samples_per_s == 0)
            wrong = diag_fail(diag, EDGEPS_USAGE, "a core that computes nothing");
        return wrong ? diag_wrap(diag, EDGEPS_USAGE, "--core") : EDGEPS_OK;
    }
    const nn_speed_of of = {r->reader, r->image, r->host.reference_backend ? NN_REF : NN_DNNL,
                            (size_t)r->host.job.batch_samples};
    edgeps_err err = nn_core_speed(&of, diag, samples_per_s);
    if (!err)
        log_line(LOG_INFO, "a core of this machine computes %.0f samples/s", *samples_per_s);
    return err;
}

static edgeps_err enter_lab(run *r, edgeps_diag *diag)
{
    if (strcmp(r->value[LAB], "off") == 0)
        return EDGEPS_OK;
    launch_tie(r->launch); /* the lab ends with this process, too */
    r->host.orphan_s = 0;
    const char *folders[] = {r->value[DATA], r->value[CERTS], NULL};
    double core = 0;
    edgeps_err err = find_core(r, diag, &core);
    if (err)
        return err;
    const emulation_options options = {.docker = strcmp(r->value[LAB], "docker") == 0,
                                       .own_dockerd = r->value[OWN_DOCKERD] != NULL,
                                       .core_samples_per_s = core,
                                       .no_check = r->value[NO_CHECK] != NULL,
                                       .force = r->value[FORCE] != NULL,
                                       .folders = folders};
    err = emulation_begin(r->net, r->value[OUT], &options, diag, &r->emulation);
    if (err)
        return err;
    emulation_place(r->emulation, r->launch);
    emulation_describe(r->emulation, &r->host);
    r->host.change_lab = change_lab;
    return EDGEPS_OK;
}

static edgeps_err train(run *r, edgeps_diag *diag)
{
    edgeps_err err = make_launcher(r, diag);
    if (!err && r->host.resume)
        err = adopt_agents(r, diag);
    if (!err)
        err = enter_lab(r, diag);
    if (err)
        return err;
    if (!r->value[JSON]) {
        r->show = show_make(stdout, isatty(STDOUT_FILENO));
        if (!r->show)
            return diag_fail(diag, EDGEPS_NOMEM, "no memory for the display");
    }
    r->host.net = r->net;
    r->host.observe = observe;
    r->host.observer = r;
    r->host.launch = start_agents;
    r->host.signal_node = signal_node;
    r->host.launcher = r;
    return host_run(&r->host, diag);
}

/* What the agents of a killed coordinator are told stays as it is as long as they may be there. */
static edgeps_err check_told(const run *r, edgeps_diag *diag)
{
    static const int told[] = {MODEL, DATA,     TRANSFER, BATCH,         LOCAL_STEPS, SAMPLES,
                               RATE,  MOMENTUM, QUORUM,   ROUND_TIMEOUT, STALENESS,   SPLIT,
                               SEED,  RATES,    LAB,      BACKEND,       CERTS};
    char *port = NULL;
    edgeps_err err = rundir_recall(r->value[OUT], "port", diag, &port);
    bool missed = port && strcmp(port, "0") != 0;
    mem_free(port);
    for (size_t n = 0; missed && !err && n < sizeof told / sizeof *told; n++) {
        const char *given = r->value[told[n]];
        char *kept = NULL;
        if (given)
            err = rundir_recall(r->value[OUT], rows[told[n]].name, diag, &kept);
        if (given && !err && strcmp(given, kept ? kept : "") != 0)
            err =
                diag_fail(diag, EDGEPS_USAGE,
                          "--%s: the agents of this run may be at work, not with %s; leave it out",
                          rows[told[n]].name, given);
        mem_free(kept);
    }
    return err;
}

/* The options of the earlier run, but for those given anew; its network from its folder. */
static edgeps_err recall(run *r, edgeps_diag *diag)
{
    r->value[OUT] = r->value[RESUME];
    edgeps_err err = check_told(r, diag);
    for (int k = 0; !err && k < OPTIONS; k++)
        if (rows[k].kept && !r->value[k]) {
            err = rundir_recall(r->value[OUT], rows[k].name, diag, &r->owned[k]);
            r->value[k] = r->owned[k];
        }
    return err ? err : rundir_network(r->value[OUT], diag, &r->net);
}

static edgeps_err remember(const run *r, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (int k = 0; !err && k < OPTIONS; k++)
        if (rows[k].kept && r->value[k])
            err = rundir_remember(r->value[OUT], rows[k].name, r->value[k], diag);
    return err;
}

/* Agents may be where the launcher's working folder is another one. */
static void make_whole(run *r)
{
    if (r->value[DATA] && realpath(r->value[DATA], r->data_dir))
        r->value[DATA] = r->data_dir;
    if (r->value[CERTS] && realpath(r->value[CERTS], r->certs_dir))
        r->value[CERTS] = r->certs_dir;
}

/* What a run cannot make happen is refused before anything has begun. */
static edgeps_err check_scenario(const run *r, edgeps_diag *diag)
{
    bool has_lab = strcmp(r->value[LAB], "off") != 0;
    for (size_t k = 0; k < r->net->event_count; k++) {
        network_change change = r->net->events[k].change;
        if (change == NETWORK_LATENCY)
            return diag_fail(diag, EDGEPS_USAGE,
                             "scenario[%zu]: latency: does not change in a run; edgeps sim and "
                             "edgeps plan --trace follow it",
                             k);
        if (!has_lab && (change == NETWORK_CUT || change == NETWORK_HEAL))
            return diag_fail(diag, EDGEPS_USAGE,
                             "scenario[%zu]: %s: needs --lab, where there are links to cut", k,
                             change == NETWORK_CUT ? "cut" : "heal");
    }
    return EDGEPS_OK;
}

static edgeps_err prepare(run *r, const char *path, edgeps_diag *diag)
{
    if (r->value[RESUME] && path)
        return diag_fail(diag, EDGEPS_USAGE,
                         "--resume takes the network from the earlier run; "
                         "leave '%s' out",
                         path);
    if (!r->value[RESUME] && !path)
        return diag_fail(diag, EDGEPS_USAGE, "no network file given; see edgeps run --help");
    if (r->value[SHARDS] && strcmp(r->value[SHARDS], "1") != 0)
        return diag_fail(diag, EDGEPS_USAGE,
                         "--shards: a run carries the model whole so far, not in %s shards; "
                         "edgeps plan places them",
                         r->value[SHARDS]);
    make_whole(r);
    edgeps_err err = r->value[RESUME] ? recall(r, diag) : network_json_load(path, diag, &r->net);
    for (int k = 0; k < OPTIONS; k++)
        if (!r->value[k])
            r->value[k] = rows[k].fallback;
    if (!err)
        err = check_scenario(r, diag);
    if (!err)
        err = read_settings(r, diag);
    if (!err)
        err = check_certs(r, diag);
    if (!err)
        err = rundir_lock(r->value[OUT], diag, &r->lock);
    if (!err && !r->value[RESUME])
        err = rundir_make(r->value[OUT], r->net, r->value[FORCE] != NULL, diag);
    return err ? err : remember(r, diag);
}

int cli_run(int argc, char **argv)
{
    run r = {.host = {.observe = observe}, .lock = -1};
    edgeps_diag diag = {.text = ""};
    const char *path = NULL;
    edgeps_err err = options_read(table, argc, argv, r.value, &path, &diag);
    if (!err && r.value[HELP]) {
        options_help("run NETWORK [OPTIONS]", "trains a model through placed parameter servers",
                     table);
        return 0;
    }
    if (!err)
        err = prepare(&r, path, &diag);
    if (!err)
        err = train(&r, &diag);
    launch_free(r.launch, GRACE_S);
    emulation_end(r.emulation);
    show_free(r.show);
    network_free(r.net);
    for (int k = 0; k < OPTIONS; k++)
        mem_free(r.owned[k]);
    if (r.lock >= 0)
        close(r.lock);
    if (err)
        fprintf(stderr, "edgeps run: %s\n", diag.text);
    return err_exit_status(err);
}
