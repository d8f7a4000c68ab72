#include "lab/lab.h"

#include "base/file.h"
#include "base/mem.h"
#include "formats/network_json.h"
#include "lab/docker_int.h"
#include "lab/group_int.h"
#include "lab/keeper_int.h"
#include "lab/relay_int.h"
#include "lab/shape_int.h"
#include "lab/storage_int.h"
#include "lab/tend_int.h"
#include "lab/tool_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct lab {
    char *dir;
    keeper keeper;
    network *net; /* as the scenario has it; a node that is cut carries nothing all the same */
    bool *cut;    /* of each node */
    bool relayed;
    int *namespaces; /* of each node, and behind them the hub's */
};

static void join(char path[4096], const char *dir, const char *part)
{
    snprintf(path, 4096, "%s/%s", dir, part);
}

/* Appears as a whole: who is killed meanwhile leaves none, or one that can be read. It need not
 * outlast a power cut, as the lab does not. */
static edgeps_err write_keeper(const char *dir, const keeper *k, edgeps_diag *diag)
{
    char path[4096], fresh[4096], text[96 + DOCKER_HOST_BYTES];
    join(path, dir, "keeper");
    join(fresh, dir, "keeper.new");
    snprintf(text, sizeof text, "%d %" PRIu64 " %a %s %s %s\n", k->pid, k->begun,
             k->core_samples_per_s, k->root ? "root" : "user",
             k->backend != LAB_DOCKER ? "netns"
             : k->own_dockerd         ? "dockerd"
                                      : "docker",
             k->docker_host);
    edgeps_err err = file_write_text(fresh, text, diag);
    if (!err && rename(fresh, path))
        err = diag_fail(diag, EDGEPS_IO, "%s: cannot be written: %s", path, strerror(errno));
    return err;
}

/* A keeper that never was, where the folder says nothing of one. */
static bool read_keeper(const char *dir, keeper *out)
{
    char path[4096], line[96 + DOCKER_HOST_BYTES] = "", *rest = line;
    join(path, dir, "keeper");
    FILE *file = fopen(path, "re");
    bool good = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    keeper k = {.pid = (pid_t)strtol(rest, &rest, 10)};
    k.begun = strtoull(rest, &rest, 10);
    k.core_samples_per_s = strtod(rest, &rest);
    const char *by = strtok_r(NULL, " \n", &rest), *backend = strtok_r(NULL, " \n", &rest);
    const char *host = strtok_r(NULL, " \n", &rest);
    k.root = by && strcmp(by, "root") == 0;
    k.own_dockerd = backend && strcmp(backend, "dockerd") == 0;
    k.backend =
        k.own_dockerd || (backend && strcmp(backend, "docker") == 0) ? LAB_DOCKER : LAB_NETNS;
    snprintf(k.docker_host, sizeof k.docker_host, "%s", host ? host : "");
    *out = k;
    return good && k.pid > 0;
}

static edgeps_err write_network(const char *dir, const network *net, edgeps_diag *diag)
{
    char path[4096], *text;
    join(path, dir, "network.json");
    if (network_json_text(net, &text))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for the network's text");
    edgeps_err err = file_write_text(path, text, diag);
    mem_free(text);
    return err;
}

static void remove_files(const char *dir)
{
    static const char *const files[] = {"keeper", "keeper.new", "network.json", LAB_CHECK_FILE};
    char path[4096];
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        join(path, dir, files[k]);
        unlink(path);
    }
    rmdir(dir); /* stays where there is more in it */
}

static bool has_groups(const keeper *k)
{
    return k->backend == LAB_NETNS && k->core_samples_per_s > 0;
}

/* Removes what outlives the keeper's processes. */
static void clear(const void *context)
{
    const keeper *k = context;
    const docker containers = keeper_docker(k);
    group_tree tree;
    if (k->backend == LAB_DOCKER)
        docker_remove(&containers);
    else if (has_groups(k) && !group_find_tree(NULL, &tree))
        group_remove(&tree, k->pid, LAB_MOST_NODES);
}

