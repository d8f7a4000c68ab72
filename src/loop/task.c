#include "loop/loop_int.h"

#include "base/clock.h"
#include "base/mem.h"

struct loop_timer {
    uv_timer_t timer; /* first: its `data` frees this */
    void (*fire)(void *ctx);
    void *ctx;
};

typedef struct caught_signal {
    uv_signal_t handle; /* first: its `data` frees this */
    void (*caught)(void *ctx, int signo);
    void *ctx;
} caught_signal;

typedef struct job_of_work {
    uv_work_t request;
    void (*work)(void *ctx);
    void (*done)(void *ctx);
    void *ctx;
} job_of_work;

static void on_timer(uv_timer_t *timer)
{
    loop_timer *t = timer->data;
    uv_close((uv_handle_t *)timer, loop_free_handle);
    t->fire(t->ctx);
}

edgeps_err loop_timer_start(loop *l, int64_t delay_ns, void (*fire)(void *ctx), void *ctx,
                            loop_timer **out)
{
    const int64_t ns_per_ms = CLOCK_NS_PER_S / 1000;
    if (l->ending)
        return EDGEPS_CANCELLED;
    loop_timer *t = mem_alloc(1, sizeof *t);
    if (!t)
        return EDGEPS_NOMEM;
    t->fire = fire;
    t->ctx = ctx;
    uv_timer_init(&l->uv, &t->timer);
    t->timer.data = t;
    uv_update_time(&l->uv);
    /* libuv's clock has lost its fraction of a millisecond: one more, or it fires early. */
    uint64_t ms = delay_ns > 0 ? (uint64_t)((delay_ns + ns_per_ms - 1) / ns_per_ms) + 1 : 0;
    uv_timer_start(&t->timer, on_timer, ms, 0);
    if (out)
        *out = t;
    return EDGEPS_OK;
}

void loop_timer_cancel(loop_timer *t)
{
    if (t)
        uv_close((uv_handle_t *)&t->timer, loop_free_handle);
}

static void on_signal(uv_signal_t *handle, int signo)
{
    caught_signal *s = handle->data;
    s->caught(s->ctx, signo);
}

edgeps_err loop_on_signal(loop *l, int signo, void (*caught)(void *ctx, int signo), void *ctx)
{
    if (l->ending)
        return EDGEPS_CANCELLED;
    caught_signal *s = mem_alloc(1, sizeof *s);
    if (!s)
        return EDGEPS_NOMEM;
    s->caught = caught;
    s->ctx = ctx;
    if (uv_signal_init(&l->uv, &s->handle) != 0) {
        mem_free(s);
        return EDGEPS_IO;
    }
    s->handle.data = s;
    int status = uv_signal_start(&s->handle, on_signal, signo);
    if (status != 0)
        uv_close((uv_handle_t *)&s->handle, loop_free_handle);
    return status == 0 ? EDGEPS_OK : EDGEPS_USAGE;
}

static void run_work(uv_work_t *request)
{
    job_of_work *j = request->data;
    j->work(j->ctx);
}

static void end_work(uv_work_t *request, int status)
{
    (void)status; /* nothing is ever cancelled */
    job_of_work *j = request->data;
    j->done(j->ctx);
    mem_free(j);
}

edgeps_err loop_work(loop *l, void (*work)(void *ctx), void (*done)(void *ctx), void *ctx)
{
    if (l->ending)
        return EDGEPS_CANCELLED;
    job_of_work *j = mem_alloc(1, sizeof *j);
    if (!j)
        return EDGEPS_NOMEM;
    *j = (job_of_work){.work = work, .done = done, .ctx = ctx};
    j->request.data = j;
    int status = uv_queue_work(&l->uv, &j->request, run_work, end_work);
    if (status == 0)
        return EDGEPS_OK;
    mem_free(j);
    return EDGEPS_INTERNAL;
}
