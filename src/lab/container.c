#include "lab/container_int.h"

#include "formats/network_json.h"
#include "lab/keeper_int.h"
#include "lab/storage_int.h"
#include "lab/tool_int.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the process that watches needs. */
typedef struct watcher {
    const docker *docker;
    const network *net; /* as it was in the beginning */
    const char *dir;
} watcher;

static void name_link(size_t node, char path[64])
{
    snprintf(path, 64, CONTAINER_FOLDER "/n%zu", node);
}

static edgeps_err remember(size_t node, const char *process, edgeps_diag *diag)
{
    char path[64];
    name_link(node, path);
    if ((unlink(path) && errno != ENOENT) || symlink(process, path))
        return diag_fail(diag, EDGEPS_IO, "%s: %s", path, strerror(errno));
    return EDGEPS_OK;
}

/* The calling thread is in the container's network afterwards. */
static edgeps_err adopt(size_t node, const char *process, edgeps_diag *diag)
{
    char path[64];
    snprintf(path, sizeof path, "%s/ns/net", process);
    edgeps_err err = keeper_hold(node, path, diag);
    if (!err)
        err = storage_adopt(node, process, DOCKER_STORAGE, diag);
    if (!err)
        err = remember(node, process, diag);
    if (!err)
        err = keeper_enter(node, diag);
    return err ? err : keeper_tune(diag);
}

edgeps_err container_make(const docker *d, const network *net, edgeps_diag *diag)
{
    pid_t pid;
    edgeps_err err = d->own ? docker_serve(d, diag) : EDGEPS_OK;
    if (!err && mkdir(CONTAINER_FOLDER, 0755))
        err = diag_fail(diag, EDGEPS_IO, CONTAINER_FOLDER ": %s", strerror(errno));
    if (!err)
        err = docker_make(d, net, diag);
    for (size_t i = 0; !err && i < net->count; i++) {
        char process[32];
        err = docker_find(d, i, diag, &pid);
        snprintf(process, sizeof process, "/proc/%d", err ? 0 : pid);
        if (!err)
            err = adopt(i, process, diag);
        if (err)
            diag_wrap(diag, err, "node '%s'", net->nodes[i].name);
    }
    return err ? err : keeper_enter(LAB_HUB, diag);
}

/* From a network namespace, held by the keeper alone by now, into that of a process. */
static edgeps_err move_cables(int from, pid_t to, edgeps_diag *diag)
{
    FILE *batch = tool_batch();
    if (!batch || setns(from, CLONE_NEWNET)) {
        if (batch)
            fclose(batch);
        return diag_fail(diag, EDGEPS_IO, "no way to the cables: %s", strerror(errno));
    }
    fprintf(batch, "link set dev data netns %d\nlink set dev control netns %d\n", to, to);
    edgeps_err err = tool_run("ip", batch, diag);
    fclose(batch);
    return err;
}

/* The new network of a container and its storage come in place of the ones before. */
static edgeps_err replace(const network *net, size_t node, pid_t pid, int before)
{
    char process[32];
    snprintf(process, sizeof process, "/proc/%d", pid);
    edgeps_err err = adopt(node, process, NULL);
    if (!err)
        err = move_cables(before, pid, NULL);
    if (!err)
        err = keeper_enter(node, NULL);
    if (!err)
        err = keeper_plug_in(net, node, NULL);
    return err ? err : storage_resize(0, node, net->nodes[node].free_bytes, NULL);
}

/* Nobody would hear of a failure; a container that has ended once more comes again. */
static void started(void *context, size_t node)
{
    const watcher *w = context;
    char path[4096], known[32] = "", process[32];
    pid_t pid;
    network *changed = NULL;
    if (docker_find(w->docker, node, NULL, &pid))
        return;
    name_link(node, path);
    snprintf(process, sizeof process, "/proc/%d", pid);
    if (readlink(path, known, sizeof known - 1) > 0 && strcmp(known, process) == 0)
        return;
    snprintf(path, sizeof path, "%s/network.json", w->dir);
    bool follows = network_json_load(path, NULL, &changed) == EDGEPS_OK;
    int before =
        keeper_enter(node, NULL) ? -1 : open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (before >= 0) {
        replace(follows ? changed : w->net, node, pid, before);
        close(before);
    }
    keeper_enter(LAB_HUB, NULL);
    network_free(changed);
}

void container_watch(const docker *d, const network *net, const char *dir)
{
    watcher w = {d, net, dir};
    if (fork() != 0)
        return;
    signal(SIGCHLD, SIG_DFL);
    docker_watch(d, net->count, started, &w);
    _exit(0);
}
