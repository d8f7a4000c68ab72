#include "job/job.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIN_CHUNK_BYTES 16384
#define PIPELINE_CHUNKS 64

static const struct {
    const char *name;
    int64_t parameter_count;
} models[] = {
    {"lenet5", 61706},
    {"mlp", 101770},
    {"resnet20", 269722},
};

const char *job_model_names(void) { return "lenet5, mlp, resnet20"; }

const char *job_transfer_name(job_transfer transfer)
{
    return transfer == JOB_PIPELINED ? "pipelined" : "store-and-forward";
}

static int64_t default_chunk_bytes(int64_t parameter_count, job_transfer transfer)
{
    if (transfer == JOB_STORE_AND_FORWARD)
        return parameter_count * JOB_VALUE_BYTES;
    int64_t values = (parameter_count + PIPELINE_CHUNKS - 1) / PIPELINE_CHUNKS;
    int64_t bytes = values * JOB_VALUE_BYTES;
    return bytes > MIN_CHUNK_BYTES ? bytes : MIN_CHUNK_BYTES;
}

/* The number of parameters; 0: no such model. A known name becomes that of the table. */
static int64_t parameters_of(const char **model)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].name, *model) == 0) {
            *model = models[i].name;
            return models[i].parameter_count;
        }
    char *end;
    if (!isdigit((unsigned char)**model))
        return 0;
    errno = 0;
    long long count = strtoll(*model, &end, 10);
    return errno || *end || count > JOB_MAX_PARAMETERS ? 0 : count;
}

edgeps_err job_make(const char *model, int64_t sample_count, int64_t batch_samples,
                    job_transfer transfer, edgeps_diag *diag, job *out)
{
    if (sample_count < 1)
        return diag_fail(diag, EDGEPS_USAGE, "no training samples");
    if (batch_samples < 1)
        return diag_fail(diag, EDGEPS_USAGE, "batch: must be at least 1 sample");
    int64_t parameter_count = parameters_of(&model);
    if (!parameter_count)
        return diag_fail(diag, EDGEPS_USAGE,
                         "model '%s' is not known; choose one of: %s, or a number of parameters",
                         model, job_model_names());
    *out = (job){
        .model = model,
        .parameter_count = parameter_count,
        .sample_count = sample_count,
        .batch_samples = batch_samples,
        .local_steps = 1,
        .transfer = transfer,
        .chunk_bytes = default_chunk_bytes(parameter_count, transfer),
    };
    return EDGEPS_OK;
}

int64_t job_parameter_bytes(const job *j) { return j->parameter_count * JOB_VALUE_BYTES; }

int64_t job_chunk_count(const job *j)
{
    return (job_parameter_bytes(j) + j->chunk_bytes - 1) / j->chunk_bytes;
}

int64_t job_chunk_payload_bytes(const job *j, int64_t c)
{
    int64_t left = job_parameter_bytes(j) - c * j->chunk_bytes;
    return left < j->chunk_bytes ? left : j->chunk_bytes;
}

int64_t job_chunk_wire_bytes(const job *j, int64_t c)
{
    return job_chunk_payload_bytes(j, c) + JOB_FRAME_BYTES;
}

int64_t job_wire_bytes(const job *j)
{
    return job_parameter_bytes(j) + job_chunk_count(j) * JOB_FRAME_BYTES;
}

int64_t job_most_shards(const job *j)
{
    return j->transfer == JOB_STORE_AND_FORWARD ? j->parameter_count : job_chunk_count(j);
}

/* Where part `s` begins when `whole` is cut into parts that differ by at most one, the larger ones
 * first. */
static int64_t cut(int64_t whole, int64_t s, int64_t shards)
{
    int64_t each = whole / shards, rest = whole % shards;
    return s * each + (s < rest ? s : rest);
}

int64_t job_shard_first(const job *j, int64_t s, int64_t shards)
{
    if (j->transfer == JOB_STORE_AND_FORWARD)
        return cut(j->parameter_count, s, shards);
    int64_t first = cut(job_chunk_count(j), s, shards) * (j->chunk_bytes / JOB_VALUE_BYTES);
    return first < j->parameter_count ? first : j->parameter_count;
}

job job_shard(const job *j, int64_t s, int64_t shards)
{
    job shard = *j;
    shard.parameter_count = job_shard_first(j, s + 1, shards) - job_shard_first(j, s, shards);
    if (j->transfer == JOB_STORE_AND_FORWARD && shards > 1)
        shard.chunk_bytes = JOB_VALUE_BYTES * job_shard_first(j, 1, shards);
    return shard;
}

int64_t job_rounds(const job *j, int64_t worker_count)
{
    if (worker_count < 1)
        return 1;
    int64_t per_round = j->batch_samples * j->local_steps * worker_count;
    return (j->sample_count + per_round - 1) / per_round;
}

int64_t job_local_need_bytes(const job *j, int64_t children)
{
    return 2 * job_parameter_bytes(j) + children * j->chunk_bytes;
}

int64_t job_global_need_bytes(const job *j, int64_t children)
{
    int64_t state = job_global_state_bytes(j);
    int64_t checkpoints = (JOB_CHECKPOINTS_KEPT + 1) * (state + JOB_CHECKPOINT_EXTRA);
    return state + job_parameter_bytes(j) + children * j->chunk_bytes + checkpoints;
}

int64_t job_local_state_bytes(const job *j) { return job_parameter_bytes(j); }

int64_t job_global_state_bytes(const job *j)
{
    return (1 + JOB_OPTIMIZER_SLOTS) * job_parameter_bytes(j);
}