static edgeps_err limit(const keeper *k, const network *net, edgeps_diag *diag)
{
    group_tree tree;
    edgeps_err err = group_find_tree(diag, &tree);
    return err ? err : group_make(&tree, k->pid, net, k->core_samples_per_s, diag);
}

/* From the moment there is a keeper the folder tells of it, so that lab_down finds it. */
static edgeps_err start(const keeper_task *task, edgeps_diag *diag)
{
    keeper k;
    int ready;
    edgeps_err err = keeper_start(task, diag, &k, &ready);
    if (err)
        return err;
    if (k.core_samples_per_s > 0 && !k.root)
        err = diag_fail(diag, EDGEPS_UNSUPPORTED,
                        "shares of a core take control groups, which are root's to make; run as "
                        "root, or without --core");
    else if (k.backend == LAB_DOCKER && !k.root)
        err = diag_fail(diag, EDGEPS_UNSUPPORTED,
                        "plugging containers in takes root; run as root, or with the backend "
                        "netns");
    if (!err)
        err = write_keeper(task->dir, &k, diag);
    if (!err && (has_groups(&k) || k.backend == LAB_DOCKER))
        err = tend_start(k.pid, clear, &k, diag);
    if (err)
        close(ready);
    else
        err = keeper_build(ready, diag);
    if (!err && has_groups(&k))
        err = limit(&k, task->net, diag);
    if (err) {
        keeper_kill(&k);
        clear(&k);
    }
    return err;
}

edgeps_err lab_up(const network *net, const char *dir, const lab_options *options,
                  edgeps_diag *diag)
{
    keeper k;
    char whole[PATH_MAX];
    if (net->count > LAB_MOST_NODES)
        return diag_fail(diag, EDGEPS_USAGE, "a lab has at most %d nodes, not %zu", LAB_MOST_NODES,
                         net->count);
    if (read_keeper(dir, &k) && keeper_lives(&k))
        return diag_fail(diag, EDGEPS_USAGE,
                         "%s: holds a running lab; end it with: edgeps lab down --dir %s", dir,
                         dir);
    if (options->core_samples_per_s > 0 && group_fits(net, options->core_samples_per_s, diag))
        return EDGEPS_INFEASIBLE;
    if (mkdir(dir, 0777) && errno != EEXIST)
        return diag_fail(diag, EDGEPS_IO, "%s: cannot make this folder: %s", dir, strerror(errno));
    if (!realpath(dir, whole))
        return diag_fail(diag, EDGEPS_IO, "%s: %s", dir, strerror(errno));
    edgeps_err err = write_network(dir, net, diag);
    if (!err)
        err = start(&(keeper_task){net, options, whole}, diag);
    if (err)
        remove_files(dir);
    return err;
}

edgeps_err lab_fits(const network *net, double core_samples_per_s, edgeps_diag *diag)
{
    return group_fits(net, core_samples_per_s, diag);
}

static edgeps_err no_lab(const char *dir, edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_USAGE,
                     "%s: holds no lab; make one with: edgeps lab up NETWORK --dir %s", dir, dir);
}

edgeps_err lab_down(const char *dir, edgeps_diag *diag)
{
    keeper k;
    if (!read_keeper(dir, &k))
        return no_lab(dir, diag);
    keeper_kill(&k);
    if (keeper_lives(&k))
        return diag_fail(diag, EDGEPS_IO, "%s: the lab's keeper, process %d, cannot be ended: %s",
                         dir, k.pid, strerror(errno));
    clear(&k);
    remove_files(dir);
    return EDGEPS_OK;
}

/* The rights over a lab without root belong to members of its user namespace. */
static edgeps_err become_member(const keeper *k, edgeps_diag *diag)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", k->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && setns(fd, CLONE_NEWUSER) == 0;
    edgeps_err err =
        good ? EDGEPS_OK
             : diag_fail(diag, EDGEPS_IO, "%s: cannot join the lab: %s; it belongs to who made it",
                         path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return err;
}

