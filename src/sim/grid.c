#include "sim/grid.h"

#include "sim/grid_int.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef EDGEPS_SIMGRID

bool grid_is_there(void) { return true; }

static void write_link(FILE *file, const char *kind, size_t node, double bytes_per_s)
{
    fprintf(file, "<link id=\"%s%zu\" bandwidth=\"%.17gBps\" latency=\"0s\"/>\n", kind, node,
            bytes_per_s);
}

typedef void write_path(const problem *p, size_t from, size_t to, FILE *file);

static void write_cap(const problem *p, size_t from, size_t to, FILE *file)
{
    double cap = problem_cap_bytes_per_s(p, from, to);
    if (cap < INFINITY)
        fprintf(file, "<link id=\"c%zu_%zu\" bandwidth=\"%.17gBps\" latency=\"0s\"/>\n", from, to,
                cap);
}

static void write_route(const problem *p, size_t from, size_t to, FILE *file)
{
    fprintf(file,
            "<route src=\"h%zu\" dst=\"h%zu\" symmetrical=\"NO\"><link_ctn id=\"u%zu\"/>"
            "<link_ctn id=\"d%zu\"/>",
            from, to, from, to);
    if (problem_cap_bytes_per_s(p, from, to) < INFINITY)
        fprintf(file, "<link_ctn id=\"c%zu_%zu\"/>", from, to);
    fprintf(file, "</route>\n");
}

static bool talks_to_global(const plan *pl, size_t node)
{
    return plan_is_local(pl, node) && pl->global != (int32_t)node;
}

/* Each direction between two nodes once, whatever the roles that talk there. */
static void write_paths(const problem *p, const plan *pl, write_path *write, FILE *file)
{
    size_t global = (size_t)pl->global;
    for (size_t i = 0; i < p->count; i++) {
        size_t parent = (size_t)pl->parent[i];
        bool works = pl->parent[i] != PLAN_NONE && parent != i, serves = talks_to_global(pl, i);
        /* Two local servers may have each other's nodes for workers. */
        works &= !works || pl->parent[parent] != (int32_t)i || parent > i;
        /* Worker i may be the global server's too, or the global server's node its worker. */
        bool again = pl->parent[i] == pl->global || pl->parent[global] == (int32_t)i;
        if (works) {
            write(p, i, parent, file);
            write(p, parent, i, file);
        }
        if (serves && !again) {
            write(p, i, global, file);
            write(p, global, i, file);
        }
    }
}

void grid_write_platform(const problem *p, const plan *pl, FILE *file)
{
    fprintf(file, "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
                  "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
                  "<zone id=\"edge\" routing=\"Full\">\n");
    for (size_t i = 0; i < p->count; i++)
        fprintf(file, "<host id=\"h%zu\" speed=\"1f\"/>\n", i);
    for (size_t i = 0; i < p->count; i++) {
        write_link(file, "u", i, p->nodes[i].up_bytes_per_s);
        write_link(file, "d", i, p->nodes[i].down_bytes_per_s);
    }
    write_paths(p, pl, write_cap, file);
    write_paths(p, pl, write_route, file);
    fprintf(file, "</zone>\n</platform>\n");
}

/* All paths of the plan carry something both ways. */
static bool can_pass(const problem *p, const plan *pl)
{
    bool pass = true;
    for (size_t i = 0; i < p->count; i++) {
        if (pl->parent[i] != PLAN_NONE)
            pass &= problem_connected(p, i, (size_t)pl->parent[i]);
        if (plan_is_local(pl, i))
            pass &= problem_connected(p, i, (size_t)pl->global);
    }
    return pass;
}

static edgeps_err take_answer(pid_t child, int in, double *round_s)
{
    double answer;
    int status;
    ssize_t got;
    pid_t ended;
    do
        got = read(in, &answer, sizeof answer);
    while (got < 0 && errno == EINTR);
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof answer || ended != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0)
        return EDGEPS_INTERNAL;
    *round_s = answer;
    return EDGEPS_OK;
}

static edgeps_err play_apart(const problem *p, const plan *pl, const char *platform,
                             double *round_s)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return EDGEPS_IO;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        grid_play(p, pl, platform, ends[1]);
    }
    close(ends[1]);
    edgeps_err err = child < 0 ? EDGEPS_IO : take_answer(child, ends[0], round_s);
    close(ends[0]);
    return err;
}

/* SimGrid reads its platform from a file and from nothing else: here one in memory. */
edgeps_err grid_round_s(const problem *p, const plan *pl, double *round_s)
{
    char platform[40];
    if (!can_pass(p, pl)) {
        *round_s = INFINITY;
        return EDGEPS_OK;
    }
    int fd = memfd_create("edgeps-grid", MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        if (fd >= 0)
            close(fd);
        return EDGEPS_IO;
    }
    grid_write_platform(p, pl, file);
    snprintf(platform, sizeof platform, "/proc/self/fd/%d", fd);
    bool whole = fflush(file) == 0 && !ferror(file);
    edgeps_err err = whole ? play_apart(p, pl, platform, round_s) : EDGEPS_IO;
    fclose(file);
    return err;
}

#else

bool grid_is_there(void) { return false; }

edgeps_err grid_round_s(const problem *p, const plan *pl, double *round_s)
{
    (void)p;
    (void)pl;
    (void)round_s;
    return EDGEPS_UNSUPPORTED;
}

#endif
