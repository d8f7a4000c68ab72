#include "cover/points.h"

#include "base/mem.h"
#include "base/rng.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

edgeps_err points_blank(size_t count, size_t centers, points *out)
{
    points p = {count, centers, mem_alloc(count * count, sizeof(double))};
    if (!p.distance)
        return EDGEPS_NOMEM;
    for (size_t a = 0; a < count * count; a++)
        p.distance[a] = a % (count + 1) ? INFINITY : 0;
    *out = p;
    return EDGEPS_OK;
}

void points_free(points *p)
{
    mem_free(p->distance);
    p->distance = NULL;
}

/* Floyd and Warshall. */
static void close_paths(points *p)
{
    size_t n = p->count;
    for (size_t via = 0; via < n; via++)
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                p->distance[a * n + b] = fmin(p->distance[a * n + b],
                                              p->distance[a * n + via] + p->distance[via * n + b]);
}

void points_place(points *p, const double (*at)[2])
{
    for (size_t a = 0; a < p->count; a++)
        for (size_t b = 0; b < p->count; b++)
            p->distance[a * p->count + b] =
                floor(hypot(at[a][0] - at[b][0], at[a][1] - at[b][1]) + 0.5);
}

edgeps_err points_draw(uint64_t seed, size_t count, size_t centers, bool one_way, points *out)
{
    rng r = rng_make(seed, 41);
    points p;
    edgeps_err err = points_blank(count, centers, &p);
    if (err)
        return err;
    for (size_t a = 0; a < count; a++) {
        for (size_t e = 0; e < 4; e++) {
            size_t b = e == 0 ? (a + 1) % count : rng_below(&r, count);
            double cost = (double)(1 + rng_below(&r, 100));
            if (a == b)
                continue;
            p.distance[a * count + b] = cost;
            p.distance[b * count + a] = one_way ? cost + (double)rng_below(&r, 200) : cost;
        }
    }
    close_paths(&p);
    *out = p;
    return EDGEPS_OK;
}

/* The next number of the file; NAN at its end or at a word. */
static double next_number(FILE *file)
{
    char word[64], *end;
    if (fscanf(file, "%63s", word) != 1)
        return NAN;
    double value = strtod(word, &end);
    return *end ? NAN : value;
}

static edgeps_err load_edges(FILE *file, size_t centers, edgeps_diag *diag, points *out)
{
    points p = {0};
    double n = next_number(file), edges = next_number(file), most = next_number(file);
    if (!(n >= 1 && n <= POINTS_MOST && edges >= 0 && most >= 1))
        return diag_fail(diag, EDGEPS_FORMAT,
                         "must begin with the number of points (1 to %d), of edges, and p",
                         POINTS_MOST);
    size_t count = (size_t)n;
    edgeps_err err = points_blank(count, centers ? centers : (size_t)most, &p);
    for (size_t e = 0; !err && e < (size_t)edges; e++) {
        double a = next_number(file) - 1, b = next_number(file) - 1, cost = next_number(file);
        if (!(a >= 0 && a < n && b >= 0 && b < n && cost >= 0)) {
            err = diag_fail(diag, EDGEPS_FORMAT,
                            "edge %zu: must be two points (1 to %zu) and a length", e + 1, count);
            break;
        }
        p.distance[(size_t)a * count + (size_t)b] = cost;
        p.distance[(size_t)b * count + (size_t)a] = cost;
    }
    if (err) {
        points_free(&p);
        return err;
    }
    close_paths(&p);
    *out = p;
    return EDGEPS_OK;
}

static edgeps_err read_coordinates(FILE *file, size_t count, double (*at)[2], edgeps_diag *diag)
{
    for (size_t k = 0; k < count; k++) {
        double number = next_number(file);
        at[k][0] = next_number(file);
        at[k][1] = next_number(file);
        if (!(number >= 0 && isfinite(at[k][0]) && isfinite(at[k][1])))
            return diag_fail(diag, EDGEPS_FORMAT, "point %zu: must be a number and two coordinates",
                             k + 1);
    }
    return EDGEPS_OK;
}

static edgeps_err load_plane(FILE *file, size_t centers, edgeps_diag *diag, points *out)
{
    char line[256];
    size_t count = 0;
    points p;
    while (fgets(line, sizeof line, file) && !strstr(line, "NODE_COORD_SECTION"))
        if (strncmp(line, "DIMENSION", 9) == 0 && strchr(line, ':'))
            count = strtoul(strchr(line, ':') + 1, NULL, 10);
    if (count < 1 || count > POINTS_MOST)
        return diag_fail(diag, EDGEPS_FORMAT, "DIMENSION: must be 1 to %d", POINTS_MOST);
    double(*at)[2] = mem_alloc(count, sizeof *at);
    edgeps_err err = at ? read_coordinates(file, count, at, diag) : EDGEPS_NOMEM;
    if (!err)
        err = points_blank(count, centers, &p);
    if (!err) {
        points_place(&p, (const double(*)[2])at);
        *out = p;
    }
    mem_free(at);
    return err;
}

edgeps_err points_load(const char *path, size_t centers, edgeps_diag *diag, points *out)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return diag_fail(diag, EDGEPS_USAGE, "%s: cannot be read: %s", path, strerror(errno));
    size_t length = strlen(path);
    bool plane = length > 4 && strcmp(path + length - 4, ".tsp") == 0;
    edgeps_err err = (plane ? load_plane : load_edges)(file, centers, diag, out);
    fclose(file);
    if (err == EDGEPS_NOMEM)
        return diag_fail(diag, err, "%s: no memory for its distances", path);
    return err ? diag_wrap(diag, err, "%s", path) : EDGEPS_OK;
}

static double distance_of(const void *context, size_t center, size_t point)
{
    const points *p = context;
    return p->distance[center * p->count + point];
}

pcenter_instance points_instance(const points *p)
{
    return (pcenter_instance){p->count, p->centers, distance_of, p};
}
