/* Foreign bytes as the URI of an identity. Beyond "no crash": what is accepted spells to the very
 * same bytes. */
#include "trust/identity.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    trust_identity id;
    char again[TRUST_MAX_URI];
    if (!trust_read_uri((const char *)bytes, count, &id))
        return 0;
    trust_uri(&id, again);
    if (strlen(again) != count || memcmp(again, bytes, count) != 0)
        abort();
    return 0;
}
