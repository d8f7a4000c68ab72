#include "base/clock.h"

#include <time.h>

int64_t clock_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * CLOCK_NS_PER_S + t.tv_nsec;
}

double clock_since_s(int64_t then_ns)
{
    return (double)(clock_now_ns() - then_ns) / CLOCK_NS_PER_S;
}

double clock_wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / CLOCK_NS_PER_S;
}

void clock_wall_text(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    if (strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0 && size)
        text[0] = '\0';
}
