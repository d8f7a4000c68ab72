#include "cover/pcenter_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

static points blank(size_t count, size_t centers)
{
    points p = {count, centers, mem_alloc(count * count, sizeof(double))};
    if (!p.distance)
        abort();
    for (size_t a = 0; a < count * count; a++)
        p.distance[a] = a % (count + 1) ? INFINITY : 0;
    return p;
}

void points_free(points *p) { mem_free(p->distance); }

static void close_paths(points *p)
{
    size_t n = p->count;
    for (size_t via = 0; via < n; via++)
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                p->distance[a * n + b] = fmin(p->distance[a * n + b],
                                              p->distance[a * n + via] + p->distance[via * n + b]);
}

static void place_in_plane(points *p, const double (*at)[2])
{
    for (size_t a = 0; a < p->count; a++)
        for (size_t b = 0; b < p->count; b++)
            p->distance[a * p->count + b] =
                floor(hypot(at[a][0] - at[b][0], at[a][1] - at[b][1]) + 0.5);
}

points points_tiny(size_t k)
{
    if (k == 0) { /* seven houses along a street, two centers */
        points p = blank(7, 2);
        for (size_t a = 0; a < 49; a++)
            p.distance[a] = (double)llabs((long long)(a / 7) - (long long)(a % 7));
        return p;
    }
    if (k == 1) { /* a ring of six that is driven one way */
        points p = blank(6, 2);
        for (size_t a = 0; a < 36; a++)
            p.distance[a] = (double)((a % 6 + 6 - a / 6) % 6);
        return p;
    }
    static const double villages[8][2] = {{0, 0},   {30, 10},  {10, 40},  {50, 50},
                                          {200, 0}, {240, 30}, {210, 60}, {120, 35}};
    points p = blank(8, 3);
    place_in_plane(&p, villages);
    return p;
}

points points_random(uint64_t seed, size_t count, size_t centers, bool one_way)
{
    rng r = rng_make(seed, 41);
    points p = blank(count, centers);
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
    return p;
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

static bool load_edges(FILE *file, size_t centers, points *out)
{
    double n = next_number(file), edges = next_number(file), p = next_number(file);
    if (!(n >= 1 && n <= 10000 && edges >= 0 && p >= 1))
        return false;
    size_t count = (size_t)n;
    *out = blank(count, centers ? centers : (size_t)p);
    for (size_t e = 0; e < (size_t)edges; e++) {
        double a = next_number(file) - 1, b = next_number(file) - 1, cost = next_number(file);
        if (!(a >= 0 && a < n && b >= 0 && b < n && cost >= 0)) {
            points_free(out);
            return false;
        }
        out->distance[(size_t)a * count + (size_t)b] = cost;
        out->distance[(size_t)b * count + (size_t)a] = cost;
    }
    close_paths(out);
    return true;
}

static bool load_plane(FILE *file, size_t centers, points *out)
{
    char line[256];
    size_t count = 0, read = 0;
    while (fgets(line, sizeof line, file) && !strstr(line, "NODE_COORD_SECTION"))
        if (strncmp(line, "DIMENSION", 9) == 0 && strchr(line, ':'))
            count = strtoul(strchr(line, ':') + 1, NULL, 10);
    if (count < 1 || count > 10000)
        return false;
    double(*at)[2] = mem_alloc(count, sizeof *at);
    if (!at)
        abort();
    for (; read < count && next_number(file) > 0; read++) {
        at[read][0] = next_number(file);
        at[read][1] = next_number(file);
    }
    if (read == count) {
        *out = blank(count, centers);
        place_in_plane(out, (const double(*)[2])at);
    }
    mem_free(at);
    return read == count;
}

bool points_load(const char *path, size_t centers, points *out)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool good =
        strstr(path, ".tsp") ? load_plane(file, centers, out) : load_edges(file, centers, out);
    fclose(file);
    return good;
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

double points_radius(const points *p, const uint32_t *center, size_t count)
{
    double radius = 0;
    for (size_t i = 0; i < p->count; i++) {
        double nearest = INFINITY;
        for (size_t k = 0; k < count; k++)
            nearest = fmin(nearest, p->distance[center[k] * p->count + i]);
        radius = fmax(radius, nearest);
    }
    return radius;
}

double points_best_radius(const points *p)
{
    double best = INFINITY;
    for (uint32_t set = 1; set < UINT32_C(1) << p->count; set++) {
        uint32_t center[20];
        size_t count = 0;
        if ((size_t)__builtin_popcount(set) != p->centers)
            continue;
        for (uint32_t j = 0; j < p->count; j++)
            if (set >> j & 1)
                center[count++] = j;
        best = fmin(best, points_radius(p, center, count));
    }
    return best;
}
