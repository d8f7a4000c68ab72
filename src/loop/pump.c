#include "loop/loop_int.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ROUNDS 16 /* before the sockets are looked at again */

static bool deliver(loop *l)
{
    bool any = false;
    conn *c;
    if (!STAILQ_EMPTY(&l->finished)) {
        send_deliver(&l->finished, EDGEPS_OK);
        any = true;
    }
    while ((c = TAILQ_FIRST(&l->closing)) != NULL) {
        conn_deliver_end(c);
        any = true;
    }
    return any;
}

static void wake_at(loop *l, int64_t when_ns)
{
    if (when_ns == LINK_NEVER || when_ns == l->wake_ns)
        return;
    struct itimerspec at = {
        .it_value = {.tv_sec = when_ns / CLOCK_NS_PER_S, .tv_nsec = when_ns % CLOCK_NS_PER_S}};
    timerfd_settime(l->wake_fd, TFD_TIMER_ABSTIME, &at, NULL);
    l->wake_ns = when_ns;
}

void pump_run(loop *l)
{
    int64_t wake_ns = LINK_NEVER, now_ns = 0;
    bool again = true;
    for (int i = 0; again && i < ROUNDS; i++) {
        wake_ns = LINK_NEVER;
        now_ns = clock_now_ns();
        again = timers_fire(l, now_ns, &wake_ns);
        again |= strangers_expire(l, now_ns, &wake_ns);
        again |= lane_pass(&l->up, now_ns, &wake_ns);
        again |= lane_pass(&l->down, now_ns, &wake_ns);
        again |= deliver(l);
    }
    wake_at(l, again ? now_ns : wake_ns);
}

static void before_sleep(uv_prepare_t *handle) { pump_run(handle->data); }

static void on_wake(uv_poll_t *poll, int status, int events)
{
    uint64_t expirations;
    loop *l = poll->loop->data;
    (void)status;
    (void)events;
    l->wake_ns = LINK_NEVER;
    while (read(l->wake_fd, &expirations, sizeof expirations) < 0 && errno == EINTR)
        continue;
    /* Lanes and timers are served before the next sleep, that is, presently. */
}

edgeps_err pump_start(loop *l)
{
    l->wake_ns = LINK_NEVER;
    l->wake_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (l->wake_fd < 0 || uv_poll_init(&l->uv, &l->wake, l->wake_fd) != 0)
        return EDGEPS_IO;
    uv_poll_start(&l->wake, UV_READABLE, on_wake);
    uv_prepare_init(&l->uv, &l->before_sleep);
    l->before_sleep.data = l;
    uv_prepare_start(&l->before_sleep, before_sleep);
    return EDGEPS_OK;
}
