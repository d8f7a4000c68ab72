/* What the loop does not take, and how it tells. Visitors are plain sockets from addresses of the
 * loopback network. */
#include "loop/test_end.h"

#include <stdio.h>

enum { MOST = 3, VISITS = 32 };

typedef struct house {
    loop *l;
    loop_listener *door;
    conn *guests[VISITS];
    int inside;
    int events; /* accepted, refused and closed together */
    int told;   /* of refusals */
    char last[160];
    int visitors[VISITS];
    int visits;
} house;

static void happened(house *h)
{
    h->events++;
    loop_stop(h->l);
}

static void *no_buffer(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    (void)ctx;
    (void)c;
    (void)header;
    (void)bytes;
    return NULL;
}

static void no_frame(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    (void)ctx;
    (void)c;
    (void)header;
    (void)payload;
}

static void gone(void *ctx, conn *c, edgeps_err err, const char *text)
{
    (void)c;
    (void)err;
    (void)text;
    happened(ctx);
}

static void come_in(void *ctx, conn *c)
{
    static const loop_handlers handlers = {
        .framing = {.header_bytes = 8, .payload_bytes = end_payload_bytes},
        .payload_buffer = no_buffer,
        .frame = no_frame,
        .closed = gone};
    house *h = ctx;
    conn_attach(c, &handlers, h);
    h->guests[h->inside++] = c;
    happened(h);
}

static void turned_away(void *ctx, const char *text)
{
    house *h = ctx;
    snprintf(h->last, sizeof h->last, "%s", text);
    h->told++;
    happened(h);
}

static int set_up(void **state)
{
    static house made;
    made = (house){0};
    *state = &made;
    assert_int_equal(loop_make(NULL, &made.l), EDGEPS_OK);
    loop_limit(made.l, MOST);
    loop_on_refusal(made.l, turned_away, &made);
    assert_int_equal(
        loop_listen(made.l, "127.0.0.1", 0, &(loop_acceptor){come_in, &made}, NULL, &made.door),
        EDGEPS_OK);
    return 0;
}

static int tear_down(void **state)
{
    house *h = *state;
    loop_free(h->l);
    for (int k = 0; k < h->visits; k++)
        close(h->visitors[k]);
    return 0;
}

static void await(house *h, int events)
{
    while (h->events < events)
        loop_run(h->l);
}

/* From 127.0.0.`host`; waits until it is let in or turned away. */
static void visit(house *h, int host)
{
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (uint32_t)host);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)loop_listener_port(h->door));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), events = h->events;
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    h->visitors[h->visits++] = fd;
    await(h, events + 1);
}

static void leave(house *h, int guest)
{
    int events = h->events;
    conn_close(h->guests[guest]);
    await(h, events + 1);
}

static void no_more_connections_live_than_the_limit(void **state)
{
    house *h = *state;
    for (int host = 1; host <= MOST; host++)
        visit(h, host);
    assert_int_equal(h->inside, MOST);
    visit(h, MOST + 1);
    assert_int_equal(h->inside, MOST);
    assert_non_null(strstr(h->last, "127.0.0.4:"));
    assert_non_null(strstr(h->last, "too many connections are open"));
    leave(h, 0);
    visit(h, MOST + 2);
    assert_int_equal(h->inside, MOST + 1);
}

/* A connection that has ended counts, too, and other addresses are none the worse. */
static void an_address_that_opens_too_many_is_turned_away_alone(void **state)
{
    house *h = *state;
    for (int k = 0; k < MOST; k++) {
        visit(h, 1);
        leave(h, k);
    }
    visit(h, 1);
    assert_int_equal(h->inside, MOST);
    assert_non_null(strstr(h->last, "this address opens too many connections"));
    visit(h, 2);
    assert_int_equal(h->inside, MOST + 1);
}

static void a_flood_of_refusals_does_not_become_one_of_lines(void **state)
{
    house *h = *state;
    for (int k = 0; k < 1000; k++)
        loop_refuse(h->l, "somebody: something");
    assert_true(h->told >= 5);
    assert_true(h->told <= 50); /* five, and a number, in each second that this may take */
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(no_more_connections_live_than_the_limit),
        UNIT(an_address_that_opens_too_many_is_turned_away_alone),
        UNIT(a_flood_of_refusals_does_not_become_one_of_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
