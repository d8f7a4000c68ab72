#include "store/store.h"

#include "base/mem.h"
#include "store/disk_int.h"
#include "store/folder_int.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SUFFIX ".reserved"
#define NAME_MAX_BYTES 100

typedef struct reservation {
    struct reservation *next;
    int64_t bytes;
    void *map;
    char file[]; /* name in the folder, with SUFFIX */
} reservation;

struct store {
    char *dir;
    int folder; /* the folder itself, locked */
    int64_t quota_bytes;
    int64_t reserved_bytes;
    reservation *reservations;
};

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

/* Removes what a killed owner had reserved or half written. */
static edgeps_err sweep(const store *s, edgeps_diag *diag)
{
    DIR *folder = opendir(s->dir);
    const struct dirent *file;
    if (!folder)
        return disk_failure(diag, s->dir, errno);
    while ((file = readdir(folder)) != NULL)
        if (ends_with(file->d_name, SUFFIX) || ends_with(file->d_name, ".partial"))
            unlinkat(s->folder, file->d_name, 0);
    closedir(folder);
    return EDGEPS_OK;
}

static edgeps_err lock_folder(store *s, edgeps_diag *diag)
{
    if (mkdir(s->dir, 0755) != 0 && errno != EEXIST)
        return disk_failure(diag, s->dir, errno);
    s->folder = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->folder < 0)
        return disk_failure(diag, s->dir, errno);
    if (flock(s->folder, LOCK_EX | LOCK_NB) == 0)
        return EDGEPS_OK;
    if (errno == EWOULDBLOCK)
        return diag_fail(diag, EDGEPS_IO, "%s: in use by another process; choose another folder",
                         s->dir);
    return disk_failure(diag, s->dir, errno);
}

edgeps_err store_open(const char *dir, int64_t quota_bytes, edgeps_diag *diag, store **out)
{
    edgeps_err err = EDGEPS_NOMEM;
    store *s = mem_alloc(1, sizeof *s);
    if (s) {
        s->folder = -1;
        s->quota_bytes = quota_bytes;
        s->dir = mem_copy_text(dir);
    }
    if (!s || !s->dir) {
        diag_fail(diag, err, "%s: out of memory", dir);
        goto out;
    }
    err = lock_folder(s, diag);
    if (!err)
        err = sweep(s, diag);
    if (err)
        goto out;
    *out = s;
    s = NULL;
out:
    store_close(s);
    return err;
}

/* Takes the first reservation out of its list, and out of the world. */
static void drop(store *s, reservation **link)
{
    reservation *r = *link;
    *link = r->next;
    s->reserved_bytes -= r->bytes;
    munmap(r->map, (size_t)r->bytes);
    unlinkat(s->folder, r->file, 0);
    mem_free(r);
}

void store_close(store *s)
{
    if (!s)
        return;
    while (s->reservations)
        drop(s, &s->reservations);
    if (s->folder >= 0)
        close(s->folder); /* unlocks it */
    mem_free(s->dir);
    mem_free(s);
}

const char *store_folder(const store *s) { return s->dir; }

void store_set_quota(store *s, int64_t quota_bytes) { s->quota_bytes = quota_bytes; }

int64_t store_quota_bytes(const store *s) { return s->quota_bytes; }

int64_t store_used_bytes(const store *s)
{
    int64_t checkpoint_bytes = 0;
    /* A folder that cannot be listed holds nothing that could be counted. */
    if (checkpoint_used_bytes(s->dir, NULL, &checkpoint_bytes) != EDGEPS_OK)
        checkpoint_bytes = 0;
    return s->reserved_bytes + checkpoint_bytes;
}

int64_t store_offered_bytes(const store *s)
{
    struct statvfs fs;
    if (fstatvfs(s->folder, &fs) != 0)
        return 0;
    int64_t most = store_used_bytes(s) + (int64_t)(fs.f_bavail * fs.f_frsize);
    return s->quota_bytes < most ? s->quota_bytes : most;
}