static edgeps_err open_namespaces(lab *l, edgeps_diag *diag)
{
    for (size_t i = 0; i <= l->net->count; i++) {
        char path[64];
        keeper_namespace_path(&l->keeper, i < l->net->count ? i : LAB_HUB, path);
        l->namespaces[i] = open(path, O_RDONLY | O_CLOEXEC);
        if (l->namespaces[i] < 0)
            return diag_fail(diag, EDGEPS_IO, "%s: %s", path, strerror(errno));
    }
    return EDGEPS_OK;
}

static edgeps_err has_ended(const char *dir, edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_USAGE,
                     "%s: its lab has ended by itself; clear it away with: edgeps lab down --dir "
                     "%s",
                     dir, dir);
}

edgeps_err lab_open(const char *dir, edgeps_diag *diag, lab **out)
{
    char path[4096];
    keeper k;
    if (!read_keeper(dir, &k))
        return no_lab(dir, diag);
    if (!keeper_lives(&k))
        return has_ended(dir, diag);
    lab *l = mem_alloc(1, sizeof *l);
    if (!l)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a lab");
    l->keeper = k;
    l->dir = mem_copy_text(dir);
    join(path, dir, "network.json");
    edgeps_err err = l->dir ? network_json_load(path, diag, &l->net)
                            : diag_fail(diag, EDGEPS_NOMEM, "no memory for a lab");
    if (!err) {
        l->relayed = relay_is_needed(l->net);
        l->cut = mem_alloc(l->net->count, sizeof *l->cut);
        l->namespaces = mem_alloc(l->net->count + 1, sizeof *l->namespaces);
        for (size_t i = 0; l->namespaces && i <= l->net->count; i++)
            l->namespaces[i] = -1;
        if (!l->namespaces || !l->cut)
            err = diag_fail(diag, EDGEPS_NOMEM, "no memory for a lab");
    }
    if (!err && !k.root)
        err = become_member(&k, diag);
    if (!err)
        err = open_namespaces(l, diag);
    if (!err) {
        *out = l;
        return EDGEPS_OK;
    }
    lab_close(l);
    return keeper_lives(&k) ? err : has_ended(dir, diag);
}

void lab_close(lab *l)
{
    if (!l)
        return;
    for (size_t i = 0; l->namespaces && i <= l->net->count; i++)
        if (l->namespaces[i] >= 0)
            close(l->namespaces[i]);
    mem_free(l->namespaces);
    mem_free(l->cut);
    network_free(l->net);
    mem_free(l->dir);
    mem_free(l);
}

const network *lab_network(const lab *l) { return l->net; }

pid_t lab_keeper(const lab *l) { return l->keeper.pid; }

double lab_core_samples_per_s(const lab *l) { return l->keeper.core_samples_per_s; }

void lab_docker_host(const lab *l, char host[LAB_HOST_BYTES])
{
    const docker containers = keeper_docker(&l->keeper);
    snprintf(host, LAB_HOST_BYTES, "%s", containers.host);
}

lab_backend lab_backend_of(const lab *l) { return l->keeper.backend; }

bool lab_has_root(const lab *l) { return l->keeper.root; }

bool lab_is_relayed(const lab *l) { return l->relayed; }

int lab_namespace(const lab *l, size_t node)
{
    return l->namespaces[node == LAB_HUB ? l->net->count : node];
}

/* Anew each time, as a container that starts again has another one. */
edgeps_err lab_enter(const lab *l, size_t node, edgeps_diag *diag)
{
    char path[64];
    keeper_namespace_path(&l->keeper, node, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    if (good)
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_IO, "cannot enter the network of '%s': %s",
                     node == LAB_HUB ? "the hub" : l->net->nodes[node].name, strerror(errno));
}

void lab_go_home(const lab *l, int home)
{
    if (home < 0 || setns(home, CLONE_NEWNET))
        lab_enter(l, LAB_HUB, NULL);
    if (home >= 0)
        close(home);
}

/* Runs the lines for a link's end where that is. */
static edgeps_err reshape(const lab *l, const network *before, const network *net, size_t node,
                          bool up, edgeps_diag *diag)
{
    char device[24];
    snprintf(device, sizeof device, "d%zu", node);
    FILE *batch = tool_batch();
    if (!batch)
        return diag_fail(diag, EDGEPS_IO, "no file for commands: %s", strerror(errno));
    shape_change(batch, before, net, &(shape_end){up ? "data" : device, node, up});
    edgeps_err err = lab_enter(l, up ? node : LAB_HUB, diag);
    if (!err)
        err = tool_run("tc", batch, diag);
    fclose(batch);
    return err;
}

