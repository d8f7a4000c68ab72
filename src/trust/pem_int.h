/* Certificates and keys in PEM files (RFC 7468). Private to trust. */
#ifndef EDGEPS_TRUST_PEM_INT_H
#define EDGEPS_TRUST_PEM_INT_H

#include "base/err.h"
#include "trust/identity.h"

#include <openssl/x509.h>
#include <stdbool.h>
#include <sys/types.h>

#define PEM_MAX_PATH 4600

typedef struct pem_pair {
    X509 *certificate;
    EVP_PKEY *key;
} pem_pair;

void pem_pair_free(pem_pair *p);

/* Writes what is there of a pair, the certificate first, with `mode`. An existing file is refused
 * (EDGEPS_USAGE), or with `replace` it stays whole until the new one is. */
edgeps_err pem_write(const char *path, const pem_pair *p, mode_t mode, bool replace,
                     edgeps_diag *diag);

/* The first certificate of a file, and its first private key where `key` is wanted; a key that
 * every user of the host can read is refused. EDGEPS_FORMAT in one line that names the file. */
edgeps_err pem_read_certificate(const char *path, edgeps_diag *diag, X509 **out);
edgeps_err pem_read_key(const char *path, edgeps_diag *diag, EVP_PKEY **out);

/* The one identity that a certificate bears; false when it bears none or several. */
bool pem_identity(const X509 *certificate, trust_identity *out);

/* "2026-12-02 21:00:00 UTC", or "?". */
void pem_time(const ASN1_TIME *time, char text[32]);

#endif
