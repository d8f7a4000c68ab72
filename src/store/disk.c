#include "store/disk_int.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long steps;
static atomic_long fail_from;
static atomic_int fail_errno;

void disk_fail_at(long nth, int error)
{
    atomic_store(&steps, 0);
    atomic_store(&fail_from, nth);
    atomic_store(&fail_errno, error);
}

static int must_fail(void)
{
    long n = atomic_fetch_add(&steps, 1) + 1;
    long from = atomic_load(&fail_from);
    if (from == 0 || n < from)
        return 0;
    if (atomic_load(&fail_errno) == DISK_KILL)
        raise(SIGKILL);
    errno = atomic_load(&fail_errno);
    return 1;
}

static ssize_t write_some(int fd, const uint8_t *bytes, size_t count)
{
    long from = atomic_load(&fail_from);
    if (from > 0 && atomic_load(&steps) + 1 >= from && write(fd, bytes, count / 2) < 0)
        return -1;
    return must_fail() ? -1 : write(fd, bytes, count);
}

edgeps_err disk_failure(edgeps_diag *diag, const char *path, int error)
{
    char text[128];
    edgeps_err err = error == ENOSPC || error == EDQUOT ? EDGEPS_FULL : EDGEPS_IO;
    return diag_fail(diag, err, "%s: %s", path, strerror_r(error, text, sizeof text));
}

edgeps_err disk_create(const char *path, edgeps_diag *diag, int *fd)
{
    int made = must_fail() ? -1 : open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (made < 0)
        return disk_failure(diag, path, errno);
    *fd = made;
    return EDGEPS_OK;
}

edgeps_err disk_write(int fd, const void *bytes, size_t count, const char *path, edgeps_diag *diag)
{
    const uint8_t *at = bytes;
    while (count > 0) {
        ssize_t n = write_some(fd, at, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return disk_failure(diag, path, errno);
        at += n;
        count -= (size_t)n;
    }
    return EDGEPS_OK;
}

edgeps_err disk_sync(int fd, const char *path, edgeps_diag *diag)
{
    if (must_fail() || fsync(fd) != 0)
        return disk_failure(diag, path, errno);
    return EDGEPS_OK;
}

edgeps_err disk_rename(const char *from, const char *to, edgeps_diag *diag)
{
    if (must_fail() || rename(from, to) != 0)
        return disk_failure(diag, to, errno);
    return EDGEPS_OK;
}

edgeps_err disk_sync_folder(const char *path, edgeps_diag *diag)
{
    int fd = must_fail() ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return disk_failure(diag, path, errno);
    edgeps_err err = disk_sync(fd, path, diag);
    close(fd);
    return err;
}

edgeps_err disk_remove(const char *path, edgeps_diag *diag)
{
    if ((must_fail() || unlink(path) != 0) && errno != ENOENT)
        return disk_failure(diag, path, errno);
    return EDGEPS_OK;
}

edgeps_err disk_map(const char *path, edgeps_diag *diag, const uint8_t **bytes, size_t *count)
{
    struct stat status;
    void *map = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return disk_failure(diag, path, errno);
    if (fstat(fd, &status) != 0)
        map = MAP_FAILED;
    else if (status.st_size > 0)
        map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    int error = errno;
    close(fd);
    if (map == MAP_FAILED)
        return disk_failure(diag, path, error);
    *bytes = map;
    *count = (size_t)status.st_size;
    return EDGEPS_OK;
}

void disk_unmap(const uint8_t *bytes, size_t count)
{
    if (bytes)
        munmap((void *)(uintptr_t)bytes, count);
}
