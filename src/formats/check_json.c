#include "formats/check_json.h"

#include "formats/json_int.h"

#include <math.h>

static const char *const severities[CHECK_SEVERITIES] = {
    [CHECK_HINT] = "hint", [CHECK_WARNING] = "warning", [CHECK_ERROR] = "error"};

const char *check_severity_name(check_severity severity) { return severities[severity]; }

static void set_range(json_t *o, const char *key, const check_range *range)
{
    if (!isfinite(range->least))
        return;
    json_t *values = json_object();
    json_object_set_new(values, "least", json_real(range->least));
    json_object_set_new(values, "median", json_real(range->median));
    json_object_set_new(values, "most", json_real(range->most));
    json_object_set_new(o, key, values);
}

static json_t *latency(const check_facts *f)
{
    json_t *o = json_object();
    json_object_set_new(o, "least", json_real(f->least_latency_s));
    json_object_set_new(o, "most", json_real(f->most_latency_s));
    json_set_text(o, "from", f->far_from);
    json_set_text(o, "to", f->far_to);
    return o;
}

static json_t *paths(const check_facts *f)
{
    json_t *o = json_object();
    json_set_count(o, "directions", f->directions);
    json_set_count(o, "paths", f->paths);
    json_set_count(o, "one_way", f->one_way);
    return o;
}

static json_t *needs(const struct job *j)
{
    json_t *o = json_object();
    json_set_text(o, "model", j->model);
    json_set_text(o, "transfer", job_transfer_name(j->transfer));
    json_set_count(o, "local_need_bytes", (uint64_t)job_local_need_bytes(j, 1));
    json_set_count(o, "global_need_bytes", (uint64_t)job_global_need_bytes(j, 1));
    return o;
}

static json_t *findings(const check_facts *f)
{
    json_t *array = json_array();
    for (size_t k = 0; k < f->count; k++) {
        const check_finding *found = &f->findings[k];
        json_t *o = json_object();
        json_set_text(o, "severity", severities[found->severity]);
        json_set_text(o, "code", found->code);
        json_set_text(o, "node", found->node);
        json_set_text(o, "text", found->text);
        json_array_append_new(array, o);
    }
    return array;
}

edgeps_err check_json_text(const check_facts *f, char **text)
{
    json_t *o = json_object();
    json_set_text(o, "edgeps", "check/1");
    json_set_text(o, "source", f->source);
    json_set_text(o, "network", f->network);
    json_set_count(o, "nodes", f->nodes);
    json_set_count(o, "train", f->train);
    json_set_count(o, "serve", f->serve);
    json_set_count(o, "sites", f->sites);
    set_range(o, "up_bytes_per_s", &f->up_bytes_per_s);
    set_range(o, "down_bytes_per_s", &f->down_bytes_per_s);
    set_range(o, "compute_samples_per_s", &f->compute_samples_per_s);
    set_range(o, "free_bytes", &f->free_bytes);
    if (f->far_from)
        json_object_set_new(o, "latency_s", latency(f));
    json_object_set_new(o, "pairs", paths(f));
    if (f->job)
        json_object_set_new(o, "job", needs(f->job));
    json_set_count(o, "errors", f->counts[CHECK_ERROR]);
    json_set_count(o, "warnings", f->counts[CHECK_WARNING]);
    json_set_count(o, "hints", f->counts[CHECK_HINT]);
    json_object_set_new(o, "findings", findings(f));
    return json_take_text(o, JSON_INDENT(1), text);
}
