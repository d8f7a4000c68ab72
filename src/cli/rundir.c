#include "cli/rundir.h"

#include "base/file.h"
#include "base/mem.h"
#include "coord/coord.h"
#include "formats/network_json.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const parts[] = {"", "/plans", "/checkpoints", "/nodes"};
static const char *const contents[] = {
    "/events.jsonl", "/job.db",      "/job.db-journal", "/network.json", "/model.safetensors",
    "/plans",        "/checkpoints", "/nodes",          "/lab",          "/lab-check.json"};

static void join(char *path, size_t size, const char *dir, const char *part)
{
    snprintf(path, size, "%s%s", dir, part);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

static edgeps_err remove_earlier(const char *dir, edgeps_diag *diag)
{
    for (size_t k = 0; k < sizeof contents / sizeof *contents; k++) {
        char path[4096];
        join(path, sizeof path, dir, contents[k]);
        if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) && errno != ENOENT)
            return diag_fail(diag, EDGEPS_IO, "%s: cannot be removed: %s", path, strerror(errno));
    }
    return EDGEPS_OK;
}

edgeps_err rundir_lock(const char *dir, edgeps_diag *diag, int *lock)
{
    if (mkdir(dir, 0777) && errno != EEXIST)
        return diag_fail(diag, EDGEPS_IO, "%s: cannot make this folder: %s", dir, strerror(errno));
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return diag_fail(diag, EDGEPS_USAGE, "%s: %s", dir, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        edgeps_err err = errno == EWOULDBLOCK ? EDGEPS_USAGE : EDGEPS_IO;
        diag_fail(diag, err,
                  err == EDGEPS_USAGE
                      ? "%s: a coordinator is at work in this folder; --out takes another"
                      : "%s: cannot be locked",
                  dir);
        close(fd);
        return err;
    }
    *lock = fd;
    return EDGEPS_OK;
}

edgeps_err rundir_make(const char *dir, const network *net, bool replace, edgeps_diag *diag)
{
    char path[4096];
    join(path, sizeof path, dir, "/job.db");
    bool used = access(path, F_OK) == 0;
    if (used && !replace)
        return diag_fail(diag, EDGEPS_USAGE,
                         "%s: holds an earlier run; --resume %s goes on with it, --force replaces "
                         "it, --out takes another folder",
                         dir, dir);
    edgeps_err err = used ? remove_earlier(dir, diag) : EDGEPS_OK;
    for (size_t k = 0; !err && k < sizeof parts / sizeof *parts; k++) {
        join(path, sizeof path, dir, parts[k]);
        if (mkdir(path, 0777) && errno != EEXIST)
            err = diag_fail(diag, EDGEPS_IO, "%s: cannot make this folder: %s", path,
                            strerror(errno));
    }
    char *text = NULL;
    if (!err && network_json_text(net, &text))
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for the network's text");
    join(path, sizeof path, dir, "/network.json");
    if (!err)
        err = file_write_text(path, text, diag);
    mem_free(text);
    return err;
}

edgeps_err rundir_network(const char *dir, edgeps_diag *diag, network **out)
{
    char path[4096];
    join(path, sizeof path, dir, "/network.json");
    return network_json_load(path, diag, out);
}

static edgeps_err open_record(const char *dir, edgeps_diag *diag, coord **out)
{
    char path[4096];
    join(path, sizeof path, dir, "/job.db");
    return coord_open(path, diag, out);
}

edgeps_err rundir_remember(const char *dir, const char *name, const char *value, edgeps_diag *diag)
{
    coord *record;
    edgeps_err err = open_record(dir, diag, &record);
    if (err)
        return err;
    err = coord_set(record, name, value, diag);
    coord_close(record);
    return err;
}

edgeps_err rundir_recall(const char *dir, const char *name, edgeps_diag *diag, char **value)
{
    coord *record;
    char path[4096];
    join(path, sizeof path, dir, "/job.db");
    if (access(path, F_OK))
        return diag_fail(diag, EDGEPS_USAGE, "%s: holds no run to go on with", dir);
    edgeps_err err = open_record(dir, diag, &record);
    if (err)
        return err;
    err = coord_get(record, name, diag, value);
    coord_close(record);
    return err;
}