static edgeps_err check_room(const store *s, const char *what, int64_t bytes, edgeps_diag *diag)
{
    int64_t free_bytes = s->quota_bytes - store_used_bytes(s);
    if (bytes <= free_bytes)
        return EDGEPS_OK;
    return diag_fail(diag, EDGEPS_FULL,
                     "%s: %s needs %" PRId64 " bytes, %" PRId64 " of %" PRId64 " are free", s->dir,
                     what, bytes, free_bytes > 0 ? free_bytes : 0, s->quota_bytes);
}

static reservation **find(store *s, const char *name)
{
    size_t length = strlen(name);
    reservation **link = &s->reservations;
    while (*link && (strncmp((*link)->file, name, length) != 0 ||
                     strcmp((*link)->file + length, SUFFIX) != 0))
        link = &(*link)->next;
    return link;
}

static edgeps_err check_name(store *s, const char *name, edgeps_diag *diag)
{
    size_t length = strlen(name);
    bool good = length > 0 && length <= NAME_MAX_BYTES && name[0] != '.';
    for (size_t i = 0; good && i < length; i++)
        good = isalnum((unsigned char)name[i]) || strchr("-_.", name[i]);
    if (!good)
        return diag_fail(diag, EDGEPS_USAGE, "'%s' is no name for a reservation", name);
    if (*find(s, name))
        return diag_fail(diag, EDGEPS_USAGE, "%s: '%s' is reserved already", s->dir, name);
    return EDGEPS_OK;
}

/* Makes the file with all its blocks and maps it; removes it again when that fails. */
static edgeps_err allocate(const store *s, reservation *r, edgeps_diag *diag)
{
    int fd = openat(s->folder, r->file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return diag_wrap(diag, disk_failure(diag, r->file, errno), "%s", s->dir);
    int error = posix_fallocate(fd, 0, r->bytes);
    if (error == 0) {
        r->map = mmap(NULL, (size_t)r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        error = r->map == MAP_FAILED ? errno : 0;
    }
    close(fd);
    if (error == 0)
        return EDGEPS_OK;
    unlinkat(s->folder, r->file, 0);
    disk_failure(diag, r->file, error);
    return diag_wrap(diag, error == ENOSPC ? EDGEPS_FULL : EDGEPS_IO, "%s: %" PRId64 " bytes",
                     s->dir, r->bytes);
}

edgeps_err store_reserve(store *s, const char *name, int64_t bytes, edgeps_diag *diag, void **map)
{
    if (bytes < 1)
        return diag_fail(diag, EDGEPS_USAGE, "'%s': a reservation of %" PRId64 " bytes", name,
                         bytes);
    edgeps_err err = check_name(s, name, diag);
    if (!err)
        err = check_room(s, name, bytes, diag);
    if (err)
        return err;
    size_t room = strlen(name) + sizeof SUFFIX;
    reservation *r = mem_alloc(1, sizeof *r + room);
    if (!r)
        return diag_fail(diag, EDGEPS_NOMEM, "%s: out of memory", s->dir);
    snprintf(r->file, room, "%s" SUFFIX, name);
    r->bytes = bytes;
    err = allocate(s, r, diag);
    if (err) {
        mem_free(r);
        return err;
    }
    r->next = s->reservations;
    s->reservations = r;
    s->reserved_bytes += bytes;
    *map = r->map;
    return EDGEPS_OK;
}

void store_release(store *s, const char *name)
{
    reservation **link = find(s, name);
    if (*link)
        drop(s, link);
}

edgeps_err store_write_checkpoint(store *s, const checkpoint *c, int keep, edgeps_diag *diag)
{
    edgeps_err err = checkpoint_prune(s->dir, keep, diag);
    if (!err)
        err = check_room(s, "a checkpoint", checkpoint_max_bytes(c->parameter_count), diag);
    return err ? err : checkpoint_write(s->dir, c, keep, diag);
}

edgeps_err store_drop_checkpoints(store *s, edgeps_diag *diag)
{
    return checkpoint_prune(s->dir, 0, diag);
}
