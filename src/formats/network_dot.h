/* A picture of a network, or of a plan in it, in the language of Graphviz. It says which of its
 * layouts it wants, so that any of its commands draws it. */
#ifndef EDGEPS_FORMATS_NETWORK_DOT_H
#define EDGEPS_FORMATS_NETWORK_DOT_H

#include "base/err.h"
#include "network/network.h"

struct plan;
struct job;

/* With a plan the tree of its servers and workers, each edge with what it carries up and down and
 * its latency; with the job (NULL: not known) also how much storage each server takes. Without a
 * plan the nodes around their sites and what lies between these; where a way is no better than one
 * through a third place, it is left out. The caller frees `text` with mem_free. EDGEPS_NOMEM. */
edgeps_err network_dot_text(const network *net, const struct plan *pl, const struct job *j,
                            char **text);

#endif
