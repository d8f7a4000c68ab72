#include "trust/cert.h"

#include "trust/pem_int.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SERIAL_BITS 159 /* positive in 20 bytes, RFC 5280, section 4.1.2.2 */
#define SECRET (S_IRUSR | S_IWUSR)
#define PUBLIC (SECRET | S_IRGRP | S_IROTH)

static edgeps_err out_of_crypto(edgeps_diag *diag, const char *path)
{
    ERR_clear_error();
    return diag_fail(diag, EDGEPS_INTERNAL, "%s: the certificate could not be made", path);
}

static bool set_serial(X509 *x)
{
    BIGNUM *number = BN_new();
    bool good = number && BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
                BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x)) != NULL;
    BN_free(number);
    return good;
}

static bool set_times(X509 *x, int days, const X509 *issuer)
{
    if (!X509_gmtime_adj(X509_getm_notBefore(x), -CERT_EARLY_S) ||
        !X509_time_adj_ex(X509_getm_notAfter(x), days, 0, NULL))
        return false;
    const ASN1_TIME *most = issuer ? X509_get0_notAfter(issuer) : NULL;
    return !most || ASN1_TIME_compare(X509_get0_notAfter(x), most) <= 0 ||
           X509_set1_notAfter(x, most) == 1;
}

static bool set_subject(X509 *x, const char *job, const char *common)
{
    X509_NAME *name = X509_get_subject_name(x);
    return X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const unsigned char *)job, -1, -1,
                                      0) == 1 &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common, -1,
                                      -1, 0) == 1;
}

