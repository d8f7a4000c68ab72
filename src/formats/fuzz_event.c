/* Foreign bytes into the event reader. Beyond "no crash": a line that is accepted writes as a line
 * that is accepted again and writes as the same bytes. */
#include "base/mem.h"
#include "formats/event_json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(int fact)
{
    if (!fact)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    meter_kept first, second;
    edgeps_diag diag = {0};
    char *line = NULL, *again = NULL;
    if (event_json_parse((const char *)bytes, count, &diag, &first)) {
        require(diag.text[0] != '\0');
        return 0;
    }
    require(event_json_text(&first.event, NULL, &line) == EDGEPS_OK);
    require(event_json_parse(line, strlen(line), NULL, &second) == EDGEPS_OK);
    require(event_json_text(&second.event, NULL, &again) == EDGEPS_OK);
    require(strcmp(line, again) == 0);
    meter_kept_free(&first);
    meter_kept_free(&second);
    mem_free(line);
    mem_free(again);
    return 0;
}
