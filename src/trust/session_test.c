/* Sessions over socket pairs; as the stranger, OpenSSL itself with whatever it is told to show. */
#include "base/mem.h"
#include "base/rng.h"
#include "trust/trust_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char folder[64], other[64];
static trust *coordinator, *node;

static int set_up(void **state)
{
    (void)state;
    trust_fixture_make(folder, "demo");
    trust_fixture_make(other, "demo"); /* another authority under the same name */
    assert_int_equal(trust_load(folder, TRUST_COORDINATOR, NULL, &coordinator), EDGEPS_OK);
    assert_int_equal(trust_load(folder, "node/a", NULL, &node), EDGEPS_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    trust_free(coordinator);
    trust_free(node);
    trust_fixture_free(folder);
    trust_fixture_free(other);
    return 0;
}

typedef struct ends {
    int fd[2];
    trust_session *server, *client;
} ends;

static void make_sockets(ends *e)
{
    *e = (ends){.server = NULL};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, e->fd), 0);
    assert_int_equal(trust_session_make(coordinator, e->fd[0], true, &e->server), EDGEPS_OK);
}

static void free_ends(ends *e)
{
    trust_session_free(e->client);
    trust_session_free(e->server);
    close(e->fd[0]);
    close(e->fd[1]);
}

static bool is_open(trust_step step)
{
    return step == TRUST_DONE || step == TRUST_READS || step == TRUST_WRITES;
}

/* Both sides greet until neither can go on. */
static void greet(ends *e, trust_step *server, trust_step *client)
{
    *server = *client = TRUST_READS;
    for (int k = 0; k < 20; k++) {
        if (*client == TRUST_READS)
            *client = trust_greet(e->client);
        if (*server == TRUST_READS)
            *server = trust_greet(e->server);
    }
}

static void make_pair(ends *e)
{
    trust_step server, client;
    make_sockets(e);
    assert_int_equal(trust_session_make(node, e->fd[1], false, &e->client), EDGEPS_OK);
    trust_expect(e->client, TRUST_COORDINATOR);
    greet(e, &server, &client);
    assert_int_equal(server, TRUST_DONE);
    assert_int_equal(client, TRUST_DONE);
}

static void members_of_a_job_get_to_know_each_other(void **state)
{
    (void)state;
    ends e;
    make_pair(&e);
    assert_string_equal(trust_peer(e.server), "node/a");
    assert_string_equal(trust_peer(e.client), TRUST_COORDINATOR);
    free_ends(&e);
}

static void a_server_that_is_not_the_expected_one_is_refused(void **state)
{
    (void)state;
    ends e;
    trust_step server, client;
    make_sockets(&e);
    assert_int_equal(trust_session_make(node, e.fd[1], false, &e.client), EDGEPS_OK);
    trust_expect(e.client, "node/b");
    greet(&e, &server, &client);
    assert_int_equal(client, TRUST_BROKEN);
    assert_int_equal(server, TRUST_BROKEN);
    assert_string_equal(trust_why(e.client),
                        "its certificate is that of coordinator, not of node/b");
    assert_string_equal(trust_peer(e.client), "");
    free_ends(&e);
}

/* What comes out is what went in, whatever the sockets take at once. */
static void bytes_arrive_as_they_were_sent(void **state)
{
    (void)state;
    enum { BYTES = 3000000 };
    static uint8_t sent[BYTES], received[BYTES + 1];
    rng r = rng_make(3, 1);
    ends e;
    make_pair(&e);
    for (size_t k = 0; k < BYTES; k++)
        sent[k] = (uint8_t)rng_next(&r);
    size_t out = 0, in = 0, n;
    while (in < BYTES) {
        size_t left = BYTES - out, head = left < 64 ? left : 64;
        struct iovec pieces[] = {{sent + out, head},
                                 {sent + out + head, (left - head) / 2 + left % 7}};
        if (pieces[1].iov_len > left - head)
            pieces[1].iov_len = left - head;
        trust_step step = left ? trust_write(e.client, pieces, 2, &n) : TRUST_READS;
        assert_true(is_open(step));
        out += step == TRUST_DONE ? n : 0;
        if (step == TRUST_DONE && rng_below(&r, 3))
            continue;
        while ((step = trust_read(e.server, received + in, 1 + rng_below(&r, 40000), &n)) ==
                   TRUST_DONE &&
               in + n <= BYTES) {
            in += n;
            if (in + 40000 > BYTES && in < BYTES)
                continue;
        }
        assert_int_equal(step, TRUST_READS);
    }
    assert_memory_equal(sent, received, BYTES);
    free_ends(&e);
}

