#include "trust/trust_fixture.h"

#include "trust/pem_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

void trust_fixture_make(char folder[64], const char *job)
{
    static const char *const members[] = {TRUST_COORDINATOR, "node/a", "node/b"};
    edgeps_diag diag = {.text = ""};
    snprintf(folder, 64, "/tmp/edgeps-trust-XXXXXX");
    assert_non_null(mkdtemp(folder));
    edgeps_err err = cert_make_authority(folder, job, 2, false, &diag);
    for (int k = 0; !err && k < 3; k++)
        err = cert_make_member(folder, members[k], 1, false, &diag);
    if (err)
        fail_msg("%s", diag.text);
}

static void load(const char *folder, pem_pair *authority)
{
    char path[128];
    snprintf(path, sizeof path, "%s/authority.pem", folder);
    assert_int_equal(pem_read_certificate(path, NULL, &authority->certificate), EDGEPS_OK);
    snprintf(path, sizeof path, "%s/authority.key", folder);
    assert_int_equal(pem_read_key(path, NULL, &authority->key), EDGEPS_OK);
}

void trust_fixture_forge(const char *folder, const char *name, const forgery *f)
{
    char path[128], value[TRUST_MAX_URI + 8];
    pem_pair authority = {NULL, NULL};
    pem_pair made = {X509_new(), EVP_EC_gen("P-256")};
    load(folder, &authority);
    assert_int_equal(X509_set_version(made.certificate, X509_VERSION_3), 1);
    ASN1_INTEGER_set(X509_get_serialNumber(made.certificate), 7);
    X509_gmtime_adj(X509_getm_notBefore(made.certificate), f->from_s);
    X509_gmtime_adj(X509_getm_notAfter(made.certificate), f->until_s);
    X509_set_issuer_name(made.certificate, X509_get_subject_name(authority.certificate));
    X509_set_pubkey(made.certificate, made.key);
    if (f->uri) {
        snprintf(value, sizeof value, "URI:%s", f->uri);
        X509_EXTENSION *san = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, value);
        assert_non_null(san);
        assert_int_equal(X509_add_ext(made.certificate, san, -1), 1);
        X509_EXTENSION_free(san);
    }
    assert_true(X509_sign(made.certificate, authority.key, EVP_sha256()) > 0);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(pem_write(path, &made, 0600, true, NULL), EDGEPS_OK);
    pem_pair_free(&made);
    pem_pair_free(&authority);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

void trust_fixture_free(const char *folder) { nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
