/* Foreign bytes into the reader of packet traces. Beyond "no crash": what the rates carry until the
 * trace is over is what its packets carry, but for the part of a byte a second that each rate
 * drops. */
#include "base/mem.h"
#include "formats/scenario_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAYLOAD_BYTES 1448

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void require(int fact)
{
    if (!fact)
        abort();
}

/* Lines, and the seconds that the last one names. */
static size_t count_packets(const char *text, double *last_s)
{
    size_t lines = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        *last_s = strtod(at, NULL) / 1000;
        lines++;
    }
    return lines;
}

static double carried_bytes(const network *net, double until_s)
{
    double sum = 0;
    for (size_t k = 0; k < net->event_count; k++) {
        const network_event *e = &net->events[k];
        double next_s = k + 1 < net->event_count ? e[1].at_s : until_s;
        require(e->node == 0 && e->change == NETWORK_UP && e->value >= 0 && next_s > e->at_s);
        sum += e->value * (next_s - e->at_s);
    }
    return sum;
}

static void check(const char *text, const network *net)
{
    double last_s = 0, all_bytes = (double)count_packets(text, &last_s) * PAYLOAD_BYTES;
    double bytes = carried_bytes(net, last_s), rounding_bytes = 1e-9 * all_bytes + 1e-6;
    require(net->event_count > 0 && net->events[0].at_s == 0);
    require(bytes <= all_bytes + rounding_bytes);
    require(bytes >= all_bytes - last_s - rounding_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    const scenario_trace once = {.node = 0, .what = NETWORK_UP, .step_s = 0.5};
    edgeps_diag diag = {.text = ""};
    char path[64], *text = mem_alloc(count + 1, 1);
    network *net = NULL;
    int file = memfd_create("trace", MFD_CLOEXEC);
    require(text && file >= 0 && network_make(1, NULL, &net) == EDGEPS_OK);
    require(write(file, bytes, count) == (ssize_t)count);
    memcpy(text, bytes, count);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (scenario_read_mahimahi(path, &once, &diag, net))
        require(diag.text[0] != '\0' && net->event_count == 0);
    else
        check(text, net);
    close(file);
    network_free(net);
    mem_free(text);
    return 0;
}
