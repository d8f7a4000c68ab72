/* Order statistics, and lines through points: what tables of measurements are made of. */
#ifndef EDGEPS_BASE_STATS_H
#define EDGEPS_BASE_STATS_H

#include <stddef.h>

/* Sorts the values, of which none is NAN; at least one. */
void stats_sort(double *values, size_t count);

/* The quantile of sorted values, 0 <= fraction <= 1, linear between two of them (Hyndman and Fan
 * 1996, type 7): 0 is the least, 0.5 the median, 1 the largest. */
double stats_quantile(const double *sorted, size_t count, double fraction);

double stats_mean(const double *values, size_t count);

/* Slope of the line through the points with the least sum of squared errors in y; NAN when all x
 * are equal. */
double stats_slope(const double *x, const double *y, size_t count);

/* Kendall's tau-a of the two orders (Biometrika 30, 1938): pairs in which x and y agree, less those
 * in which they differ, over all pairs; a tie in either is neither. NAN with fewer than two points.
 */
double stats_kendall(const double *x, const double *y, size_t count);

#endif
