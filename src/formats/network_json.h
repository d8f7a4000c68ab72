/* The network file: JSON of version "network/1", described in docs/network-file.md. */
#ifndef EDGEPS_FORMATS_NETWORK_JSON_H
#define EDGEPS_FORMATS_NETWORK_JSON_H

#include "base/api.h"
#include "base/err.h"
#include "network/network.h"

#include <stddef.h>

EDGEPS_API_BEGIN

/* Reads a network; `source` names the text in messages. Strict: an unknown key, a wrong type, a
 * missing unit, a name used twice or not known: EDGEPS_FORMAT with "SOURCE: nodes[3] 'lyon': up:
 * ..." and the remedy; broken JSON with line and column. */
edgeps_err network_json_parse(const char *text, size_t length, const char *source,
                              edgeps_diag *diag, network **out);

/* The same from a file; EDGEPS_USAGE when it cannot be read. */
edgeps_err network_json_load(const char *path, edgeps_diag *diag, network **out);

/* The network as text that reads back equal; the caller frees it with mem_free. */
edgeps_err network_json_text(const network *net, char **text);

EDGEPS_API_END

#endif
