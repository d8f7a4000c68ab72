/* For tests: folders of certificates, and certificates that no edgeps would make, signed with an
 * authority's real key. */
#ifndef EDGEPS_TRUST_FIXTURE_H
#define EDGEPS_TRUST_FIXTURE_H

#include "trust/cert.h"
#include "trust/session.h"

typedef struct forgery {
    const char *uri; /* NULL: none */
    long from_s;     /* from now */
    long until_s;
} forgery;

/* A fresh folder under /tmp with an authority of `job`, a coordinator and the nodes a and b. */
void trust_fixture_make(char folder[64], const char *job);

/* Writes `folder`/`name`: a certificate of this kind and its key. */
void trust_fixture_forge(const char *folder, const char *name, const forgery *f);

void trust_fixture_free(const char *folder);

#endif
