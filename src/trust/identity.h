/* Who a certificate says its holder is: a member of one job, either its coordinator or one of its
 * nodes. In a certificate it stands as a URI in the subjectAltName (RFC 5280, section 4.2.1.6):
 *
 *     edgeps://JOB/coordinator
 *     edgeps://JOB/node/NAME      bytes of NAME but letters, digits and "-._~" as %XX (RFC 3986)
 */
#ifndef EDGEPS_TRUST_IDENTITY_H
#define EDGEPS_TRUST_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#define TRUST_MAX_JOB 63
#define TRUST_MAX_WHO 127 /* "node/" and the longest name that a network may hold */
#define TRUST_MAX_URI 512
#define TRUST_COORDINATOR "coordinator"

/* `who` is "coordinator" or "node/NAME", NAME as in the network file. */
typedef struct trust_identity {
    char job[TRUST_MAX_JOB + 1];
    char who[TRUST_MAX_WHO + 1];
} trust_identity;

/* Writes "node/NAME"; false when the name is empty, too long or holds a control character. */
bool trust_node(const char *name, char who[TRUST_MAX_WHO + 1]);

/* Whether `text` can be a job's name: 1 to TRUST_MAX_JOB letters, digits, "-", "_" and ".". */
bool trust_is_job(const char *text);

/* The URI of a well-formed identity. */
void trust_uri(const trust_identity *id, char uri[TRUST_MAX_URI]);

/* Reads a URI of `length` bytes, from anyone; false, and `out` untouched, when it is none of the
 * above, letter by letter: each identity has one spelling. */
bool trust_read_uri(const char *uri, size_t length, trust_identity *out);

/* The file of `who` in a folder of certificates: "coordinator.pem", or "node-NAME.pem" with NAME
 * spelled as in the URI. */
void trust_file_name(const char *who, char name[TRUST_MAX_URI]);

#endif
