/* Certificates of one job, in one folder: its authority, and members that the authority vouches
 * for. X.509 version 3 (RFC 5280), keys on the curve P-256, signed with ECDSA and SHA-256.
 *
 *     authority.pem    certificate of the authority; everyone needs it
 *     authority.key    its key: who has it can make members; belongs on no node
 *     coordinator.pem  certificate and key of the coordinator
 *     node-NAME.pem    certificate and key of a node (trust/identity.h)
 *
 * A node needs authority.pem and its own file.
 */
#ifndef EDGEPS_TRUST_CERT_H
#define EDGEPS_TRUST_CERT_H

#include "base/err.h"
#include "trust/identity.h"

#include <stdbool.h>

#define CERT_MAX_DAYS 36500
#define CERT_EARLY_S 3600 /* valid from so long ago: clocks differ */

/* A name that no other job has; false without random bytes. */
bool cert_draw_job(char job[TRUST_MAX_JOB + 1]);

/* Makes the folder where it is missing, and the authority of `job` in it, valid for `days`. Where
 * one is already it is refused with EDGEPS_USAGE, or replaced: then no member made before counts.
 */
edgeps_err cert_make_authority(const char *folder, const char *job, int days, bool replace,
                               edgeps_diag *diag);

/* Makes certificate and key of "coordinator" or "node/NAME", valid for `days` but not longer than
 * the authority in the folder. */
edgeps_err cert_make_member(const char *folder, const char *who, int days, bool replace,
                            edgeps_diag *diag);

/* What a certificate file says. */
typedef struct cert_description {
    trust_identity id; /* of an authority, `who` is "" */
    char from[32];     /* "2026-12-02 21:00:00 UTC" */
    char until[32];
    bool in_date;
    char fingerprint[96]; /* SHA-256 of the certificate, "AB:CD:..." */
} cert_description;

/* EDGEPS_FORMAT for a file without certificate, or with one of another kind. */
edgeps_err cert_describe(const char *path, edgeps_diag *diag, cert_description *out);

#endif
