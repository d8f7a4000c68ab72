/* A line of a scenario, for other readers of this room. */
#ifndef EDGEPS_FORMATS_NETWORK_JSON_INT_H
#define EDGEPS_FORMATS_NETWORK_JSON_INT_H

#include "network/network.h"

#include <jansson.h>

/* As in the "scenario" of a network file. EDGEPS_FORMAT names the key. */
edgeps_err network_json_event(const json_t *object, const network *net, network_event *event,
                              edgeps_diag *diag);

#endif