static bool add(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool good = extension && X509_add_ext(x, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return good;
}

static bool add_authority(X509 *x)
{
    return add(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           add(x, x, NID_subject_key_identifier, "hash");
}

static bool add_member(X509 *x, X509 *issuer, const trust_identity *id)
{
    char uri[TRUST_MAX_URI], value[TRUST_MAX_URI + 8];
    trust_uri(id, uri);
    snprintf(value, sizeof value, "URI:%s", uri);
    return add(x, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
           add(x, issuer, NID_key_usage, "critical,digitalSignature") &&
           add(x, issuer, NID_ext_key_usage, "serverAuth,clientAuth") &&
           add(x, issuer, NID_subject_key_identifier, "hash") &&
           add(x, issuer, NID_authority_key_identifier, "keyid:always") &&
           add(x, issuer, NID_subject_alt_name, value);
}

/* Makes key and certificate, signed by `by`, or by itself for an authority. */
static bool make_pair(const trust_identity *id, int days, const pem_pair *by, pem_pair *out)
{
    out->key = EVP_EC_gen("P-256");
    out->certificate = X509_new();
    X509 *x = out->certificate, *issuer = by ? by->certificate : x;
    if (!out->key || !x || X509_set_version(x, X509_VERSION_3) != 1 || !set_serial(x) ||
        !set_times(x, days, by ? issuer : NULL) || X509_set_pubkey(x, out->key) != 1 ||
        !set_subject(x, id->job, by ? id->who : "authority") ||
        X509_set_issuer_name(x, X509_get_subject_name(issuer)) != 1)
        return false;
    return (by ? add_member(x, issuer, id) : add_authority(x)) &&
           X509_sign(x, by ? by->key : out->key, EVP_sha256()) != 0;
}

static void path_in(const char *folder, const char *name, char path[PEM_MAX_PATH])
{
    snprintf(path, PEM_MAX_PATH, "%s/%s", folder, name);
}

static edgeps_err check_folder(const char *folder, edgeps_diag *diag)
{
    if (strlen(folder) + TRUST_MAX_URI >= PEM_MAX_PATH)
        return diag_fail(diag, EDGEPS_USAGE, "%.60s...: the path is too long", folder);
    return EDGEPS_OK;
}

bool cert_draw_job(char job[TRUST_MAX_JOB + 1])
{
    uint64_t number;
    if (RAND_bytes((unsigned char *)&number, sizeof number) != 1)
        return false;
    snprintf(job, TRUST_MAX_JOB + 1, "job-%016" PRIx64, number);
    return true;
}

edgeps_err cert_make_authority(const char *folder, const char *job, int days, bool replace,
                               edgeps_diag *diag)
{
    char path[PEM_MAX_PATH], key_path[PEM_MAX_PATH];
    trust_identity id = {.who = ""};
    pem_pair pair = {NULL, NULL};
    edgeps_err err = check_folder(folder, diag);
    if (err)
        return err;
    if (!trust_is_job(job))
        return diag_fail(diag, EDGEPS_USAGE,
                         "job '%s': 1 to %d letters, digits, '-', '_' and '.' make a name", job,
                         TRUST_MAX_JOB);
    snprintf(id.job, sizeof id.job, "%s", job);
    path_in(folder, "authority.pem", path);
    path_in(folder, "authority.key", key_path);
    if (mkdir(folder, S_IRWXU) != 0 && errno != EEXIST)
        return diag_fail(diag, EDGEPS_USAGE, "%s: %s", folder, strerror(errno));
    if (!make_pair(&id, days, NULL, &pair))
        err = out_of_crypto(diag, path);
    if (!err)
        err = pem_write(key_path, &(pem_pair){NULL, pair.key}, SECRET, replace, diag);
    if (!err)
        err = pem_write(path, &(pem_pair){pair.certificate, NULL}, PUBLIC, replace, diag);
    pem_pair_free(&pair);
    return err;
}

/* The authority of a folder with its key. */
static edgeps_err load_authority(const char *folder, edgeps_diag *diag, pem_pair *out)
{
    char path[PEM_MAX_PATH];
    path_in(folder, "authority.pem", path);
    edgeps_err err = pem_read_certificate(path, diag, &out->certificate);
    if (err)
        return err;
    path_in(folder, "authority.key", path);
    err = pem_read_key(path, diag, &out->key);
    if (!err && X509_check_private_key(out->certificate, out->key) != 1) {
        ERR_clear_error();
        err = diag_fail(diag, EDGEPS_FORMAT, "%s: is not the key of authority.pem beside it", path);
    }
    return err;
}

/* The job that an authority is for; false when it is none of ours. */
static bool job_of(const X509 *authority, char job[TRUST_MAX_JOB + 1])
{
    char text[TRUST_MAX_JOB + 2];
    const X509_NAME *name = X509_get_subject_name(authority);
    int length = X509_NAME_get_text_by_NID(name, NID_organizationName, text, sizeof text);
    if (length <= 0 || strlen(text) != (size_t)length || !trust_is_job(text))
        return false;
    snprintf(job, TRUST_MAX_JOB + 1, "%s", text);
    return true;
}

edgeps_err cert_make_member(const char *folder, const char *who, int days, bool replace,
                            edgeps_diag *diag)
{
    char name[TRUST_MAX_URI], path[PEM_MAX_PATH];
    trust_identity id = {.job = ""};
    pem_pair authority = {NULL, NULL}, pair = {NULL, NULL};
    edgeps_err err = check_folder(folder, diag);
    if (!err)
        err = load_authority(folder, diag, &authority);
    if (!err && !job_of(authority.certificate, id.job))
        err = diag_fail(diag, EDGEPS_FORMAT, "%s/authority.pem: is no authority of a job", folder);
    if (!err) {
        snprintf(id.who, sizeof id.who, "%s", who);
        trust_file_name(who, name);
        path_in(folder, name, path);
        if (!make_pair(&id, days, &authority, &pair))
            err = out_of_crypto(diag, path);
    }
    if (!err)
        err = pem_write(path, &pair, SECRET, replace, diag);
    pem_pair_free(&pair);
    pem_pair_free(&authority);
    return err;
}

static bool take_fingerprint(const X509 *x, char text[96])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    if (X509_digest(x, EVP_sha256(), digest, &length) != 1)
        return false;
    for (unsigned int k = 0; k < length; k++)
        snprintf(text + 3 * k, 96 - 3 * (size_t)k, k + 1 < length ? "%02X:" : "%02X", digest[k]);
    return true;
}

edgeps_err cert_describe(const char *path, edgeps_diag *diag, cert_description *out)
{
    X509 *x = NULL;
    cert_description d = {.in_date = false};
    edgeps_err err = pem_read_certificate(path, diag, &x);
    if (err)
        return err;
    bool ours = pem_identity(x, &d.id) || (X509_check_ca(x) > 0 && job_of(x, d.id.job));
    if (ours && take_fingerprint(x, d.fingerprint)) {
        pem_time(X509_get0_notBefore(x), d.from);
        pem_time(X509_get0_notAfter(x), d.until);
        d.in_date = X509_cmp_current_time(X509_get0_notBefore(x)) < 0 &&
                    X509_cmp_current_time(X509_get0_notAfter(x)) > 0;
        *out = d;
    } else {
        err = diag_fail(diag, EDGEPS_FORMAT, "%s: names no member and no authority of a job", path);
    }
    X509_free(x);
    ERR_clear_error();
    return err;
}