/* A link that is cut gets its rate when it heals. */
static edgeps_err change_link(const lab *l, const network *net, const network_event *event,
                              edgeps_diag *diag)
{
    if (l->cut[event->node])
        return EDGEPS_OK;
    int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    edgeps_err err = reshape(l, l->net, net, event->node, event->change == NETWORK_UP, diag);
    lab_go_home(l, home);
    return err;
}

/* The hub's end of the cable that is not shaped. */
static edgeps_err switch_control(const lab *l, size_t node, bool on, edgeps_diag *diag)
{
    FILE *batch = tool_batch();
    if (!batch)
        return diag_fail(diag, EDGEPS_IO, "no file for commands: %s", strerror(errno));
    fprintf(batch, "link set dev c%zu %s\n", node, on ? "up" : "down");
    edgeps_err err = lab_enter(l, LAB_HUB, diag);
    if (!err)
        err = tool_run("ip", batch, diag);
    fclose(batch);
    return err;
}

/* Nothing gets through to the node, for training or control, until it is healed. */
static edgeps_err change_cables(lab *l, const network *net, size_t node, bool cut,
                                edgeps_diag *diag)
{
    network *dark = NULL;
    if (l->cut[node] == cut)
        return EDGEPS_OK;
    if (network_copy(net, &dark))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a change of the lab");
    dark->nodes[node].up_bytes_per_s = dark->nodes[node].down_bytes_per_s = 0;
    const network *before = cut ? net : dark, *after = cut ? dark : net;
    int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    edgeps_err err = reshape(l, before, after, node, true, diag);
    if (!err)
        err = reshape(l, before, after, node, false, diag);
    if (!err)
        err = switch_control(l, node, !cut, diag);
    lab_go_home(l, home);
    network_free(dark);
    l->cut[node] ^= !err;
    return err;
}

static edgeps_err change_share(const lab *l, const network_node *node, size_t index,
                               edgeps_diag *diag)
{
    group_tree tree;
    const docker containers = keeper_docker(&l->keeper);
    double core = l->keeper.core_samples_per_s;
    if (core == 0)
        return EDGEPS_OK;
    if (l->keeper.backend == LAB_DOCKER)
        return docker_set_share(&containers, index, group_share(node, core), diag);
    edgeps_err err = group_find_tree(diag, &tree);
    return err ? err : group_set_share(&tree, l->keeper.pid, index, group_share(node, core), diag);
}

/* As `net` has it from now on. */
static edgeps_err change(lab *l, const network *net, const network_event *event, edgeps_diag *diag)
{
    const network_node *node = &net->nodes[event->node];
    switch (event->change) {
    case NETWORK_FREE:
    case NETWORK_FILL:
        return storage_resize(l->keeper.pid, event->node, node->free_bytes, diag);
    case NETWORK_COMPUTE:
        return change_share(l, node, event->node, diag);
    case NETWORK_UP:
    case NETWORK_DOWN:
        return change_link(l, net, event, diag);
    case NETWORK_CUT:
    case NETWORK_HEAL:
        return change_cables(l, net, event->node, event->change == NETWORK_CUT, diag);
    default:
        return EDGEPS_OK;
    }
}

edgeps_err lab_change(lab *l, const network_event *event, edgeps_diag *diag)
{
    network *net = NULL;
    if (network_copy(l->net, &net))
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a change of the lab");
    network_apply(net, event);
    edgeps_err err = change(l, net, event, diag);
    if (!err)
        err = write_network(l->dir, net, diag);
    if (err) {
        network_free(net);
        return err;
    }
    network_free(l->net);
    l->net = net;
    return EDGEPS_OK;
}

void lab_storage(const lab *l, size_t node, char path[LAB_PATH_BYTES])
{
    storage_path(l->keeper.pid, node, path);
}

