#include "lab/lab_fixture.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fts.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

network *fixture_network(size_t count, double bytes_per_s)
{
    network *net = NULL;
    assert_int_equal(network_make(count, NULL, &net), EDGEPS_OK);
    for (size_t i = 0; i < count; i++) {
        char name[8];
        snprintf(name, sizeof name, "%c", (int)('a' + i % 26));
        if (i >= 26)
            snprintf(name + 1, sizeof name - 1, "%zu", i / 26);
        net->nodes[i].name = mem_copy_text(name);
        net->nodes[i].up_bytes_per_s = net->nodes[i].down_bytes_per_s = bytes_per_s;
        net->nodes[i].compute_samples_per_s = 1000;
        net->nodes[i].free_bytes = 1 << 24;
    }
    return net;
}

void fixture_folder(char dir[64])
{
    snprintf(dir, 64, "/tmp/edgeps-lab-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(rmdir(dir), 0);
}

void fixture_up_as(const network *net, const lab_options *options, char dir[64], lab **out)
{
    edgeps_diag diag = {.text = ""};
    fixture_folder(dir);
    edgeps_err err = lab_up(net, dir, options, &diag);
    if (err == EDGEPS_UNSUPPORTED) {
        print_message("skipped: %s\n", diag.text);
        skip();
    }
    if (!err)
        err = lab_open(dir, &diag, out);
    if (err)
        fail_msg("%s", diag.text);
}

void fixture_up_with(const network *net, double core_samples_per_s, char dir[64], lab **out)
{
    const lab_options options = {.tied = true, .core_samples_per_s = core_samples_per_s};
    fixture_up_as(net, &options, dir, out);
}

void fixture_up(const network *net, char dir[64], lab **out) { fixture_up_with(net, 0, dir, out); }

static void put_file(FILE *to, const char *path)
{
    char line[4096];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        fputs(line, to);
    fclose(file);
}

static void put_groups(FILE *to)
{
    char *roots[] = {"/sys/fs/cgroup", NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOSTAT, NULL);
    for (FTSENT *at; tree && (at = fts_read(tree)) != NULL;)
        if (at->fts_info == FTS_D && !strstr(at->fts_path, "/edgeps-lab-"))
            fprintf(to, "%s\n", at->fts_path);
    if (tree)
        fts_close(tree);
}

char *fixture_machine(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    struct if_nameindex *interfaces = if_nameindex();
    assert_true(to && interfaces);
    for (struct if_nameindex *i = interfaces; i->if_index; i++)
        fprintf(to, "%u %s\n", i->if_index, i->if_name);
    if_freenameindex(interfaces);
    put_file(to, "/proc/self/mountinfo");
    put_groups(to);
    assert_int_equal(fclose(to), 0);
    return text;
}

void fixture_expect_machine(char *before)
{
    char *now = fixture_machine();
    assert_string_equal(before, now);
    free(now);
    free(before);
}

size_t fixture_processes_in(ino_t network_namespace)
{
    size_t count = 0;
    DIR *all = opendir("/proc");
    assert_non_null(all);
    for (struct dirent *one; (one = readdir(all)) != NULL;) {
        char path[300];
        struct stat found;
        snprintf(path, sizeof path, "/proc/%s/ns/net", one->d_name);
        count += strspn(one->d_name, "0123456789") == strlen(one->d_name) &&
                 stat(path, &found) == 0 && found.st_ino == network_namespace;
    }
    closedir(all);
    return count;
}
