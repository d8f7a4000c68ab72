#include "formats/plan_json.h"

#include "base/mem.h"
#include "formats/json_int.h"
#include "formats/plan_json_int.h"

#include <string.h>

#define MAX_FILE_BYTES (INT64_C(256) << 20)

static const char *const plan_keys[] = {
    "edgeps",     "algo",          "status",       "stopped", "seed",   "model",      "transfer",
    "max_locals", "global",        "generation",   "locals",  "parent", "need_bytes", "predicted",
    "reasons",    "lower_bound_s", "proved_ratio", "shards",  NULL};

static const char *name_of(const plan_json_facts *f, int32_t node)
{
    return f->network->nodes[node].name;
}

static json_t *parents(const plan_json_facts *f, const plan *pl)
{
    json_t *o = json_object();
    for (size_t i = 0; i < pl->count; i++)
        if (pl->parent[i] != PLAN_NONE)
            json_object_set_new(o, name_of(f, (int32_t)i), json_string(name_of(f, pl->parent[i])));
    return o;
}

static json_t *locals(const plan_json_facts *f, const plan *pl)
{
    json_t *array = json_array();
    for (size_t j = 0; j < pl->count; j++)
        if (plan_is_local(pl, j))
            json_array_append_new(array, json_string(name_of(f, (int32_t)j)));
    return array;
}

/* Takes what the servers of a plan of this job need to that of other shards. */
static void add_needs(const plan_json_facts *f, const plan *pl, const job *part, json_t *o)
{
    for (size_t j = 0; j < pl->count; j++) {
        const char *name = name_of(f, (int32_t)j);
        int64_t need = plan_need_bytes(pl, part, j);
        if (need)
            json_object_set_new(o, name,
                                json_integer(need + json_integer_value(json_object_get(o, name))));
    }
}

static void set_roles(const plan_json_facts *f, const plan *pl, json_t *o)
{
    json_object_set_new(o, "global", json_string(name_of(f, pl->global)));
    json_object_set_new(o, "locals", locals(f, pl));
    json_object_set_new(o, "parent", parents(f, pl));
}

