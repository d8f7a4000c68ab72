#include "lab/storage_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef OPEN_TREE_CLONE /* glibc before 2.36 */
#define OPEN_TREE_CLONE 1
#define MOVE_MOUNT_F_EMPTY_PATH 4
#endif

#define FOLDER "/run/storage"
#define FLAGS (MS_NOSUID | MS_NODEV)

int64_t storage_whole_bytes(int64_t bytes)
{
    int64_t page = sysconf(_SC_PAGESIZE);
    return bytes > INT64_MAX - page ? bytes / page * page : (bytes + page - 1) / page * page;
}

static void name_folder(size_t node, char path[32]) { snprintf(path, 32, FOLDER "/n%zu", node); }

void storage_path(pid_t keeper, size_t node, char path[64])
{
    char folder[32];
    name_folder(node, folder);
    snprintf(path, 64, "/proc/%d/root%s", keeper, folder);
}

/* To a tmpfs a size of 0 is no limit: the least is a page. */
static void describe(int64_t bytes, char text[64])
{
    snprintf(text, 64, "mode=755,size=%" PRId64, storage_whole_bytes(bytes > 0 ? bytes : 1));
}

edgeps_err storage_make(const network *net, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    if (mkdir(FOLDER, 0755))
        return diag_fail(diag, EDGEPS_IO, FOLDER ": %s", strerror(errno));
    for (size_t i = 0; !err && i < net->count; i++) {
        char path[32], size[64];
        name_folder(i, path);
        describe(net->nodes[i].free_bytes, size);
        if (mkdir(path, 0755) || mount("edgeps-lab", path, "tmpfs", FLAGS, size))
            err = diag_fail(diag, EDGEPS_IO, "no storage of %" PRId64 " bytes for node '%s': %s",
                            net->nodes[i].free_bytes, net->nodes[i].name, strerror(errno));
    }
    return err;
}

/* The kernel hands a mount to another namespace only as a copy of itself, which is made there. */
static int copy_mount(const char *process, const char *inside)
{
    char path[96];
    int tree = -1;
    snprintf(path, sizeof path, "%s/ns/mnt", process);
    int there = open(path, O_RDONLY | O_CLOEXEC);
    int home = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (there >= 0 && home >= 0 && setns(there, CLONE_NEWNS) == 0) {
        tree = (int)syscall(SYS_open_tree, AT_FDCWD, inside, OPEN_TREE_CLONE | O_CLOEXEC);
        if (setns(home, CLONE_NEWNS))
            abort(); /* nothing is where it should be */
    }
    int error = errno;
    if (there >= 0)
        close(there);
    if (home >= 0)
        close(home);
    errno = error;
    return tree;
}

edgeps_err storage_adopt(size_t node, const char *process, const char *inside, edgeps_diag *diag)
{
    char path[32];
    name_folder(node, path);
    if ((mkdir(FOLDER, 0755) && errno != EEXIST) || (mkdir(path, 0755) && errno != EEXIST))
        return diag_fail(diag, EDGEPS_IO, "%s: %s", path, strerror(errno));
    umount2(path, MNT_DETACH); /* that of a container before it, if any */
    int tree = copy_mount(process, inside);
    bool good = tree >= 0 &&
                syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0;
    edgeps_err err = good ? EDGEPS_OK
                          : diag_fail(diag, EDGEPS_IO, "%s of a container is out of reach: %s",
                                      inside, strerror(errno));
    if (tree >= 0)
        close(tree);
    return err;
}

/* In a process of its own, which has nothing but the thread that forked. 0, or why not. */
static int remount(int mounts, const char *path, int64_t bytes)
{
    char size[64];
    struct statvfs room;
    describe(bytes, size);
    if (setns(mounts, CLONE_NEWNS))
        return errno;
    if (mount(NULL, path, NULL, MS_REMOUNT | FLAGS, size) == 0)
        return 0;
    if (errno != EINVAL || statvfs(path, &room))
        return errno;
    uint64_t used = (uint64_t)(room.f_blocks - room.f_bfree) * room.f_frsize;
    describe((int64_t)used, size);
    return mount(NULL, path, NULL, MS_REMOUNT | FLAGS, size) ? errno : 0;
}

edgeps_err storage_resize(pid_t keeper, size_t node, int64_t bytes, edgeps_diag *diag)
{
    char path[64], folder[32];
    int how = 0;
    if (keeper)
        snprintf(path, sizeof path, "/proc/%d/ns/mnt", keeper);
    else
        snprintf(path, sizeof path, "/proc/self/ns/mnt");
    name_folder(node, folder);
    int mounts = open(path, O_RDONLY | O_CLOEXEC);
    if (mounts < 0)
        return diag_fail(diag, EDGEPS_IO, "%s: %s", path, strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        _exit(remount(mounts, folder, bytes));
    close(mounts);
    while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    int error = pid < 0 ? errno : WIFEXITED(how) ? WEXITSTATUS(how) : EINTR;
    return error ? diag_fail(diag, EDGEPS_IO, "storage cannot become %" PRId64 " bytes: %s", bytes,
                             strerror(error))
                 : EDGEPS_OK;
}

/* Steps that do not fit are halved, down to a page. */
static int64_t fill(int fd, int64_t most)
{
    int64_t held = 0, page = storage_whole_bytes(1);
    for (int64_t step = most; step > 0 && held < most;) {
        step = step < most - held ? step : most - held;
        if (fallocate(fd, 0, held, step) == 0)
            held += step;
        else if (errno != EINTR)
            step = step > page ? storage_whole_bytes(step / 2) : 0;
    }
    return held;
}

edgeps_err storage_measure(const char *path, int64_t most, edgeps_diag *diag, int64_t *bytes)
{
    struct statvfs room;
    int fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (statvfs(path, &room) || (fd < 0 && errno != ENOSPC)) {
        if (fd >= 0)
            close(fd);
        return diag_fail(diag, EDGEPS_IO, "%s: cannot be measured: %s", path, strerror(errno));
    }
    int64_t used = (int64_t)((room.f_blocks - room.f_bfree) * room.f_frsize);
    *bytes = used + (fd < 0 || most <= used ? 0 : fill(fd, most - used));
    if (fd >= 0)
        close(fd);
    return EDGEPS_OK;
}
