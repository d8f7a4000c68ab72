#include "cli/setting.h"

#include "formats/quantity.h"

edgeps_err setting_transfer(const char *text, edgeps_diag *diag, job_transfer *out)
{
    static const char *const transfers[] = {"pipelined", "store-and-forward", NULL};
    int transfer;
    edgeps_err err = options_choice("transfer", text, transfers, diag, &transfer);
    if (!err)
        *out = (job_transfer)transfer;
    return err;
}

edgeps_err setting_read(const char *const *values, edgeps_diag *diag, setting *out)
{
    int64_t seed, locals, batch, steps, samples;
    job_transfer transfer;
    setting s = {.max_locals = 0};
    edgeps_err err = options_whole("seed", values[SETTING_SEED], 0, INT64_MAX, diag, &seed);
    if (!err)
        err = options_whole("max-locals", values[SETTING_MAX_LOCALS], 1, NETWORK_MAX_NODES, diag,
                            &locals);
    if (!err)
        err = options_whole("batch", values[SETTING_BATCH], 1, 65536, diag, &batch);
    if (!err)
        err = options_whole("local-steps", values[SETTING_LOCAL_STEPS], 1, SETTING_MOST_STEPS, diag,
                            &steps);
    if (!err)
        err =
            options_whole("samples", values[SETTING_SAMPLES], 1, INT64_C(1) << 40, diag, &samples);
    if (!err)
        err = setting_transfer(values[SETTING_TRANSFER], diag, &transfer);
    if (!err && values[SETTING_DEADLINE] &&
        quantity_parse(QUANTITY_TIME, values[SETTING_DEADLINE], diag, &s.place.deadline_s))
        err = diag_wrap(diag, EDGEPS_USAGE, "--deadline");
    if (!err)
        err = job_make(values[SETTING_MODEL], samples, batch, transfer, diag, &s.job);
    if (err)
        return err;
    s.job.local_steps = steps;
    s.max_locals = (size_t)locals;
    s.place.seed = (uint64_t)seed;
    *out = s;
    return EDGEPS_OK;
}