/* A list of the shards' roles; their needs of storage together into `needs`. */
static json_t *shards(const plan_json_facts *f, json_t *needs)
{
    json_t *array = json_array();
    int64_t count = (int64_t)f->shard_count;
    for (int64_t s = 0; s < count; s++) {
        json_t *o = json_object(), *own = json_object();
        job part = job_shard(f->job, s, count);
        add_needs(f, &f->plan[s], &part, own);
        add_needs(f, &f->plan[s], &part, needs);
        json_object_set_new(o, "first_parameter", json_integer(job_shard_first(f->job, s, count)));
        json_object_set_new(o, "parameters", json_integer(part.parameter_count));
        set_roles(f, &f->plan[s], o);
        json_object_set_new(o, "need_bytes", own);
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *predicted(const plan_json_facts *f)
{
    json_t *o = json_object(), *phases = json_object();
    json_object_set_new(o, "round_s", json_real(f->round_s));
    json_object_set_new(o, "epoch_s", json_real(f->epoch_s));
    for (size_t k = 0; k < f->phase_count; k++)
        json_object_set_new(phases, f->phase_names[k], json_real(f->phase_s[k]));
    json_object_set_new(o, "phases", phases);
    if (f->bottleneck)
        json_object_set_new(o, "bottleneck", json_string(f->bottleneck));
    return o;
}

json_t *plan_json_object(const plan_json_facts *f)
{
    json_t *o = json_object(), *needs = json_object(), *reasons = json_array();
    json_set_text(o, "edgeps", "plan/1");
    json_set_text(o, "algo", f->algorithm);
    json_set_text(o, "status", f->status);
    json_set_text(o, "stopped", f->stopped);
    if (f->algorithm)
        json_object_set_new(o, "seed", json_integer((json_int_t)f->seed));
    json_set_text(o, "model", f->job->model);
    json_set_text(o, "transfer", job_transfer_name(f->job->transfer));
    if (f->max_locals)
        json_object_set_new(o, "max_locals", json_integer((json_int_t)f->max_locals));
    json_object_set_new(o, "generation", json_integer((json_int_t)f->plan->generation));
    if (f->shard_count > 1) {
        json_object_set_new(o, "shards", shards(f, needs));
    } else {
        set_roles(f, f->plan, o);
        add_needs(f, f->plan, f->job, needs);
    }
    json_object_set_new(o, "need_bytes", needs);
    json_object_set_new(o, "predicted", predicted(f));
    if (f->lower_bound_s > 0) {
        json_object_set_new(o, "lower_bound_s", json_real(f->lower_bound_s));
        json_object_set_new(o, "proved_ratio", json_real(f->round_s / f->lower_bound_s));
    }
    for (size_t k = 0; k < f->reason_count; k++)
        json_array_append_new(reasons, json_string(f->reasons[k]));
    json_object_set_new(o, "reasons", reasons);
    return o;
}

edgeps_err plan_json_text(const plan_json_facts *f, char **text)
{
    return json_take_text(plan_json_object(f), JSON_INDENT(1), text);
}

static edgeps_err find(const json_t *index, const json_t *name, const char *what, edgeps_diag *diag,
                       int32_t *out)
{
    if (!json_is_string(name))
        return diag_fail(diag, EDGEPS_FORMAT, "%s: must be the name of a node", what);
    const json_t *found = json_object_get(index, json_string_value(name));
    if (!found)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: no node is called '%.63s'", what,
                         json_string_value(name));
    *out = (int32_t)json_integer_value(found);
    return EDGEPS_OK;
}

static edgeps_err read_parents(const json_t *object, const json_t *index, edgeps_diag *diag,
                               plan *pl)
{
    if (!json_is_object(object))
        return diag_fail(diag, EDGEPS_FORMAT, "parent: must be an object, worker to local server");
    const char *worker;
    json_t *local;
    json_object_foreach((json_t *)object, worker, local)
    {
        const json_t *i = json_object_get(index, worker);
        if (!i)
            return diag_fail(diag, EDGEPS_FORMAT, "parent: no node is called '%.63s'", worker);
        edgeps_err err = find(index, local, "parent", diag, &pl->parent[json_integer_value(i)]);
        if (err)
            return err;
    }
    return EDGEPS_OK;
}

edgeps_err plan_json_read(const json_t *root, const json_t *index, edgeps_diag *diag, plan *pl)
{
    const json_t *generation = json_object_get(root, "generation");
    const char *version = json_string_value(json_object_get(root, "edgeps"));
    edgeps_err err = json_check_keys(root, plan_keys, diag);
    if (!err && json_object_get(root, "edgeps") && (!version || strcmp(version, "plan/1") != 0))
        err = diag_fail(diag, EDGEPS_FORMAT,
                        "edgeps: version '%.20s' is not known; this program reads \"plan/1\"",
                        version ? version : "");
    if (!err && generation && (!json_is_integer(generation) || json_integer_value(generation) < 0))
        err = diag_fail(diag, EDGEPS_FORMAT, "generation: must be a whole number from 0");
    if (!err && json_object_get(root, "shards"))
        err = diag_fail(diag, EDGEPS_FORMAT,
                        "shards: a plan in several shards does not go here; make one with "
                        "edgeps plan --shards 1");
    if (!err)
        err = find(index, json_object_get(root, "global"), "global", diag, &pl->global);
    if (!err)
        err = read_parents(json_object_get(root, "parent"), index, diag, pl);
    if (!err)
        pl->generation = (uint64_t)json_integer_value(generation);
    return err;
}

static const char *name_in(const void *p, size_t node)
{
    return ((const problem *)p)->nodes[node].name;
}

edgeps_err plan_json_parse(const char *text, size_t length, const problem *p, edgeps_diag *diag,
                           plan *out)
{
    json_t *index = NULL, *root = NULL;
    plan pl = {.global = PLAN_NONE};
    edgeps_err err = json_parse(text, length, diag, &root);
    if (!err)
        err = json_index(p, p->count, name_in, diag, &index);
    if (!err && (err = plan_make(p->count, &pl)))
        diag_fail(diag, err, "no memory for a plan");
    if (!err)
        err = plan_json_read(root, index, diag, &pl);
    json_decref(index);
    json_decref(root);
    if (err)
        plan_free(&pl);
    else
        *out = pl;
    return err;
}

edgeps_err plan_json_load(const char *path, const problem *p, edgeps_diag *diag, plan *out)
{
    char *text;
    size_t length;
    edgeps_err err = json_read_file(path, MAX_FILE_BYTES, diag, &text, &length);
    if (err)
        return err;
    err = plan_json_parse(text, length, p, diag, out);
    mem_free(text);
    return err ? diag_wrap(diag, err, "%s", path) : EDGEPS_OK;
}

static void copy_text(const json_t *root, const char *key, size_t size, char *text)
{
    const char *found = json_string_value(json_object_get(root, key));
    if (found && strlen(found) < size)
        memcpy(text, found, strlen(found) + 1);
}

edgeps_err plan_json_load_origin(const char *path, edgeps_diag *diag, plan_json_origin *out)
{
    char *text;
    size_t length;
    json_error_t at;
    plan_json_origin origin = {.max_locals = 0};
    edgeps_err err = json_read_file(path, MAX_FILE_BYTES, diag, &text, &length);
    if (err)
        return err;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
    mem_free(text);
    if (!root)
        return diag_fail(diag, EDGEPS_FORMAT, "%s: line %d, column %d: %s", path, at.line,
                         at.column, at.text);
    copy_text(root, "model", sizeof origin.model, origin.model);
    copy_text(root, "transfer", sizeof origin.transfer, origin.transfer);
    origin.max_locals = json_integer_value(json_object_get(root, "max_locals"));
    json_decref(root);
    *out = origin;
    return EDGEPS_OK;
}
