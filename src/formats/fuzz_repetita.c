/* Foreign bytes into this reader of topologies. */
#include "formats/fuzz_topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    fuzz_topology(bytes, count, TOPOLOGY_REPETITA);
    return 0;
}