static void a_goodbye_is_told_from_a_cut(void **state)
{
    (void)state;
    ends e;
    uint8_t byte;
    size_t n;
    make_pair(&e);
    trust_session_free(e.client);
    e.client = NULL;
    assert_int_equal(trust_read(e.server, &byte, 1, &n), TRUST_ENDED);
    free_ends(&e);
    make_pair(&e);
    shutdown(e.fd[1], SHUT_RDWR);
    assert_int_equal(trust_read(e.server, &byte, 1, &n), TRUST_BROKEN);
    assert_string_equal(trust_why(e.server), "closed by the peer without a goodbye");
    free_ends(&e);
}

static void a_changed_byte_breaks_the_session(void **state)
{
    (void)state;
    ends e;
    int middle[2];
    uint8_t wire[256], text[16] = "a gradient";
    size_t n;
    make_pair(&e);
    assert_int_equal(trust_write(e.client, &(struct iovec){text, sizeof text}, 1, &n), TRUST_DONE);
    ssize_t length = recv(e.fd[0], wire, sizeof wire, 0);
    assert_true(length > 20);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, middle), 0);
    wire[length - 1] ^= 1;
    assert_int_equal(send(middle[0], wire, (size_t)length, 0), length);
    assert_int_equal(dup3(middle[1], e.fd[0], O_CLOEXEC), e.fd[0]);
    assert_int_equal(trust_read(e.server, text, sizeof text, &n), TRUST_BROKEN);
    close(middle[0]);
    close(middle[1]);
    free_ends(&e);
}

/* More records than one key may have. */
static void keys_change_while_bytes_flow(void **state)
{
    (void)state;
    ends e;
    make_pair(&e);
    uint8_t byte, got;
    size_t n;
    for (long k = 0; k < TRUST_REKEY_RECORDS + 10; k++) {
        byte = (uint8_t)k;
        assert_int_equal(trust_write(e.client, &(struct iovec){&byte, 1}, 1, &n), TRUST_DONE);
        assert_int_equal(trust_read(e.server, &got, 1, &n), TRUST_DONE);
        assert_true(got == byte);
    }
    assert_int_equal(trust_write(e.server, &(struct iovec){&byte, 1}, 1, &n), TRUST_DONE);
    assert_int_equal(trust_read(e.client, &got, 1, &n), TRUST_DONE);
    free_ends(&e);
}

/* A client of OpenSSL's own: `path` holds what it shows, NULL nothing. */
static SSL *make_stranger(SSL_CTX *context, int fd, const char *path)
{
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    if (path) {
        assert_int_equal(SSL_CTX_use_certificate_file(context, path, SSL_FILETYPE_PEM), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM), 1);
    }
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    SSL_set_connect_state(ssl);
    return ssl;
}

/* The server breaks with these words, and the stranger reads not one byte. */
static void expect_no_entry(SSL_CTX *context, const char *path, const char *words)
{
    ends e;
    uint8_t byte;
    size_t n;
    make_sockets(&e);
    SSL *ssl = make_stranger(context, e.fd[1], path);
    trust_step step = TRUST_READS;
    for (int k = 0; k < 20 && step == TRUST_READS; k++) {
        SSL_do_handshake(ssl);
        step = trust_greet(e.server);
    }
    assert_int_equal(step, TRUST_BROKEN);
    if (!strstr(trust_why(e.server), words))
        fail_msg("'%s' is not in: %s", words, trust_why(e.server));
    assert_string_equal(trust_peer(e.server), "");
    assert_int_equal(SSL_read_ex(ssl, &byte, 1, &n), 0);
    SSL_free(ssl);
    SSL_CTX_free(context);
    ERR_clear_error();
    free_ends(&e);
}

static const char *forge(const char *where, const forgery *f)
{
    static char path[128];
    trust_fixture_forge(where, "forged.pem", f);
    snprintf(path, sizeof path, "%s/forged.pem", where);
    return path;
}

static void who_shows_no_certificate_gets_nothing(void **state)
{
    (void)state;
    expect_no_entry(SSL_CTX_new(TLS_client_method()), NULL, "shows no certificate");
}

