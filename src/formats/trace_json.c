#include "formats/trace_json.h"

#include "formats/json_int.h"

#include <math.h>

static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *whole(size_t value) { return json_integer((json_int_t)value); }

/* Both return whether memory lacked. */
static bool put_row(json_t *rows, const trace_json_row *row)
{
    json_t *o = json_object();
    bool failed = json_object_set_new(o, "policy", json_string(row->policy)) ||
                  json_object_set_new(o, "total_s", real(row->total_s)) ||
                  json_object_set_new(o, "train_s", real(row->train_s)) ||
                  json_object_set_new(o, "move_s", real(row->move_s)) ||
                  json_object_set_new(o, "lost_s", real(row->lost_s)) ||
                  json_object_set_new(o, "changes", whole(row->changes)) ||
                  json_object_set_new(o, "moves", whole(row->moves)) ||
                  json_object_set_new(o, "moved_bytes", json_integer(row->moved_bytes)) ||
                  json_object_set_new(o, "lost_epochs", whole(row->lost_epochs)) ||
                  json_object_set_new(o, "regret_s", real(row->regret_s));
    return json_array_append_new(rows, o) || failed;
}

static bool put_facts(json_t *root, const trace_json_facts *f)
{
    return json_object_set_new(root, "edgeps", json_string("trace/1")) ||
           (f->network && json_object_set_new(root, "network", json_string(f->network))) ||
           json_object_set_new(root, "model", json_string(f->job->model)) ||
           json_object_set_new(root, "transfer",
                               json_string(job_transfer_name(f->job->transfer))) ||
           json_object_set_new(root, "algo", json_string(f->algorithm)) ||
           json_object_set_new(root, "seed", json_integer((json_int_t)f->seed)) ||
           json_object_set_new(root, "max_locals", whole(f->max_locals)) ||
           json_object_set_new(root, "epochs", whole(f->epochs)) ||
           json_object_set_new(root, "offline_exact", json_boolean(f->exact));
}

edgeps_err trace_json_text(const trace_json_facts *facts, char **text)
{
    json_t *root = json_object(), *rows = json_array();
    bool failed = put_facts(root, facts);
    for (size_t k = 0; k < facts->row_count; k++)
        failed |= put_row(rows, &facts->rows[k]);
    failed |= json_object_set_new(root, "policies", rows) != 0;
    if (failed) {
        json_decref(root);
        return EDGEPS_NOMEM;
    }
    return json_take_text(root, JSON_INDENT(4), text);
}
