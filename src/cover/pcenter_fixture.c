#include "cover/pcenter_fixture.h"

#include <math.h>
#include <stdlib.h>

static points blank(size_t count, size_t centers)
{
    points p;
    if (points_blank(count, centers, &p))
        abort();
    return p;
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
    points_place(&p, villages);
    return p;
}

points points_random(uint64_t seed, size_t count, size_t centers, bool one_way)
{
    points p;
    if (points_draw(seed, count, centers, one_way, &p))
        abort();
    return p;
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