static void who_does_not_belong_gets_nothing(void **state)
{
    (void)state;
    const struct {
        const char *where;
        forgery f;
        const char *words;
    } cases[] = {
        {folder,
         {"edgeps://demo/node/a", -7200, -60},
         "its certificate (node/a of job demo) has expired: 20"},
        {folder, {"edgeps://demo/node/a", 600, 7200}, "is not valid before 20"},
        {folder, {"edgeps://x/node/a", -60, 60}, "its certificate is of job x, this is job demo"},
        {folder, {NULL, -60, 60}, "its certificate names no member of a job"},
        {folder, {"http://a", -60, 60}, "its certificate names no member of a job"},
        {folder,
         {"edgeps://demo/node/a, URI:edgeps://demo/node/b", -60, 60},
         "its certificate names no member of a job"},
        {other,
         {"edgeps://demo/node/a", -60, 60},
         "its certificate (node/a of job demo) is not from this job's authority"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        expect_no_entry(SSL_CTX_new(TLS_client_method()), forge(cases[k].where, &cases[k].f),
                        cases[k].words);
}

/* A member's key vouches for nobody else. */
static void a_member_is_no_authority(void **state)
{
    (void)state;
    char from[128], to[128];
    static const char *const parts[][2] = {{"node-a.pem", "authority.pem"},
                                           {"node-a.pem", "authority.key"}};
    for (int k = 0; k < 2; k++) {
        snprintf(from, sizeof from, "%s/%s", folder, parts[k][0]);
        snprintf(to, sizeof to, "%s/%s", other, parts[k][1]);
        unlink(to);
        assert_int_equal(link(from, to), 0);
    }
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    const char *path = forge(other, &(forgery){"edgeps://demo/node/b", -60, 60});
    X509 *between = NULL;
    FILE *file = fopen(from, "re");
    between = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    assert_int_equal(SSL_CTX_add_extra_chain_cert(context, between), 1); /* takes it over */
    expect_no_entry(context, path, "its certificate (node/b of job demo): invalid CA certificate");
}

static void older_versions_get_nothing(void **state)
{
    (void)state;
    char path[128];
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    snprintf(path, sizeof path, "%s/node-a.pem", folder);
    expect_no_entry(context, path, "does not speak TLS 1.3");
}

/* Bytes of no protocol, or of a greeting that goes wrong somewhere: no way in, and no more is
 * taken than a greeting may have. */
static void garbage_gets_nothing(void **state)
{
    (void)state;
    rng r = rng_make(11, 1);
    for (int round = 0; round < 300; round++) {
        ends e;
        uint8_t bytes[4096];
        size_t taken = 0;
        make_sockets(&e);
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)rng_next(&r);
        if (round % 2) /* the first bytes of a true record of a greeting */
            memcpy(bytes, "\x16\x03\x01\x0f\x00\x01\x00\x0e\xfc\x03\x03", 11);
        trust_step step = TRUST_READS;
        while (step == TRUST_READS && taken < 2 * TRUST_GREETING_BYTES + 300000) {
            ssize_t n = send(e.fd[1], bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
            taken += n > 0 ? (size_t)n : 0;
            step = trust_greet(e.server);
        }
        assert_int_equal(step, TRUST_BROKEN);
        assert_true(trust_why(e.server)[0]);
        free_ends(&e);
    }
}

static void survives_each_allocation_failing(void **state)
{
    (void)state;
    edgeps_err err = EDGEPS_NOMEM;
    for (long n = 1; err == EDGEPS_NOMEM; n++) {
        trust_session *s = NULL;
        mem_fail_at(n);
        err = trust_session_make(node, 0, false, &s);
        mem_fail_at(0);
        trust_session_free(s);
    }
    assert_int_equal(err, EDGEPS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_a_job_get_to_know_each_other),
        cmocka_unit_test(a_server_that_is_not_the_expected_one_is_refused),
        cmocka_unit_test(bytes_arrive_as_they_were_sent),
        cmocka_unit_test(a_goodbye_is_told_from_a_cut),
        cmocka_unit_test(a_changed_byte_breaks_the_session),
        cmocka_unit_test(keys_change_while_bytes_flow),
        cmocka_unit_test(who_shows_no_certificate_gets_nothing),
        cmocka_unit_test(who_does_not_belong_gets_nothing),
        cmocka_unit_test(a_member_is_no_authority),
        cmocka_unit_test(older_versions_get_nothing),
        cmocka_unit_test(garbage_gets_nothing),
        cmocka_unit_test(survives_each_allocation_failing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
