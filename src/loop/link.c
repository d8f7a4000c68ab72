#include "loop/link.h"

#include <math.h>

#define NS_PER_S 1e9
#define LATE_NS 50000000 /* a process that shares its core may wake this late */
#define GAP_NS 3000000   /* a shorter pause is no idle time */
#define SLACK_NS 2000000
#define TURN_S 2e-3
#define MIN_QUANTUM 4096.0
#define MAX_QUANTUM 262144.0
#define BUFFER_S 8e-3
#define MIN_BUFFER 16384.0
#define MAX_BUFFER 4194304.0

bool link_is_limited(const link_clock *k) { return isfinite(k->bytes_per_s); }

static int64_t pass_ns(const link_clock *k, int64_t bytes)
{
    double ns = (double)bytes / k->bytes_per_s * NS_PER_S + 0.5;
    return ns < 1e18 ? (int64_t)ns : LINK_NEVER;
}

/* How long before `now_ns` the link may have become free for `needed_ns` of transfer. */
static int64_t credit(const link_clock *k, int64_t needed_ns, int64_t now_ns)
{
    bool busy = k->waited || now_ns - k->busy_ns <= GAP_NS;
    return busy ? needed_ns + LATE_NS : k->credit_ns;
}

int64_t link_ready_ns(link_clock *k, int64_t bytes, int64_t now_ns)
{
    if (!link_is_limited(k))
        return now_ns;
    int64_t needed_ns = pass_ns(k, bytes);
    if (needed_ns == LINK_NEVER)
        return LINK_NEVER;
    int64_t earliest_ns = now_ns - credit(k, needed_ns, now_ns);
    if (k->free_ns < earliest_ns)
        k->free_ns = earliest_ns;
    k->waited = k->free_ns + needed_ns > now_ns;
    k->busy_ns = now_ns;
    return k->free_ns + needed_ns;
}

void link_spend(link_clock *k, int64_t bytes, int64_t now_ns)
{
    int64_t needed_ns = link_is_limited(k) ? pass_ns(k, bytes) : 0;
    if (needed_ns != LINK_NEVER)
        k->free_ns += needed_ns;
    k->busy_ns = now_ns;
}

static double clamp(double x, double low, double high) { return fmin(fmax(x, low), high); }

int64_t link_quantum_bytes(const link_clock *k)
{
    return (int64_t)clamp(k->bytes_per_s * TURN_S, MIN_QUANTUM, MAX_QUANTUM);
}

void link_rest(link_clock *k, bool lenient)
{
    k->waited = false;
    k->credit_ns = 0;
    if (lenient && link_is_limited(k) && k->bytes_per_s > 0)
        k->credit_ns = pass_ns(k, link_quantum_bytes(k)) + SLACK_NS;
}

int link_buffer_bytes(double bytes_per_s)
{
    return (int)clamp(bytes_per_s * BUFFER_S, MIN_BUFFER, MAX_BUFFER);
}
