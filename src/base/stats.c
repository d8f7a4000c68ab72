#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void stats_sort(double *values, size_t count) { qsort(values, count, sizeof *values, by_value); }

double stats_quantile(const double *sorted, size_t count, double fraction)
{
    double at = fraction * (double)(count - 1);
    size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

double stats_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += values[k];
    return sum / (double)count;
}

double stats_slope(const double *x, const double *y, size_t count)
{
    double middle_x = stats_mean(x, count), middle_y = stats_mean(y, count), xy = 0, xx = 0;
    for (size_t k = 0; k < count; k++) {
        xy += (x[k] - middle_x) * (y[k] - middle_y);
        xx += (x[k] - middle_x) * (x[k] - middle_x);
    }
    return xx > 0 ? xy / xx : NAN;
}

static int sign(double value) { return (value > 0) - (value < 0); }

double stats_kendall(const double *x, const double *y, size_t count)
{
    long agreed = 0;
    for (size_t b = 1; b < count; b++)
        for (size_t a = 0; a < b; a++)
            agreed += sign(x[b] - x[a]) * sign(y[b] - y[a]);
    double pairs = (double)count * ((double)count - 1) / 2;
    return count > 1 ? (double)agreed / pairs : NAN;
}
