#include "base/mem.h"
#include "trust/keys_int.h"
#include "trust/pem_int.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#define MAX_CHAIN_BYTES 16384  /* of certificates that a peer may show */
#define READ_AHEAD_BYTES 65536 /* several records in one call */

static bool set_up(trust *t)
{
    SSL_CTX *c = t->context = SSL_CTX_new(TLS_method());
    t->socket = session_socket();
    if (!c || !t->socket || SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_num_tickets(c, 0) != 1)
        return false;
    SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(c, session_verify, t);
    SSL_CTX_set_max_cert_list(c, MAX_CHAIN_BYTES);
    SSL_CTX_set_read_ahead(c, 1);
    SSL_CTX_set_default_read_buffer_len(c, READ_AHEAD_BYTES);
    return true;
}

/* Whether a peer with the same authority will let this certificate in. */
static int judge(trust *t, X509 *own)
{
    int reason = X509_V_ERR_UNSPECIFIED;
    X509_STORE_CTX *chain = X509_STORE_CTX_new();
    if (chain && X509_STORE_CTX_init(chain, SSL_CTX_get_cert_store(t->context), own, NULL) == 1) {
        X509_STORE_CTX_set_default(chain, "ssl_client");
        reason = X509_verify_cert(chain) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(chain);
    }
    X509_STORE_CTX_free(chain);
    return reason;
}

static edgeps_err check_own(trust *t, X509 *own, const char *who, const char *path,
                            edgeps_diag *diag)
{
    char until[32];
    if (!pem_identity(own, &t->self) || strcmp(t->self.who, who) != 0)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: is not the certificate of %s", path, who);
    switch (judge(t, own)) {
    case X509_V_OK:
        return EDGEPS_OK;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        pem_time(X509_get0_notAfter(own), until);
        return diag_fail(diag, EDGEPS_USAGE,
                         "%s: has expired (%s), or its authority has; make another with edgeps "
                         "cert issue or init",
                         path, until);
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return diag_fail(diag, EDGEPS_USAGE, "%s: is not valid yet; check this host's clock", path);
    default:
        return diag_fail(diag, EDGEPS_FORMAT, "%s: is not from the authority beside it", path);
    }
}

static edgeps_err load_own(trust *t, const char *path, const char *who, edgeps_diag *diag)
{
    pem_pair own = {NULL, NULL};
    edgeps_err err = pem_read_certificate(path, diag, &own.certificate);
    if (!err)
        err = pem_read_key(path, diag, &own.key);
    if (!err)
        err = check_own(t, own.certificate, who, path, diag);
    if (!err && (SSL_CTX_use_certificate(t->context, own.certificate) != 1 ||
                 SSL_CTX_use_PrivateKey(t->context, own.key) != 1))
        err =
            diag_fail(diag, EDGEPS_FORMAT, "%s: certificate and key do not belong together", path);
    pem_pair_free(&own);
    return err;
}

static edgeps_err load_authority(trust *t, const char *path, edgeps_diag *diag)
{
    X509 *authority = NULL;
    edgeps_err err = pem_read_certificate(path, diag, &authority);
    if (!err && (X509_check_ca(authority) <= 0 ||
                 X509_STORE_add_cert(SSL_CTX_get_cert_store(t->context), authority) != 1))
        err = diag_fail(diag, EDGEPS_FORMAT, "%s: is no authority", path);
    X509_free(authority);
    return err;
}

edgeps_err trust_load(const char *folder, const char *who, edgeps_diag *diag, trust **out)
{
    char name[TRUST_MAX_URI], path[PEM_MAX_PATH];
    if (strlen(folder) + sizeof name >= sizeof path)
        return diag_fail(diag, EDGEPS_USAGE, "%.60s...: the path is too long", folder);
    trust *t = mem_alloc(1, sizeof *t);
    if (!t || !set_up(t)) {
        trust_free(t);
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for TLS");
    }
    snprintf(path, sizeof path, "%s/authority.pem", folder);
    edgeps_err err = load_authority(t, path, diag);
    trust_file_name(who, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!err)
        err = load_own(t, path, who, diag);
    ERR_clear_error();
    if (err)
        trust_free(t);
    else
        *out = t;
    return err;
}

void trust_free(trust *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->context);
    BIO_meth_free(t->socket);
    mem_free(t);
}

const char *trust_job(const trust *t) { return t->self.job; }