void lab_inner_storage(const lab *l, size_t node, char path[LAB_PATH_BYTES])
{
    if (l->keeper.backend == LAB_DOCKER)
        snprintf(path, LAB_PATH_BYTES, DOCKER_STORAGE);
    else
        lab_storage(l, node, path);
}

/* One of a process' namespaces, given its entry in /proc. */
static edgeps_err join_process(const char *process, const char *name, int kind, edgeps_diag *diag)
{
    char path[96];
    snprintf(path, sizeof path, "%s/ns/%s", process, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && setns(fd, kind) == 0;
    edgeps_err err =
        good ? EDGEPS_OK
             : diag_fail(diag, EDGEPS_IO, "%s: cannot join the lab: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return err;
}

/* Processes that are born from now on are the lab's, and end with it, or the container's. */
static edgeps_err enter_processes(const lab *l, size_t node, edgeps_diag *diag)
{
    char path[64];
    edgeps_err err = EDGEPS_OK;
    if (l->keeper.backend == LAB_DOCKER)
        err = keeper_container_path(&l->keeper, node, diag, path);
    else
        snprintf(path, sizeof path, "/proc/%d", l->keeper.pid);
    return err ? err : join_process(path, "pid", CLONE_NEWPID, diag);
}

int lab_birthplace(const lab *l, size_t node)
{
    char path[64], whole[96];
    if (l->keeper.backend != LAB_DOCKER || keeper_container_path(&l->keeper, node, NULL, path))
        return -1;
    snprintf(whole, sizeof whole, "%s/ns/pid", path);
    return open(whole, O_RDONLY | O_CLOEXEC);
}

static int wait_for(pid_t pid)
{
    int how;
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

static edgeps_err enter_limits(const lab *l, size_t node, edgeps_diag *diag)
{
    group_tree tree;
    char path[64];
    edgeps_err err = EDGEPS_OK;
    if (l->keeper.backend == LAB_DOCKER) {
        err = keeper_container_path(&l->keeper, node, diag, path);
        return err ? err : group_join(path, diag);
    }
    if (!has_groups(&l->keeper))
        return EDGEPS_OK;
    err = group_find_tree(diag, &tree);
    return err ? err : group_enter(&tree, l->keeper.pid, node, diag);
}

static edgeps_err limit_caller(const void *context, size_t node)
{
    return enter_limits(context, node, NULL);
}

edgeps_err lab_measure_cores(const lab *l, const size_t *nodes, size_t count, edgeps_diag *diag,
                             double *cores)
{
    return group_measure(limit_caller, l, nodes, count, diag, cores);
}

edgeps_err lab_settle(const lab *l, size_t node, edgeps_diag *diag)
{
    char path[64];
    edgeps_err err = lab_enter(l, node, diag);
    if (!err)
        err = enter_limits(l, node, diag);
    if (err || l->keeper.backend != LAB_DOCKER)
        return err;
    err = keeper_container_path(&l->keeper, node, diag, path);
    return err ? err : join_process(path, "mnt", CLONE_NEWNS, diag);
}

/* Between the caller and the program stands a process that is in both worlds. */
static _Noreturn void go_between(const lab *l, size_t node, char *const *argv)
{
    edgeps_diag diag = {.text = ""};
    char storage[LAB_PATH_BYTES];
    edgeps_err err = enter_processes(l, node, &diag);
    if (!err)
        err = lab_enter(l, node, &diag);
    if (!err)
        err = enter_limits(l, node, &diag);
    if (err) {
        fprintf(stderr, "%s\n", diag.text);
        _exit(err_exit_status(err));
    }
    lab_storage(l, node, storage);
    setenv(LAB_STORAGE_VARIABLE, storage, 1);
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[0], argv);
        fprintf(stderr, "%s: cannot be started: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    _exit(pid < 0 ? 1 : wait_for(pid));
}

edgeps_err lab_exec(const lab *l, size_t node, char *const *argv, edgeps_diag *diag, int *status)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return diag_fail(diag, EDGEPS_IO, "%s: cannot be started: %s", argv[0], strerror(errno));
    if (pid == 0)
        go_between(l, node, argv);
    *status = wait_for(pid);
    return EDGEPS_OK;
}
