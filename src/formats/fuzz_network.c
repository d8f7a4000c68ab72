/* Whatever is accepted as a network must survive being written and read again unchanged. */
#include "base/mem.h"
#include "formats/network_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    network *net, *again;
    edgeps_diag diag;
    char *text, *text_again;
    if (network_json_parse((const char *)bytes, count, "fuzz", &diag, &net))
        return 0;
    if (network_json_text(net, &text))
        abort();
    if (network_json_parse(text, strlen(text), "written", &diag, &again))
        abort();
    size_t pairs_bytes = net->site_count * net->site_count * sizeof(double);
    if (net->count != again->count || net->site_count != again->site_count ||
        net->event_count != again->event_count ||
        memcmp(net->latency_s, again->latency_s, pairs_bytes) != 0 ||
        memcmp(net->cap_bytes_per_s, again->cap_bytes_per_s, pairs_bytes) != 0)
        abort();
    /* Different values have different texts, so equal texts compare nodes and events. */
    if (network_json_text(again, &text_again) || strcmp(text, text_again) != 0)
        abort();
    mem_free(text);
    mem_free(text_again);
    network_free(net);
    network_free(again);
    return 0;
}
