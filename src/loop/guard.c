/* What a flood may cost: how many connections live, how many an address opens, and how many lines
 * the refusals fill. */
#include "loop/loop_int.h"

#include "base/clock.h"
#include "base/log.h"

#include <math.h>
#include <string.h>

#define REFUSALS_TOLD 5 /* in a second */
#define REFILL_S 10     /* in which an empty bucket fills */

static double seconds_between(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) / CLOCK_NS_PER_S;
}

static void tell(loop *l, const char *text)
{
    if (l->refused)
        l->refused(l->refused_ctx, text);
    else
        log_line(LOG_WARNING, "refused %s", text);
}

void loop_refuse(loop *l, const char *text)
{
    char more[64];
    int64_t now_ns = clock_now_ns();
    if (seconds_between(l->refusals_from_ns, now_ns) >= 1) {
        long untold = l->refusals - REFUSALS_TOLD;
        l->refusals_from_ns = now_ns;
        l->refusals = 0;
        snprintf(more, sizeof more, "%ld more connections", untold);
        if (untold > 0)
            tell(l, more);
    }
    if (l->refusals++ < REFUSALS_TOLD)
        tell(l, text);
}

void loop_on_refusal(loop *l, void (*refused)(void *ctx, const char *text), void *ctx)
{
    l->refused = refused;
    l->refused_ctx = ctx;
}

void loop_limit(loop *l, size_t most) { l->most_accepted = most; }

/* The address without its port. */
static void name_host(const address *peer, struct in6_addr *host)
{
    *host = (struct in6_addr){{{0}}};
    if (peer->storage.ss_family == AF_INET6)
        *host = ((const struct sockaddr_in6 *)&peer->storage)->sin6_addr;
    else
        memcpy(host, &((const struct sockaddr_in *)&peer->storage)->sin_addr,
               sizeof(struct in_addr));
}

/* The bucket of this address: where it has none, that of who has not come for the longest time. */
static visitor *find_visitor(loop *l, const struct in6_addr *host)
{
    visitor *oldest = l->visitors;
    for (size_t i = 0; i < VISITORS; i++) {
        visitor *v = &l->visitors[i];
        if (v->seen_ns && memcmp(&v->host, host, sizeof *host) == 0)
            return v;
        if (v->seen_ns < oldest->seen_ns)
            oldest = v;
    }
    *oldest = (visitor){.host = *host, .tokens = (double)l->most_accepted};
    return oldest;
}

const char *guard_refuses(loop *l, const address *peer)
{
    struct in6_addr host;
    if (l->most_accepted == 0)
        return NULL;
    name_host(peer, &host);
    int64_t now_ns = clock_now_ns();
    visitor *v = find_visitor(l, &host);
    double most = (double)l->most_accepted;
    if (v->seen_ns)
        v->tokens = fmin(most, v->tokens + most / REFILL_S * seconds_between(v->seen_ns, now_ns));
    v->seen_ns = now_ns;
    if (l->accepted >= l->most_accepted)
        return "too many connections are open";
    if (v->tokens < 1)
        return "this address opens too many connections";
    v->tokens--;
    return NULL;
}
