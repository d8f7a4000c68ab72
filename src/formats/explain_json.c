#include "formats/explain_json.h"

#include "formats/json_int.h"

#include <math.h>

static json_t *roles(const explain_facts *f)
{
    json_t *array = json_array();
    for (size_t k = 0; k < f->role_count; k++) {
        const explain_role *r = &f->roles[k];
        json_t *o = json_object();
        json_set_text(o, "node", r->node);
        json_set_text(o, "role", r->role);
        json_set_count(o, "candidates", r->candidates);
        json_set_count(o, "not_played", r->left);
        json_set_text(o, "substitute", r->substitute);
        json_set_real(o, "substitute_s", r->substitute_s);
        json_set_real(o, "without_s", r->without_s);
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *gains(const explain_facts *f)
{
    json_t *array = json_array();
    for (size_t k = 0; k < f->gains_listed; k++) {
        const explain_gain *g = &f->gains[k];
        json_t *o = json_object();
        json_set_text(o, "node", g->node);
        json_set_text(o, "resource", g->resource);
        json_set_real(o, "gain_s", g->gain_s);
        json_set_text(o, "change", g->change);
        json_set_real(o, "replanned_s", g->replanned_s);
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *without(const explain_without *w)
{
    json_t *o = json_object();
    json_set_text(o, "node", w->node);
    json_set_text(o, "infeasible", w->reason);
    json_set_text(o, "global", w->global);
    json_set_real(o, "round_s", w->reason ? INFINITY : w->round_s);
    json_set_real(o, "epoch_s", w->reason ? INFINITY : w->epoch_s);
    return o;
}

static json_t *steps(const explain_facts *f)
{
    json_t *o = json_object();
    json_set_real(o, "rate_bytes_per_s", f->rate_bytes_per_s);
    json_set_real(o, "storage_bytes", f->storage_bytes);
    json_set_real(o, "speed_factor", f->speed_factor);
    return o;
}

edgeps_err explain_json_text(const explain_facts *f, char **text)
{
    json_t *o = json_object();
    json_set_text(o, "edgeps", "explain/1");
    json_set_text(o, "network", f->network);
    json_set_text(o, "transfer", f->transfer);
    json_set_real(o, "round_s", f->round_s);
    json_set_real(o, "epoch_s", f->epoch_s);
    json_object_set_new(o, "rounds", json_integer(f->rounds));
    json_set_text(o, "bottleneck", f->bottleneck);
    json_object_set_new(o, "servers", roles(f));
    json_object_set_new(o, "steps", steps(f));
    json_object_set_new(o, "gains", gains(f));
    json_set_count(o, "tried", f->gain_count);
    json_set_count(o, "lengthening", f->longer);
    json_set_count(o, "proved_idle", f->idle);
    json_set_count(o, "not_tried", f->left);
    json_set_real(o, "replanned_s", f->replanned_s);
    if (f->without)
        json_object_set_new(o, "without", without(f->without));
    return json_take_text(o, JSON_INDENT(1), text);
}
