#include "cli/check_int.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 512
#define MOST_PRINTED 10 /* findings of one code; JSON has them all */

edgeps_err check_add(check_facts *f, check_severity severity, const char *code, const char *node,
                     const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    check_finding *grown = mem_grow(f->findings, f->count + 1, sizeof *grown, &f->room);
    if (!grown)
        return EDGEPS_NOMEM;
    f->findings = grown;
    grown[f->count] = (check_finding){severity, code, node, mem_copy_text(line)};
    if (!grown[f->count].text)
        return EDGEPS_NOMEM;
    f->count++;
    f->counts[severity]++;
    return EDGEPS_OK;
}

edgeps_err check_find(const check_request *request, edgeps_diag *diag, check_facts *out)
{
    const network *net = request->net;
    check_facts f = {.network = net->name,
                     .nodes = net->count,
                     .sites = net->site_names ? net->site_count : net->count,
                     .job = request->job,
                     .least_latency_s = INFINITY};
    for (size_t i = 0; i < net->count; i++) {
        f.train += net->nodes[i].train;
        f.serve += net->nodes[i].serve;
    }
    edgeps_err err = check_paths(net, &f);
    if (!err && request->job)
        err = check_storage(request, &f);
    if (!err)
        err = check_values(net, &f);
    if (err) {
        check_free(&f);
        return diag_fail(diag, err, "no memory to check %zu nodes", net->count);
    }
    *out = f;
    return EDGEPS_OK;
}

void check_free(check_facts *f)
{
    for (size_t k = 0; k < f->count; k++)
        mem_free(f->findings[k].text);
    mem_free(f->findings);
    *f = (check_facts){.count = 0};
}

static void print_range(const char *name, quantity_kind kind, const check_range *range)
{
    char least[QUANTITY_TEXT_BYTES], median[QUANTITY_TEXT_BYTES], most[QUANTITY_TEXT_BYTES];
    if (!isfinite(range->least))
        return;
    quantity_short(kind, range->least, least);
    quantity_short(kind, range->median, median);
    quantity_short(kind, range->most, most);
    if (range->least == range->most)
        printf("  %-8s %s\n", name, least);
    else
        printf("  %-8s %s to %s, median %s\n", name, least, most, median);
}

static void print_latency(const check_facts *f)
{
    char least[QUANTITY_TEXT_BYTES], most[QUANTITY_TEXT_BYTES];
    if (!f->far_from)
        return;
    quantity_short(QUANTITY_TIME, f->least_latency_s, least);
    quantity_short(QUANTITY_TIME, f->most_latency_s, most);
    printf("  %-8s %s to %s, the most from %s to %s\n", "latency", least, most, f->far_from,
           f->far_to);
}

static void print_summary(const check_facts *f)
{
    printf("%s: %zu nodes at %zu sites; %zu train, %zu may serve\n",
           f->network ? f->network : f->source, f->nodes, f->sites, f->train, f->serve);
    print_range("up", QUANTITY_RATE, &f->up_bytes_per_s);
    print_range("down", QUANTITY_RATE, &f->down_bytes_per_s);
    print_range("compute", QUANTITY_SPEED, &f->compute_samples_per_s);
    print_range("free", QUANTITY_SIZE, &f->free_bytes);
    print_latency(f);
    printf("  %-8s in %" PRIu64 " of %" PRIu64 " directions between nodes, %" PRIu64
           " of them without a way back\n",
           "paths", f->paths, f->directions, f->one_way);
}

/* The first few of a code, and how many more there are. Findings of one code follow each other. */
static void print_findings(const check_facts *f, check_severity severity)
{
    size_t printed = 0, left = 0;
    for (size_t k = 0; k < f->count; k++) {
        const check_finding *found = &f->findings[k];
        if (found->severity != severity)
            continue;
        bool last = k + 1 == f->count || strcmp(f->findings[k + 1].code, found->code) != 0 ||
                    f->findings[k + 1].severity != severity;
        if (printed++ < MOST_PRINTED)
            printf("%s: %s\n", check_severity_name(severity), found->text);
        else
            left++;
        if (last && left)
            printf("%s: %zu more like this; --json lists all\n", check_severity_name(severity),
                   left);
        if (last)
            printed = left = 0;
    }
}

void check_print(const check_facts *f)
{
    print_summary(f);
    for (int severity = CHECK_ERROR; severity >= CHECK_HINT; severity--)
        print_findings(f, (check_severity)severity);
    printf("errors: %zu, warnings: %zu, hints: %zu\n", f->counts[CHECK_ERROR],
           f->counts[CHECK_WARNING], f->counts[CHECK_HINT]);
}
