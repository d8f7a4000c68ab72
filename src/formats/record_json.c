#include "formats/record_json.h"

#include "base/mem.h"
#include "formats/json_int.h"
#include "formats/plan_json_int.h"
#include "network/network.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define JOB_DIGITS 16

edgeps_err record_json_text(const record_json *r, const plan_json_facts *facts, char **text)
{
    char digits[JOB_DIGITS + 1];
    json_t *o = json_object();
    snprintf(digits, sizeof digits, "%016" PRIx64, r->job); /* JSON's integers have 63 bits */
    json_set_text(o, "edgeps", "record/1");
    json_set_text(o, "job", digits);
    if (r->standby != PLAN_NONE)
        json_set_text(o, "standby", facts->network->nodes[r->standby].name);
    json_object_set_new(o, "plan", plan_json_object(facts));
    return json_take_text(o, JSON_INDENT(1), text);
}

static edgeps_err read_head(const json_t *root, const json_t *index, edgeps_diag *diag,
                            record_json *r)
{
    static const char *const keys[] = {"edgeps", "job", "standby", "plan", NULL};
    const char *version = json_string_value(json_object_get(root, "edgeps"));
    const char *digits = json_string_value(json_object_get(root, "job"));
    const json_t *standby = json_object_get(root, "standby");
    char *end = "?";
    edgeps_err err = json_check_keys(root, keys, diag);
    if (err)
        return err;
    if (!version || strcmp(version, "record/1") != 0)
        return diag_fail(diag, EDGEPS_FORMAT,
                         "edgeps: version '%.20s' is not known; this program reads \"record/1\"",
                         version ? version : "");
    if (digits && strlen(digits) == JOB_DIGITS)
        r->job = strtoull(digits, &end, 16);
    if (*end)
        return diag_fail(diag, EDGEPS_FORMAT, "job: must be 16 hexadecimal digits");
    const char *name = json_string_value(standby);
    const json_t *node = name ? json_object_get(index, name) : NULL;
    if (standby && !node)
        return diag_fail(diag, EDGEPS_FORMAT, "standby: must be the name of a node");
    r->standby = node ? (int32_t)json_integer_value(node) : PLAN_NONE;
    return EDGEPS_OK;
}

static const char *name_in(const void *net, size_t node)
{
    return ((const network *)net)->nodes[node].name;
}

edgeps_err record_json_parse(const char *text, size_t length, const network *net, edgeps_diag *diag,
                             record_json *out)
{
    json_t *index = NULL, *root = NULL;
    record_json r = {.plan.global = PLAN_NONE};
    edgeps_err err = json_parse(text, length, diag, &root);
    if (!err)
        err = json_index(net, net->count, name_in, diag, &index);
    if (!err)
        err = read_head(root, index, diag, &r);
    if (!err && (err = plan_make(net->count, &r.plan)))
        diag_fail(diag, err, "no memory for a plan");
    const json_t *body = json_object_get(root, "plan");
    if (!err)
        err = plan_json_read(body, index, diag, &r.plan);
    r.round_s = json_number_value(json_object_get(json_object_get(body, "predicted"), "round_s"));
    json_decref(index);
    json_decref(root);
    if (err)
        plan_free(&r.plan);
    else
        *out = r;
    return err;
}
