/* A folder of its own for a test, removed with everything in it. */
#ifndef EDGEPS_STORE_TEST_FOLDER_H
#define EDGEPS_STORE_TEST_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER_TEMPLATE EDGEPS_BINARY_DIR "/store-XXXXXX"

typedef struct test_folder {
    char path[512];
} test_folder;

static inline int folder_make(void **state)
{
    static test_folder folder;
    strcpy(folder.path, FOLDER_TEMPLATE);
    *state = &folder;
    return mkdtemp(folder.path) ? 0 : -1;
}

/* Removes the folder's files that contain `part` in their names; returns how many. */
static inline int folder_remove(const char *path, const char *part)
{
    int count = 0;
    char file[1024];
    const struct dirent *entry;
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder)) != NULL) {
        if (!strstr(entry->d_name, part) || entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        unlink(file);
        count++;
    }
    if (folder)
        closedir(folder);
    return count;
}

static inline int folder_count(const char *path)
{
    int count = 0;
    const struct dirent *entry;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static inline int folder_clear(void **state)
{
    test_folder *folder = *state;
    folder_remove(folder->path, "");
    return rmdir(folder->path);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_clear)

#endif
