#include "store/folder_int.h"

#include "base/mem.h"
#include "store/disk_int.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_FORMAT "checkpoint-g%" PRIu64 "-r%" PRId64 ".safetensors"
#define NAME_BYTES 80
#define PARTIAL "checkpoint.partial"

static edgeps_err join(const char *dir, const char *name, edgeps_diag *diag, char *path)
{
    int length = snprintf(path, FOLDER_PATH_BYTES, "%s/%s", dir, name);
    if (length >= FOLDER_PATH_BYTES)
        return diag_fail(diag, EDGEPS_USAGE, "%s: the path is too long", dir);
    return EDGEPS_OK;
}

edgeps_err folder_path(const char *dir, uint64_t generation, int64_t round, edgeps_diag *diag,
                       char path[FOLDER_PATH_BYTES])
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, NAME_FORMAT, generation, round);
    return join(dir, name, diag, path);
}

edgeps_err folder_partial_path(const char *dir, edgeps_diag *diag, char path[FOLDER_PATH_BYTES])
{
    return join(dir, PARTIAL, diag, path);
}

/* Whether a file's name is exactly what a checkpoint of these numbers is called. */
static bool read_name(const char *name, folder_entry *entry)
{
    char again[NAME_BYTES];
    static const char head[] = "checkpoint-g", middle[] = "-r";
    char *end;
    if (strncmp(name, head, sizeof head - 1) != 0)
        return false;
    entry->generation = strtoull(name + sizeof head - 1, &end, 10);
    if (strncmp(end, middle, sizeof middle - 1) != 0)
        return false;
    entry->round = strtoll(end + sizeof middle - 1, NULL, 10);
    snprintf(again, sizeof again, NAME_FORMAT, entry->generation, entry->round);
    return strcmp(name, again) == 0;
}

static int newest_first(const void *left, const void *right)
{
    const folder_entry *a = left, *b = right;
    if (a->generation != b->generation)
        return a->generation > b->generation ? -1 : 1;
    return a->round > b->round ? -1 : a->round < b->round;
}

static edgeps_err append(folder_entry **entries, size_t *count, size_t *room, folder_entry entry)
{
    folder_entry *grown = mem_grow(*entries, *count + 1, sizeof *grown, room);
    if (!grown)
        return EDGEPS_NOMEM;
    *entries = grown;
    (*entries)[(*count)++] = entry;
    return EDGEPS_OK;
}

static edgeps_err read_folder(DIR *folder, folder_entry **entries, size_t *count)
{
    const struct dirent *file;
    size_t room = 0;
    edgeps_err err = EDGEPS_OK;
    while (!err && (file = readdir(folder)) != NULL) {
        folder_entry entry = {0};
        struct stat status;
        /* A file that goes away meanwhile is none. */
        if (!read_name(file->d_name, &entry) ||
            fstatat(dirfd(folder), file->d_name, &status, 0) != 0)
            continue;
        entry.bytes = status.st_size;
        err = append(entries, count, &room, entry);
    }
    return err;
}

edgeps_err folder_list(const char *dir, edgeps_diag *diag, folder_entry **entries, size_t *count)
{
    folder_entry *found = NULL;
    size_t found_count = 0;
    DIR *folder = opendir(dir);
    if (!folder)
        return disk_failure(diag, dir, errno);
    edgeps_err err = read_folder(folder, &found, &found_count);
    closedir(folder);
    if (err) {
        mem_free(found);
        return diag_fail(diag, err, "%s: out of memory", dir);
    }
    if (found_count > 0)
        qsort(found, found_count, sizeof *found, newest_first);
    *entries = found;
    *count = found_count;
    return EDGEPS_OK;
}
