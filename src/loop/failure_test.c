#include "loop/test_end.h"

static void ping_back(end *e, const uint8_t *header, void *payload)
{
    (void)header;
    (void)payload;
    if (end_send(e, "pong", 4, 0) != EDGEPS_OK)
        conn_close(e->c);
}

static void give_up(void *ctx) { loop_stop(ctx); }

/* One client, one ping, one pong. Whatever fails, the run ends and nothing is lost. */
static edgeps_err ping_once(loop *l, end *server, end *client)
{
    acceptance a = {server, 0};
    loop_listener *listener = NULL;
    const loop_acceptor acceptor = {.accepted = end_accept, .ctx = &a};
    int open_ends = 1;
    edgeps_err err = loop_listen(l, "127.0.0.1", 0, &acceptor, NULL, &listener);
    /* A dropped connection says nothing; the timer ends the wait. */
    if (!err)
        err = loop_timer_start(l, 20000000, give_up, l, NULL);
    if (!err)
        err = loop_connect(l, "127.0.0.1", loop_listener_port(listener), &end_handlers, client,
                           &client->c);
    client->open_ends = &open_ends;
    if (!err)
        err = end_send(client, "ping", 4, 0);
    if (!err)
        loop_run(l);
    client->open_ends = NULL;
    if (err)
        return err;
    return client->frames == 1 ? EDGEPS_OK : EDGEPS_NOMEM;
}

static edgeps_err attempt(void)
{
    loop *l = NULL;
    end server = {.on_frame = ping_back}, client = {.stop_at_frames = 1};
    edgeps_err err = loop_make(NULL, &l);
    if (err) {
        assert_null(l);
        return err;
    }
    server.l = client.l = l;
    err = ping_once(l, &server, &client);
    loop_free(l);
    assert_int_equal(client.closed, client.c != NULL);
    return err;
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    edgeps_err err = EDGEPS_NOMEM;
    long nth = 0;
    while (err) {
        mem_fail_at(++nth);
        err = attempt();
        mem_fail_at(0);
        if (err)
            assert_int_equal(err, EDGEPS_NOMEM);
    }
    assert_true(nth > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
