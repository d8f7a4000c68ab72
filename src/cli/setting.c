#include "cli/setting.h"

#include "cli/options.h"
#include "formats/quantity.h"

edgeps_err setting_read(const setting_texts *t, edgeps_diag *diag, setting *out)
{
    static const char *const transfers[] = {"pipelined", "store-and-forward", NULL};
    int64_t seed, locals, batch, samples;
    int transfer;
    setting s = {.max_locals = 0};
    edgeps_err err = options_whole("seed", t->seed, 0, INT64_MAX, diag, &seed);
    if (!err)
        err = options_whole("max-locals", t->max_locals, 1, NETWORK_MAX_NODES, diag, &locals);
    if (!err)
        err = options_whole("batch", t->batch, 1, 65536, diag, &batch);
    if (!err)
        err = options_whole("samples", t->samples, 1, INT64_C(1) << 40, diag, &samples);
    if (!err)
        err = options_choice("transfer", t->transfer, transfers, diag, &transfer);
    if (!err && t->deadline &&
        quantity_parse(QUANTITY_TIME, t->deadline, diag, &s.place.deadline_s))
        err = diag_wrap(diag, EDGEPS_USAGE, "--deadline");
    if (!err)
        err = job_make(t->model, samples, batch, (job_transfer)transfer, diag, &s.job);
    if (err)
        return err;
    s.max_locals = (size_t)locals;
    s.place.seed = (uint64_t)seed;
    *out = s;
    return EDGEPS_OK;
}
