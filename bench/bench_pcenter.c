/* p-center: proved bounds and times on OR-Library's pmed and on TSPLIB, read from a folder, or on
 * instances of its own without one. Usage: bench_pcenter [FOLDER [SECONDS]] */
#include "base/clock.h"
#include "cover/pcenter_fixture.h"

#include <stdio.h>
#include <stdlib.h>

static void measure(const char *name, const points *p, double deadline_s)
{
    pcenter_instance c = points_instance(p);
    pcenter_options options = {.deadline_s = deadline_s};
    pcenter_answer a;
    int64_t start_ns = clock_now_ns();
    if (pcenter_solve(&c, &options, &a))
        return;
    printf("| %-9s | %5zu | %4zu | %9.0f | %9.0f | %7.2f %% | %8.3f | %5zu | %5zu |\n", name,
           p->count, p->centers, a.lower, a.upper,
           a.upper > 0 ? 100 * (a.upper - a.lower) / a.upper : 0,
           (double)(clock_now_ns() - start_ns) / CLOCK_NS_PER_S, a.rows, a.coverings);
    fflush(stdout);
    pcenter_answer_free(&a);
}

static void measure_file(const char *folder, const char *name, size_t centers, double deadline_s)
{
    char path[1024];
    points p;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!points_load(path, centers, &p)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return;
    }
    measure(name, &p, deadline_s);
    points_free(&p);
}

static void measure_folder(const char *folder, double deadline_s)
{
    static const char *const plane[] = {"rl1304.tsp", "u1432.tsp", "vm1748.tsp"};
    static const size_t centers[] = {10, 50, 100};
    for (int k = 1; k <= 15; k++) {
        char name[32];
        snprintf(name, sizeof name, "pmed%d.txt", k);
        measure_file(folder, name, 0, deadline_s);
    }
    for (size_t f = 0; f < 3; f++)
        for (size_t k = 0; k < 3; k++)
            measure_file(folder, plane[f], centers[k], deadline_s);
}

int main(int argc, char **argv)
{
    double deadline_s = argc > 2 ? strtod(argv[2], NULL) : 60;
    puts("| instance  |     n |    p |     lower |     upper |     gap   |  seconds |  rows | "
         "coverings |");
    puts("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    if (argc > 1) {
        measure_folder(argv[1], deadline_s);
        return 0;
    }
    for (size_t n = 100; n <= 400; n *= 2) {
        points p = points_random(n, n, n / 10, false);
        measure("drawn", &p, deadline_s);
        points_free(&p);
    }
    return 0;
}
