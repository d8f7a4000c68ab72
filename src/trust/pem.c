#include "trust/pem_int.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void pem_pair_free(pem_pair *p)
{
    X509_free(p->certificate);
    EVP_PKEY_free(p->key);
    *p = (pem_pair){NULL, NULL};
}

static edgeps_err failure(const char *path, int error, edgeps_diag *diag)
{
    char text[128];
    edgeps_err err = error == ENOSPC || error == EDQUOT ? EDGEPS_FULL : EDGEPS_USAGE;
    if (error == EEXIST)
        return diag_fail(diag, EDGEPS_USAGE, "%s: is there already; --force replaces it", path);
    return diag_fail(diag, err, "%s: %s", path, strerror_r(error, text, sizeof text));
}

/* The certificate first: who looks for it need not know of the key. */
static bool put(BIO *out, const pem_pair *p)
{
    bool good = !p->certificate || PEM_write_bio_X509(out, p->certificate) == 1;
    return good &&
           (!p->key || PEM_write_bio_PKCS8PrivateKey(out, p->key, NULL, NULL, 0, NULL, NULL) == 1);
}

/* Fills the file and closes it; errno on failure. */
static bool fill(int fd, const pem_pair *p, mode_t mode)
{
    BIO *out = BIO_new_fd(fd, BIO_NOCLOSE);
    bool good = fchmod(fd, mode) == 0 && out && put(out, p) && fsync(fd) == 0;
    int error = errno;
    BIO_free(out);
    ERR_clear_error();
    if (close(fd) != 0 && good)
        return false;
    errno = error;
    return good;
}

edgeps_err pem_write(const char *path, const pem_pair *p, mode_t mode, bool replace,
                     edgeps_diag *diag)
{
    char place[PEM_MAX_PATH + 8];
    snprintf(place, sizeof place, "%s%s", path, replace ? ".new" : "");
    int fd = open(place, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (replace ? O_TRUNC : O_EXCL),
                  S_IRUSR | S_IWUSR);
    if (fd < 0)
        return failure(path, errno, diag);
    bool good = fill(fd, p, mode) && (!replace || rename(place, path) == 0);
    if (good)
        return EDGEPS_OK;
    int error = errno;
    unlink(place);
    return failure(path, error ? error : EIO, diag);
}

static edgeps_err open_pem(const char *path, bool secret, edgeps_diag *diag, BIO **out)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0) {
        edgeps_err err = failure(path, errno, diag);
        if (fd >= 0)
            close(fd);
        return err;
    }
    if (secret && (about.st_mode & S_IROTH)) {
        close(fd);
        return diag_fail(diag, EDGEPS_USAGE, "%s: every user can read this key; chmod 600", path);
    }
    *out = BIO_new_fd(fd, BIO_CLOSE);
    if (*out)
        return EDGEPS_OK;
    close(fd);
    return diag_fail(diag, EDGEPS_NOMEM, "%s: out of memory", path);
}

edgeps_err pem_read_certificate(const char *path, edgeps_diag *diag, X509 **out)
{
    BIO *in;
    edgeps_err err = open_pem(path, false, diag, &in);
    if (err)
        return err;
    X509 *certificate = PEM_read_bio_X509(in, NULL, NULL, NULL);
    BIO_free(in);
    ERR_clear_error();
    if (!certificate)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: holds no certificate in PEM", path);
    *out = certificate;
    return EDGEPS_OK;
}

/* Keys lie unenciphered: nobody is there to type a word when an agent starts. */
static int no_password(char *buffer, int size, int writing, void *ctx)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)ctx;
    return -1;
}

edgeps_err pem_read_key(const char *path, edgeps_diag *diag, EVP_PKEY **out)
{
    BIO *in;
    edgeps_err err = open_pem(path, true, diag, &in);
    if (err)
        return err;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, no_password, NULL);
    BIO_free(in);
    ERR_clear_error();
    if (!key)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: holds no private key in PEM without password",
                         path);
    *out = key;
    return EDGEPS_OK;
}

bool pem_identity(const X509 *certificate, trust_identity *out)
{
    int found = 0, critical = 0;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, NULL);
    for (int k = 0; k < sk_GENERAL_NAME_num(names); k++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, k);
        if (name->type != GEN_URI)
            continue;
        const ASN1_STRING *uri = name->d.uniformResourceIdentifier;
        found += trust_read_uri((const char *)ASN1_STRING_get0_data(uri),
                                (size_t)ASN1_STRING_length(uri), out);
    }
    GENERAL_NAMES_free(names);
    return found == 1;
}

void pem_time(const ASN1_TIME *time, char text[32])
{
    struct tm parts;
    if (ASN1_TIME_to_tm(time, &parts) != 1 ||
        strftime(text, 32, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        snprintf(text, 32, "?");
}
