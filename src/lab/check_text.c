#include "lab/check_int.h"

#include "base/mem.h"
#include "formats/quantity.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_MOST 60 /* rows; of more only those that are off */

static const char *name(const lab_check *c, size_t node)
{
    return lab_network(c->lab)->nodes[node].name;
}

static const char *latencies_by(const lab_check *c)
{
    return lab_is_relayed(c->lab) ? "relay" : "nothing";
}

static const char *kind(const check_link *l)
{
    return l->to == LAB_HUB ? "up" : l->from == LAB_HUB ? "down" : "pair";
}

/* "up of lyon", "pair lyon -> oslo" */
static void describe(const lab_check *c, const check_link *l, char text[160])
{
    if (l->to == LAB_HUB || l->from == LAB_HUB)
        snprintf(text, 160, "%s of %s", kind(l), name(c, l->to == LAB_HUB ? l->from : l->to));
    else
        snprintf(text, 160, "pair %s -> %s", name(c, l->from), name(c, l->to));
}

static const check_link *worst_link(const lab_check *c)
{
    const check_link *worst = NULL;
    for (size_t k = 0; k < c->link_count; k++)
        if (!worst || fabs(check_link_off(&c->links[k])) > fabs(check_link_off(worst)))
            worst = &c->links[k];
    return worst;
}

/* One beyond the tolerance comes before one within. */
static const check_path *worst_path(const lab_check *c)
{
    const check_path *worst = NULL;
    for (size_t k = 0; k < c->path_count; k++) {
        const check_path *p = &c->paths[k];
        if (!worst || check_path_is_off(p) > check_path_is_off(worst) ||
            (check_path_is_off(p) == check_path_is_off(worst) &&
             fabs(check_path_off(p)) > fabs(check_path_off(worst))))
            worst = p;
    }
    return worst;
}

static const check_disk *worst_disk(const lab_check *c)
{
    const check_disk *worst = NULL;
    for (size_t k = 0; k < c->disk_count; k++)
        if (!worst || fabs(check_disk_off(&c->disks[k])) > fabs(check_disk_off(worst)))
            worst = &c->disks[k];
    return worst;
}

static const check_share *worst_share(const lab_check *c)
{
    const check_share *worst = NULL;
    for (size_t k = 0; k < c->share_count; k++)
        if (!worst || fabs(check_share_off(&c->shares[k])) > fabs(check_share_off(worst)))
            worst = &c->shares[k];
    return worst;
}

static void print_link(const lab_check *c, const check_link *l, FILE *file)
{
    char asked[QUANTITY_TEXT_BYTES], measured[QUANTITY_TEXT_BYTES], what[160];
    quantity_short(QUANTITY_RATE, l->asked_bytes_per_s, asked);
    quantity_short(QUANTITY_RATE, l->measured_bytes_per_s, measured);
    describe(c, l, what);
    fprintf(file, "  %14s %14s %+8.2f %%%c %s\n", asked, measured, 100 * check_link_off(l),
            check_link_is_off(l) ? '!' : ' ', what);
}

static void print_path(const lab_check *c, const check_path *p, FILE *file)
{
    char asked[QUANTITY_TEXT_BYTES];
    quantity_short(QUANTITY_TIME, p->asked_s, asked);
    fprintf(file, "  worst latency: %s -> %s asked %s, ", name(c, p->from), name(c, p->to), asked);
    if (isnan(p->measured_s))
        fprintf(file, "nothing arrived\n");
    else
        fprintf(file, "measured %.3f ms one way\n", 1e3 * p->measured_s);
}

static void print_limits(const lab_check *c, FILE *file)
{
    const check_disk *disk = worst_disk(c);
    const check_share *share = worst_share(c);
    fprintf(file, "  storage: %zu measured of %zu", c->disk_count, c->disks_of);
    if (disk)
        fprintf(file, ", the worst %+.2f %% off: %s", 100 * check_disk_off(disk),
                name(c, disk->node));
    fprintf(file, "\n");
    if (share)
        fprintf(file, "  compute: %zu measured of %zu, the worst %+.2f %% off: %s\n",
                c->share_count, c->shares_of, 100 * check_share_off(share), name(c, share->node));
}

