#include "loop/loop_int.h"

#include "base/clock.h"
#include "base/mem.h"

struct loop_timer {
    void (*fire)(void *ctx);
    void *ctx;
    bool cancelled;
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

edgeps_err loop_timer_start(loop *l, int64_t delay_ns, void (*fire)(void *ctx), void *ctx,
                            loop_timer **out)
{
    if (l->ending)
        return EDGEPS_CANCELLED;
    loop_timer *t = mem_alloc(1, sizeof *t);
    if (!t)
        return EDGEPS_NOMEM;
    *t = (loop_timer){.fire = fire, .ctx = ctx};
    double due_ns = (double)(clock_now_ns() + (delay_ns > 0 ? delay_ns : 0));
    if (heap_push(&l->timers, due_ns, (uint64_t)(uintptr_t)t) != EDGEPS_OK) {
        mem_free(t);
        return EDGEPS_NOMEM;
    }
    if (out)
        *out = t;
    return EDGEPS_OK;
}

void loop_timer_cancel(loop_timer *t)
{
    if (t)
        t->cancelled = true;
}

static loop_timer *timer_of(const heap_item *item) { return (loop_timer *)(uintptr_t)item->id; }

bool timers_fire(loop *l, int64_t now_ns, int64_t *wake_ns)
{
    bool any = false;
    heap_item first;
    if (l->ending)
        return false;
    while (l->timers.count > 0 && l->timers.items[0].key <= (double)now_ns &&
           heap_pop(&l->timers, &first)) {
        loop_timer t = *timer_of(&first);
        mem_free(timer_of(&first));
        if (t.cancelled)
            continue;
        t.fire(t.ctx);
        any = true;
    }
    if (l->timers.count > 0 && l->timers.items[0].key < (double)*wake_ns)
        *wake_ns = (int64_t)l->timers.items[0].key;
    return any;
}

void timers_drop(loop *l)
{
    for (size_t i = 0; i < l->timers.count; i++)
        mem_free(timer_of(&l->timers.items[i]));
    heap_free(&l->timers);
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
    /* The thread has inherited the loop's short turns. */
    static _Thread_local bool set_up;
    if (!set_up)
        thread_take_short_turns(false);
    set_up = true;
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
