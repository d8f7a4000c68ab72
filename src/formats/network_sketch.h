/* A network file that leaves out what is to be measured: rates, speeds, free storage, latencies. */
#ifndef EDGEPS_FORMATS_NETWORK_SKETCH_H
#define EDGEPS_FORMATS_NETWORK_SKETCH_H

#include "base/err.h"
#include "network/network.h"

#include <stdbool.h>

/* What is left out of a node. */
typedef struct network_gap {
    bool up;
    bool down;
    bool compute; /* never of a node that does not train */
    bool free;    /* never of a node that does not serve */
} network_gap;

typedef struct network_sketch {
    network *net; /* with 1 in every gap; each node is a site of its own where `latency` */
    network_gap *gaps;
    bool latency; /* nothing in the file speaks of latencies or sites */
} network_sketch;

/* Otherwise as strict as network_json_load, with the same errors. */
edgeps_err network_sketch_load(const char *path, edgeps_diag *diag, network_sketch *out);

void network_sketch_free(network_sketch *s);

#endif