void lab_check_print(const lab_check *c, FILE *file)
{
    const check_link *worst = worst_link(c);
    const check_path *far = worst_path(c);
    bool all = c->link_count <= TABLE_MOST;
    size_t paths_off = 0;
    fprintf(file, "%s; qdisc htb, congestion control " LAB_CONGESTION ", latencies by %s\n",
            c->kernel, latencies_by(c));
    fprintf(file, "  %14s %14s %10s  %s\n", "asked", "measured", "off", "link");
    for (size_t k = 0; k < c->link_count; k++)
        if (all || check_link_is_off(&c->links[k]))
            print_link(c, &c->links[k], file);
    for (size_t k = 0; k < c->path_count; k++)
        paths_off += check_path_is_off(&c->paths[k]);
    fprintf(file, "  rates: %zu measured of %zu", c->link_count, c->links_of);
    if (worst)
        fprintf(file, ", the worst %+.2f %% off", 100 * check_link_off(worst));
    fprintf(file, "\n  latencies: %zu measured of %zu, %zu of them off\n", c->path_count,
            c->paths_of, paths_off);
    if (far)
        print_path(c, far, file);
    print_limits(c, file);
}

static json_t *link_json(const lab_check *c, const check_link *l)
{
    json_t *o = json_object();
    json_object_set_new(o, "kind", json_string(kind(l)));
    if (l->from != LAB_HUB)
        json_object_set_new(o, "from", json_string(name(c, l->from)));
    if (l->to != LAB_HUB)
        json_object_set_new(o, "to", json_string(name(c, l->to)));
    json_object_set_new(o, "asked_bytes_per_s", json_real(l->asked_bytes_per_s));
    json_object_set_new(o, "measured_bytes_per_s", json_real(l->measured_bytes_per_s));
    return o;
}

static json_t *path_json(const lab_check *c, const check_path *p)
{
    json_t *o = json_object();
    json_object_set_new(o, "from", json_string(name(c, p->from)));
    json_object_set_new(o, "to", json_string(name(c, p->to)));
    json_object_set_new(o, "asked_s", json_real(p->asked_s));
    if (!isnan(p->measured_s))
        json_object_set_new(o, "measured_s", json_real(p->measured_s));
    return o;
}

static json_t *disk_json(const lab_check *c, const check_disk *d)
{
    json_t *o = json_object();
    json_object_set_new(o, "node", json_string(name(c, d->node)));
    json_object_set_new(o, "asked_bytes", json_integer(d->asked_bytes));
    json_object_set_new(o, "measured_bytes", json_integer(d->measured_bytes));
    return o;
}

static json_t *share_json(const lab_check *c, const check_share *s)
{
    json_t *o = json_object();
    json_object_set_new(o, "node", json_string(name(c, s->node)));
    json_object_set_new(o, "asked_cores", json_real(s->asked_cores));
    json_object_set_new(o, "measured_cores", json_real(s->measured_cores));
    return o;
}

