/* What keys.c and session.c share. */
#ifndef EDGEPS_TRUST_KEYS_INT_H
#define EDGEPS_TRUST_KEYS_INT_H

#include "trust/session.h"

#include <openssl/ssl.h>

struct trust {
    SSL_CTX *context;
    BIO_METHOD *socket; /* how sessions read and write theirs */
    trust_identity self;
};

struct trust_session {
    const trust *of;
    SSL *ssl;
    int fd;
    bool known;                       /* the greeting is over */
    uint64_t greeting_bytes;          /* read before that */
    uint32_t records;                 /* written with the key in force */
    size_t staged_bytes;              /* of plain text in `staged` whose record is not wholly out */
    uint8_t *staged;                  /* TRUST_RECORD_BYTES, from the end of the greeting on */
    char expected[TRUST_MAX_WHO + 1]; /* "": any member */
    trust_identity peer;
    char why[512];
};

/* session.c: the judgement about a peer's certificate, for SSL_CTX_set_cert_verify_callback. */
int session_verify(X509_STORE_CTX *chain, void *of);

/* session.c: the socket as OpenSSL sees it, NULL without memory. */
BIO_METHOD *session_socket(void);

#endif
