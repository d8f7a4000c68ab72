#include "loop/loop_int.h"

#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

void loop_free_handle(uv_handle_t *handle) { mem_free(handle->data); }

static void close_descriptor(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void close_handle(uv_handle_t *handle, void *own)
{
    loop *l = own;
    bool inside = handle == (uv_handle_t *)&l->wake || handle == (uv_handle_t *)&l->before_sleep;
    if (!uv_is_closing(handle))
        uv_close(handle, inside ? NULL : loop_free_handle);
}

static void set_up_lane(lane *side, int64_t (*wants)(conn *, int64_t, int64_t *),
                        lane_result (*move)(conn *, int64_t, int64_t *))
{
    TAILQ_INIT(&side->members);
    side->link.bytes_per_s = INFINITY;
    side->wants = wants;
    side->move = move;
}

edgeps_err loop_make(edgeps_diag *diag, loop **out)
{
    loop *l = mem_alloc(1, sizeof *l);
    if (!l)
        return diag_fail(diag, EDGEPS_NOMEM, "event loop: out of memory");
    /* One worker thread, or work would run beside itself; libuv reads this at its first use. */
    setenv("UV_THREADPOOL_SIZE", "1", 0);
    int status = uv_loop_init(&l->uv);
    if (status != 0) {
        mem_free(l);
        return diag_fail(diag, EDGEPS_IO, "event loop: %s", uv_strerror(status));
    }
    l->uv.data = l;
    set_up_lane(&l->up, send_wants, send_move);
    set_up_lane(&l->down, receive_wants, receive_move);
    l->down.receives = true;
    STAILQ_INIT(&l->finished);
    TAILQ_INIT(&l->conns);
    TAILQ_INIT(&l->closing);
    TAILQ_INIT(&l->strangers);
    TAILQ_INIT(&l->listeners);
    l->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (pump_start(l) != EDGEPS_OK) {
        edgeps_err err =
            diag_fail(diag, EDGEPS_IO, "event loop: timer: %s", address_errno_text(errno));
        loop_free(l);
        return err;
    }
    *out = l;
    return EDGEPS_OK;
}

void loop_free(loop *l)
{
    if (!l)
        return;
    l->ending = true;
    conn *c;
    while ((c = TAILQ_FIRST(&l->conns)) != NULL)
        conn_fail(c, EDGEPS_CANCELLED, "the program ends");
    while (!TAILQ_EMPTY(&l->listeners))
        loop_listener_close(TAILQ_FIRST(&l->listeners));
    pump_run(l);
    uv_walk(&l->uv, close_handle, l);
    /* A last callback may have asked the loop to stop. */
    while (uv_run(&l->uv, UV_RUN_DEFAULT) != 0)
        continue;
    int status = uv_loop_close(&l->uv);
    assert(status == 0);
    (void)status;
    timers_drop(l); /* not before: the last callbacks may cancel some */
    close_descriptor(l->wake_fd);
    close_descriptor(l->spare_fd);
    mem_free(l);
}

void loop_run(loop *l)
{
    /* Emulated links keep their pace only when this thread is awake in time, also on a machine
     * whose processors are shared by a whole emulated network. */
    thread_take_short_turns(true);
    uv_run(&l->uv, UV_RUN_DEFAULT);
}

void loop_stop(loop *l) { uv_stop(&l->uv); }

void loop_set_patience(loop *l, double seconds)
{
    l->patience_ms = (unsigned)(fmin(seconds, 1e6) * 1000);
    conn *c;
    TAILQ_FOREACH(c, &l->conns, siblings) { conn_set_patience(c); }
}

void loop_set_rates(loop *l, double up_bytes_per_s, double down_bytes_per_s)
{
    l->up.link.bytes_per_s = up_bytes_per_s;
    l->down.link.bytes_per_s = down_bytes_per_s;
    loop_listener *listener;
    TAILQ_FOREACH(listener, &l->listeners, siblings) { address_fit_window(l, listener->fd); }
    conn *c;
    TAILQ_FOREACH(c, &l->conns, siblings) { conn_fit_buffers(c); }
}
