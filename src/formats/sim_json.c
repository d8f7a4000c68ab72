#include "formats/sim_json.h"

#include "formats/json_int.h"

/* Both return whether memory lacked. */
static bool put_times(json_t *o, const sim_json_epoch *e)
{
    return json_object_set_new(o, "begin_s", json_real(e->begin_s)) ||
           json_object_set_new(o, "train_s", json_real(e->train_s)) ||
           json_object_set_new(o, "move_s", json_real(e->move_s)) ||
           json_object_set_new(o, "wait_s", json_real(e->wait_s)) ||
           json_object_set_new(o, "lost_s", json_real(e->lost_s));
}

static bool put_epoch(json_t *epochs, const sim_json_epoch *e)
{
    json_t *o = json_object();
    bool failed = json_object_set_new(o, "epoch", json_integer(e->epoch)) || put_times(o, e);
    json_set_count(o, "generation", e->generation);
    json_set_text(o, "global", e->global);
    json_set_count(o, "locals", e->locals);
    json_set_count(o, "workers", e->workers);
    json_set_count(o, "moves", e->moves);
    json_set_count(o, "moved_bytes", (uint64_t)e->moved_bytes);
    json_set_count(o, "losses", e->losses);
    json_set_text(o, "reason", e->reason);
    return json_array_append_new(epochs, o) || failed;
}

edgeps_err sim_json_text(const sim_json_facts *f, char **text)
{
    json_t *root = json_object(), *epochs = json_array();
    bool failed = json_object_set_new(root, "edgeps", json_string("simulation/1"));
    json_set_text(root, "network", f->network);
    json_set_text(root, "model", f->job->model);
    json_set_text(root, "transfer", job_transfer_name(f->job->transfer));
    json_set_text(root, "algo", f->algorithm);
    json_set_text(root, "policy", f->policy);
    json_set_text(root, "network_model", f->model);
    json_set_count(root, "seed", f->seed);
    json_set_count(root, "max_locals", f->max_locals);
    json_set_count(root, "rounds", (uint64_t)f->rounds);
    failed |= json_object_set_new(root, "total_s", json_real(f->total_s));
    for (size_t k = 0; k < f->epoch_count; k++)
        failed |= put_epoch(epochs, &f->epochs[k]);
    failed |= json_object_set_new(root, "epochs", epochs);
    if (failed) {
        json_decref(root);
        return EDGEPS_NOMEM;
    }
    return json_take_text(root, JSON_INDENT(1), text);
}

edgeps_err sim_json_search_text(const sim_json_search *search, char **text)
{
    json_t *root = json_object();
    json_set_text(root, "edgeps", "fault-search/1");
    json_set_count(root, "seed", search->seed);
    json_set_count(root, "most_nodes", search->most_nodes);
    json_set_count(root, "most_faults", search->most_faults);
    json_set_count(root, "runs", search->runs);
    json_set_count(root, "faults", search->faults);
    if (search->broken) {
        json_t *found = json_object();
        json_set_count(found, "seed", search->found_seed);
        json_set_text(found, "broken", search->broken);
        json_set_text(found, "script", search->script);
        json_object_set_new(root, "found", found);
    }
    return json_take_text(root, JSON_INDENT(1), text);
}
