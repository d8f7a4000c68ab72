#include "base/mem.h"
#include "trust/keys_int.h"
#include "trust/pem_int.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the socket */

static int put_bytes(BIO *b, const char *bytes, int count)
{
    const trust_session *s = BIO_get_data(b);
    ssize_t n;
    do {
        n = send(s->fd, bytes, (size_t)count, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    BIO_clear_retry_flags(b);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_write(b);
    return (int)n;
}

static int take_bytes(BIO *b, char *bytes, int count)
{
    trust_session *s = BIO_get_data(b);
    ssize_t n;
    BIO_clear_retry_flags(b);
    if (!s->known && s->greeting_bytes >= TRUST_GREETING_BYTES) {
        snprintf(s->why, sizeof s->why, "sends more than a greeting before it is known");
        errno = EPROTO;
        return -1;
    }
    do {
        n = recv(s->fd, bytes, (size_t)count, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_read(b);
    if (n > 0)
        s->greeting_bytes += (uint64_t)n;
    return (int)n;
}

static long control(BIO *b, int command, long number, void *pointer)
{
    (void)b;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH; /* nothing is held back */
}

BIO_METHOD *session_socket(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (m && BIO_meth_set_write(m, put_bytes) == 1 && BIO_meth_set_read(m, take_bytes) == 1 &&
        BIO_meth_set_ctrl(m, control) == 1)
        return m;
    BIO_meth_free(m);
    return NULL;
}

/* ---- why it does not work */

static void say(trust_session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first reason stays: what follows it is its consequence. */
static void say(trust_session *s, const char *format, ...)
{
    va_list args;
    if (s->why[0])
        return;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
}

static const char *alert_text(int reason)
{
    switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_UNEXPECTED_MESSAGE:
        return "does not speak TLS 1.3";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return "shows no certificate";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return "wants a certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return "refuses this member's certificate: it has expired";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return "refuses this member's certificate: it is from another authority";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        return "refuses this member's certificate";
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
        return "closed by the peer without a goodbye";
    default:
        return NULL;
    }
}

static void say_error(trust_session *s, int kind, int error)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = kind == SSL_ERROR_SSL ? alert_text(ERR_GET_REASON(code)) : NULL;
    char system[128];
    if (text)
        say(s, "%s", text);
    else if (kind == SSL_ERROR_SSL && code)
        say(s, "TLS: %s", ERR_reason_error_string(code) ? ERR_reason_error_string(code) : "error");
    else if (error)
        say(s, "%s", strerror_r(error, system, sizeof system));
    else
        say(s, "closed by the peer without a goodbye");
}

static trust_step judge(trust_session *s, int result)
{
    int error = errno, kind = SSL_get_error(s->ssl, result);
    switch (kind) {
    case SSL_ERROR_WANT_READ:
        return TRUST_READS;
    case SSL_ERROR_WANT_WRITE:
        return TRUST_WRITES;
    case SSL_ERROR_ZERO_RETURN:
        return TRUST_ENDED;
    default:
        say_error(s, kind, error);
        ERR_clear_error();
        return TRUST_BROKEN;
    }
}

/* ---- who is let in */

static void say_refusal(trust_session *s, const X509 *shown, const trust_identity *id, int reason)
{
    char when[32], holder[TRUST_MAX_JOB + TRUST_MAX_WHO + 16] = "";
    if (id->job[0])
        snprintf(holder, sizeof holder, " (%s of job %s)", id->who, id->job);
    switch (reason) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        pem_time(X509_get0_notAfter(shown), when);
        say(s, "its certificate%s has expired: %s", holder, when);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        pem_time(X509_get0_notBefore(shown), when);
        say(s, "its certificate%s is not valid before %s", holder, when);
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        say(s, "its certificate%s is not from this job's authority", holder);
        break;
    default:
        say(s, "its certificate%s: %s", holder, X509_verify_cert_error_string(reason));
        break;
    }
}

/* What the chain alone does not tell. */
static bool is_welcome(trust_session *s, const trust_identity *id)
{
    if (!id->job[0])
        say(s, "its certificate names no member of a job");
    else if (strcmp(id->job, s->of->self.job) != 0)
        say(s, "its certificate is of job %s, this is job %s", id->job, s->of->self.job);
    else if (s->expected[0] && strcmp(id->who, s->expected) != 0)
        say(s, "its certificate is that of %s, not of %s", id->who, s->expected);
    else
        return true;
    return false;
}

int session_verify(X509_STORE_CTX *chain, void *of)
{
    (void)of;
    const SSL *ssl = X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx());
    trust_session *s = SSL_get_app_data(ssl);
    const X509 *shown = X509_STORE_CTX_get0_cert(chain);
    trust_identity id = {.job = ""};
    if (!pem_identity(shown, &id))
        id.job[0] = '\0';
    if (X509_verify_cert(chain) != 1) {
        say_refusal(s, shown, &id, X509_STORE_CTX_get_error(chain));
        return 0;
    }
    if (!is_welcome(s, &id)) {
        X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
        return 0;
    }
    s->peer = id;
    return 1;
}

/* ---- a session */

edgeps_err trust_session_make(const trust *t, int fd, bool accepts, trust_session **out)
{
    trust_session *s = mem_alloc(1, sizeof *s);
    if (!s)
        return EDGEPS_NOMEM;
    *s = (trust_session){.of = t, .fd = fd, .ssl = SSL_new(t->context)};
    BIO *b = BIO_new(t->socket);
    if (!s->ssl || !b) {
        BIO_free(b);
        trust_session_free(s);
        ERR_clear_error();
        return EDGEPS_NOMEM;
    }
    BIO_set_data(b, s);
    BIO_set_init(b, 1);
    SSL_set_bio(s->ssl, b, b);
    SSL_set_app_data(s->ssl, s);
    if (accepts)
        SSL_set_accept_state(s->ssl);
    else
        SSL_set_connect_state(s->ssl);
    *out = s;
    return EDGEPS_OK;
}

void trust_session_free(trust_session *s)
{
    if (!s)
        return;
    if (s->known && !s->why[0])
        SSL_shutdown(s->ssl);
    SSL_free(s->ssl);
    ERR_clear_error();
    mem_free(s->staged);
    mem_free(s);
}

void trust_expect(trust_session *s, const char *who)
{
    snprintf(s->expected, sizeof s->expected, "%s", who);
}

trust_step trust_greet(trust_session *s)
{
    ERR_clear_error();
    errno = 0;
    int result = SSL_do_handshake(s->ssl);
    if (result != 1)
        return judge(s, result);
    s->staged = mem_alloc(TRUST_RECORD_BYTES, 1);
    if (!s->staged) {
        say(s, "out of memory");
        return TRUST_BROKEN;
    }
    s->known = true;
    return TRUST_DONE;
}

const char *trust_peer(const trust_session *s) { return s->known ? s->peer.who : ""; }

const char *trust_why(const trust_session *s) { return s->why; }

trust_step trust_read(trust_session *s, void *bytes, size_t count, size_t *got)
{
    ERR_clear_error();
    errno = 0;
    int result = SSL_read_ex(s->ssl, bytes, count, got);
    return result == 1 ? TRUST_DONE : judge(s, result);
}

/* A record out of header and payload in one piece: small ones would go out one by one. */
static void stage(trust_session *s, const struct iovec *pieces, int count)
{
    size_t left = TRUST_RECORD_BYTES;
    uint8_t *to = s->staged;
    for (int k = 0; k < count && left > 0; k++) {
        size_t bytes = pieces[k].iov_len < left ? pieces[k].iov_len : left;
        memcpy(to, pieces[k].iov_base, bytes);
        to += bytes;
        left -= bytes;
    }
    s->staged_bytes = TRUST_RECORD_BYTES - left;
}

trust_step trust_write(trust_session *s, const struct iovec *pieces, int count, size_t *taken)
{
    size_t written = 0;
    ERR_clear_error();
    errno = 0;
    if (s->staged_bytes == 0) {
        stage(s, pieces, count);
        if (++s->records % TRUST_REKEY_RECORDS == 0)
            SSL_key_update(s->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    int result = SSL_write_ex(s->ssl, s->staged, s->staged_bytes, &written);
    if (result != 1)
        return judge(s, result);
    *taken = s->staged_bytes;
    s->staged_bytes = 0;
    return TRUST_DONE;
}