edgeps_err lab_check_json(const lab_check *c, char **text)
{
    json_t *o = json_object(), *links = json_array(), *paths = json_array(), *disks = json_array(),
           *shares = json_array();
    for (size_t k = 0; k < c->link_count; k++)
        json_array_append_new(links, link_json(c, &c->links[k]));
    for (size_t k = 0; k < c->path_count; k++)
        json_array_append_new(paths, path_json(c, &c->paths[k]));
    for (size_t k = 0; k < c->disk_count; k++)
        json_array_append_new(disks, disk_json(c, &c->disks[k]));
    for (size_t k = 0; k < c->share_count; k++)
        json_array_append_new(shares, share_json(c, &c->shares[k]));
    json_object_set_new(o, "edgeps", json_string("lab-check/1"));
    json_object_set_new(o, "kernel", json_string(c->kernel));
    json_object_set_new(o, "qdisc", json_string("htb"));
    json_object_set_new(o, "congestion_control", json_string(LAB_CONGESTION));
    json_object_set_new(o, "latencies_by", json_string(latencies_by(c)));
    json_object_set_new(o, "within_tolerance", json_boolean(!lab_check_verdict(c, NULL)));
    json_object_set_new(o, "links_of", json_integer((json_int_t)c->links_of));
    json_object_set_new(o, "links", links);
    json_object_set_new(o, "paths_of", json_integer((json_int_t)c->paths_of));
    json_object_set_new(o, "paths", paths);
    json_object_set_new(o, "storage_of", json_integer((json_int_t)c->disks_of));
    json_object_set_new(o, "storage", disks);
    json_object_set_new(o, "compute_of", json_integer((json_int_t)c->shares_of));
    json_object_set_new(o, "compute", shares);
    char *dumped = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
    char *copy = dumped ? mem_copy_text(dumped) : NULL;
    free(dumped);
    json_decref(o);
    if (!copy)
        return EDGEPS_NOMEM;
    *text = copy;
    return EDGEPS_OK;
}

static edgeps_err limits_verdict(const lab_check *c, edgeps_diag *diag)
{
    const check_disk *d = worst_disk(c);
    const check_share *s = worst_share(c);
    if (d && check_disk_is_off(d))
        return diag_fail(diag, EDGEPS_INFEASIBLE,
                         "this machine does not give what the file asks: storage of %s: asked "
                         "%lld bytes, measured %lld (%+.1f %%); --force goes on all the same",
                         name(c, d->node), (long long)d->asked_bytes, (long long)d->measured_bytes,
                         100 * check_disk_off(d));
    if (s && check_share_is_off(s))
        return diag_fail(diag, EDGEPS_INFEASIBLE,
                         "this machine does not give what the file asks: compute of %s: asked "
                         "%.4f cores, measured %.4f (%+.1f %%); --force goes on all the same",
                         name(c, s->node), s->asked_cores, s->measured_cores,
                         100 * check_share_off(s));
    return EDGEPS_OK;
}

edgeps_err lab_check_verdict(const lab_check *c, edgeps_diag *diag)
{
    const check_link *l = worst_link(c);
    const check_path *p = worst_path(c);
    char what[160], asked[QUANTITY_TEXT_BYTES], measured[QUANTITY_TEXT_BYTES];
    if (l && check_link_is_off(l)) {
        describe(c, l, what);
        quantity_short(QUANTITY_RATE, l->asked_bytes_per_s, asked);
        quantity_short(QUANTITY_RATE, l->measured_bytes_per_s, measured);
        return diag_fail(diag, EDGEPS_INFEASIBLE,
                         "this machine does not give what the file asks: %s: asked %s, measured "
                         "%s (%+.1f %%); --force goes on all the same",
                         what, asked, measured, 100 * check_link_off(l));
    }
    if (limits_verdict(c, diag))
        return EDGEPS_INFEASIBLE;
    if (!p || !check_path_is_off(p))
        return EDGEPS_OK;
    quantity_short(QUANTITY_TIME, p->asked_s, asked);
    snprintf(measured, sizeof measured, "%.3f ms", 1e3 * p->measured_s);
    return diag_fail(diag, EDGEPS_INFEASIBLE,
                     "this machine does not give what the file asks: latency %s -> %s: asked %s, "
                     "%s%s; --force goes on all the same",
                     name(c, p->from), name(c, p->to), asked,
                     isnan(p->measured_s) ? "nothing arrived" : "measured ",
                     isnan(p->measured_s) ? "" : measured);
}
