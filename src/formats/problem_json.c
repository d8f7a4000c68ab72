#include "formats/problem_json.h"

#include "formats/json_int.h"

#include <math.h>

/* A number with all its digits; what has no limit is null. */
static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *whole(int64_t value) { return json_integer((json_int_t)value); }

/* Each put_... returns whether memory lacked. */
static bool put_node(json_t *nodes, const problem_node *node)
{
    json_t *o = json_object();
    bool failed = json_object_set_new(o, "name", json_string(node->name)) ||
                  json_object_set_new(o, "train", json_boolean(node->train)) ||
                  json_object_set_new(o, "serve", json_boolean(node->serve)) ||
                  json_object_set_new(o, "up_bytes_per_s", real(node->up_bytes_per_s)) ||
                  json_object_set_new(o, "down_bytes_per_s", real(node->down_bytes_per_s)) ||
                  json_object_set_new(o, "compute_s", real(node->compute_s)) ||
                  json_object_set_new(o, "sum_bytes_per_s", real(node->sum_bytes_per_s)) ||
                  json_object_set_new(o, "free_bytes", whole(node->free_bytes)) ||
                  json_object_set_new(o, "site", whole(node->site)) ||
                  json_object_set_new(o, "access_s", real(node->access_s));
    return json_array_append_new(nodes, o) || failed;
}

static bool put_nodes(json_t *root, const problem *p)
{
    json_t *nodes = json_array();
    bool failed = false;
    for (size_t i = 0; i < p->count; i++)
        failed |= put_node(nodes, &p->nodes[i]);
    return json_object_set_new(root, "nodes", nodes) || failed;
}

static bool put_sites(json_t *root, const char *key, const double *values, size_t count)
{
    json_t *rows = json_array();
    bool failed = false;
    for (size_t a = 0; a < count; a++) {
        json_t *row = json_array();
        for (size_t b = 0; b < count; b++)
            failed |= json_array_append_new(row, real(values[a * count + b])) != 0;
        failed |= json_array_append_new(rows, row) != 0;
    }
    return json_object_set_new(root, key, rows) || failed;
}

static bool put_job(json_t *root, const job *j)
{
    json_t *o = json_object();
    bool failed = (j->model && json_object_set_new(o, "model", json_string(j->model))) ||
                  json_object_set_new(o, "transfer", json_string(job_transfer_name(j->transfer))) ||
                  json_object_set_new(o, "parameter_bytes", whole(job_parameter_bytes(j))) ||
                  json_object_set_new(o, "chunk_bytes", whole(j->chunk_bytes)) ||
                  json_object_set_new(o, "chunk_count", whole(job_chunk_count(j))) ||
                  json_object_set_new(o, "frame_bytes", whole(JOB_FRAME_BYTES));
    return json_object_set_new(root, "job", o) || failed;
}

/* Storage is a fixed part and one that grows with the children. */
static bool put_need(json_t *root, const char *key, const job *j,
                     int64_t (*need_bytes)(const job *j, int64_t children))
{
    json_t *o = json_object();
    int64_t fixed = need_bytes(j, 0);
    bool failed = json_object_set_new(o, "fixed", whole(fixed)) ||
                  json_object_set_new(o, "per_child", whole(need_bytes(j, 1) - fixed));
    return json_object_set_new(root, key, o) || failed;
}

static const char *name_of(const void *p, size_t node)
{
    return ((const problem *)p)->nodes[node].name;
}

edgeps_err problem_json_text(const problem *p, const problem_json_request *request,
                             edgeps_diag *diag, char **text)
{
    json_t *root = json_object(), *index;
    edgeps_err err = json_index(p, p->count, name_of, diag, &index);
    if (err)
        goto out;
    json_decref(index);
    bool failed = json_object_set_new(root, "edgeps", json_string("problem/1")) ||
                  json_object_set_new(root, "seed", whole((int64_t)request->seed)) ||
                  (request->deadline_s > 0 &&
                   json_object_set_new(root, "deadline_s", real(request->deadline_s))) ||
                  json_object_set_new(root, "max_locals", whole((int64_t)p->max_locals)) ||
                  json_object_set_new(root, "rounds", whole(p->rounds)) || put_job(root, &p->job) ||
                  put_need(root, "local_need_bytes", &p->job, job_local_need_bytes) ||
                  put_need(root, "global_need_bytes", &p->job, job_global_need_bytes) ||
                  put_nodes(root, p) || put_sites(root, "latency_s", p->latency_s, p->site_count) ||
                  put_sites(root, "cap_bytes_per_s", p->cap_bytes_per_s, p->site_count);
    err = failed ? EDGEPS_NOMEM : json_take_text(json_incref(root), JSON_COMPACT, text);
    if (err)
        diag_fail(diag, err, "no memory for a problem's text");
out:
    json_decref(root);
    return err;
}
