/* What an import filled in, as JSON of version "import/1". */
#ifndef EDGEPS_FORMATS_TOPOLOGY_JSON_H
#define EDGEPS_FORMATS_TOPOLOGY_JSON_H

#include "formats/topology.h"

/* The lines of the report about `net`, which came from `source`. The caller frees `text` with
 * mem_free. EDGEPS_NOMEM. */
edgeps_err topology_report_json(const topology_report *report, const char *source,
                                const network *net, char **text);

#endif
