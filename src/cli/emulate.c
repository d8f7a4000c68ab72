#include "cli/emulate.h"

#include "base/log.h"
#include "base/mem.h"
#include "cli/topo.h"
#include "lab/check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct emulation {
    char dir[4096];
    lab *lab;
    size_t count;
    char (*addresses)[LAB_ADDRESS_BYTES];
    const char **address_of;
    char (*folders)[LAB_PATH_BYTES];
    const char **storage_of;
    launch_world world;
    char hub[LAB_ADDRESS_BYTES];
};

static edgeps_err list_nodes(emulation *e, edgeps_diag *diag)
{
    e->addresses = mem_alloc(e->count, sizeof *e->addresses);
    e->address_of = mem_alloc(e->count, sizeof *e->address_of);
    e->folders = mem_alloc(e->count, sizeof *e->folders);
    e->storage_of = mem_alloc(e->count, sizeof *e->storage_of);
    if (!e->addresses || !e->address_of || !e->folders || !e->storage_of)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for %zu nodes", e->count);
    for (size_t i = 0; i < e->count; i++) {
        lab_address(i, e->addresses[i]);
        e->address_of[i] = e->addresses[i];
        lab_inner_storage(e->lab, i, e->folders[i]);
        e->storage_of[i] = e->folders[i];
    }
    lab_control_address(LAB_HUB, e->hub);
    return EDGEPS_OK;
}

static edgeps_err measure(const emulation *e, const char *out_dir, bool force, edgeps_diag *diag)
{
    char path[4096], *text = NULL;
    lab_check check;
    edgeps_err err = lab_check_run(e->lab, diag, &check);
    if (err)
        return err;
    if (lab_check_json(&check, &text))
        err = diag_fail(diag, EDGEPS_NOMEM, "no memory for what was measured");
    snprintf(path, sizeof path, "%s/lab-check.json", out_dir);
    if (!err)
        err = topo_write(text, path, diag);
    if (!err && !force)
        err = lab_check_verdict(&check, diag);
    mem_free(text);
    lab_check_free(&check);
    return err;
}

static edgeps_err make_lab(emulation *e, const network *net, const emulation_options *options,
                           edgeps_diag *diag)
{
    char whole[2][PATH_MAX];
    const char *folders[3] = {NULL};
    for (size_t k = 0, count = 0; k < 2 && options->folders[k]; k++)
        if (realpath(options->folders[k], whole[count])) {
            folders[count] = whole[count];
            count++;
        }
    double core = options->core_samples_per_s;
    edgeps_err err = core > 0 ? lab_fits(net, core, diag) : EDGEPS_OK;
    if (err)
        return err;
    if (core > 0 && geteuid() != 0)
        log_line(LOG_INFO, "control groups are root's to make; agents keep to their shares of a "
                           "core by waiting");
    const lab_options made = {.tied = true,
                              .core_samples_per_s = geteuid() == 0 ? core : 0,
                              .backend = options->docker ? LAB_DOCKER : LAB_NETNS,
                              .own_dockerd = options->own_dockerd,
                              .folders = folders};
    err = lab_up(net, e->dir, &made, diag);
    return err ? err : lab_open(e->dir, diag, &e->lab);
}

edgeps_err emulation_begin(const network *net, const char *out_dir,
                           const emulation_options *options, edgeps_diag *diag, emulation **out)
{
    emulation *e = mem_alloc(1, sizeof *e);
    if (!e)
        return diag_fail(diag, EDGEPS_NOMEM, "no memory for a lab");
    e->count = net->count;
    snprintf(e->dir, sizeof e->dir, "%s/lab", out_dir);
    edgeps_err err = make_lab(e, net, options, diag);
    if (!err)
        err = list_nodes(e, diag);
    if (!err && !options->no_check)
        err = measure(e, out_dir, options->force, diag);
    if (!err)
        err = lab_enter(e->lab, LAB_HUB, diag);
    if (err)
        emulation_end(e);
    else
        *out = e;
    return err;
}

static int birthplace(void *context, size_t index)
{
    const emulation *e = context;
    return lab_birthplace(e->lab, index);
}

static bool settle(void *context, size_t index)
{
    const emulation *e = context;
    return lab_settle(e->lab, index, NULL) == EDGEPS_OK;
}

void emulation_place(emulation *e, launch *l)
{
    e->world = (launch_world){.birthplace = birthplace, .settle = settle, .context = e};
    launch_into(l, &e->world);
}

void emulation_describe(const emulation *e, host_options *options)
{
    options->address = e->hub;
    options->node_addresses = e->address_of;
    options->node_storage = e->storage_of;
}

edgeps_err emulation_change(emulation *e, const network_event *event, edgeps_diag *diag)
{
    return lab_change(e->lab, event, diag);
}

void emulation_end(emulation *e)
{
    if (!e)
        return;
    if (e->lab)
        lab_down(e->dir, NULL);
    lab_close(e->lab);
    mem_free(e->addresses);
    mem_free(e->address_of);
    mem_free(e->folders);
    mem_free(e->storage_of);
    mem_free(e);
}
