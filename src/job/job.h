/* The training job as a value: what is trained, how it travels, how much a server must store.
 *
 * Storage needs are computed here and nowhere else: the planner asks these functions, and the
 * runtime allocates what they say. Sizes are bytes in 64 bits.
 *
 * The two transfer disciplines differ only in the size of a chunk. A server passes a chunk on when
 * all its children have delivered it; store-and-forward is the case of a single chunk.
 */
#ifndef EDGEPS_JOB_JOB_H
#define EDGEPS_JOB_JOB_H

#include "base/api.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

EDGEPS_API_BEGIN

#define JOB_VALUE_BYTES 4          /* parameters and gradients are float32 */
#define JOB_OPTIMIZER_SLOTS 1      /* SGD with momentum keeps one value per parameter */
#define JOB_CHECKPOINTS_KEPT 2     /* generations of checkpoints on the global server */
#define JOB_CHECKPOINT_EXTRA 16384 /* room for a checkpoint's header and record */
#define JOB_FRAME_BYTES 64         /* header in front of each chunk; wire asserts that it agrees */
#define JOB_MAX_CHUNKS 65535
#define JOB_MAX_PARAMETERS (INT64_C(1) << 40)

typedef enum job_transfer { JOB_PIPELINED, JOB_STORE_AND_FORWARD } job_transfer;

typedef struct job {
    const char *model; /* name in the table of models, or what job_make was told; not owned */
    int64_t parameter_count;
    int64_t sample_count;  /* training samples of all workers together */
    int64_t batch_samples; /* samples of an average worker in a step */
    int64_t local_steps;   /* of SGD that a worker makes in a round, at least 1 */
    job_transfer transfer;
    int64_t chunk_bytes; /* payload of a chunk, a multiple of JOB_VALUE_BYTES */
} job;

/* A job that trains the model called `model` ("lenet5", "mlp", "resnet20"), or one of which the
 * number of parameters is all that is known ("1000000"), on `sample_count` samples, with one step a
 * round; `model` is lent. The chunk size follows from model and discipline: pipelined, the larger
 * of 16 KiB and a 64th of the gradient. EDGEPS_USAGE names the known models when `model` is none of
 * them. */
edgeps_err job_make(const char *model, int64_t sample_count, int64_t batch_samples,
                    job_transfer transfer, edgeps_diag *diag, job *out);

/* The names of the models, separated by ", ". */
const char *job_model_names(void);

const char *job_transfer_name(job_transfer transfer);

/* Bytes of the flat parameter vector, and so of a gradient. */
int64_t job_parameter_bytes(const job *j);

int64_t job_chunk_count(const job *j);

/* Payload bytes of chunk `c`; the last may be shorter. */
int64_t job_chunk_payload_bytes(const job *j, int64_t c);

/* Bytes of chunk `c` on the wire, header included. */
int64_t job_chunk_wire_bytes(const job *j, int64_t c);

/* Bytes that one push, and likewise one pull, puts on the wire in a round. */
int64_t job_wire_bytes(const job *j);

/* Most shards that the parameters can be cut into. */
int64_t job_most_shards(const job *j);

/* The job of one shard, 0 <= s < shards <= job_most_shards: a contiguous range of the parameters.
 * Pipelined, shards are whole chunks, and their sizes differ by at most one; store-and-forward,
 * each shard is one chunk, and their sizes differ by at most one value. Receive buffers (and so
 * chunk_bytes) are the same for all shards of a job. One shard of one is the job itself. */
job job_shard(const job *j, int64_t s, int64_t shards);

/* The first parameter of the shard; that of shard `shards` ends the last one. */
int64_t job_shard_first(const job *j, int64_t s, int64_t shards);

/* Rounds in an epoch when `worker_count` workers share the samples; at least 1. */
int64_t job_rounds(const job *j, int64_t worker_count);

/* Bytes a local server with `children` workers needs: parameters, accumulator, and a chunk of
 * receive buffer per child. */
int64_t job_local_need_bytes(const job *j, int64_t children);

/* Bytes the global server of `children` local servers needs: parameters, accumulator, optimizer
 * slots, a chunk of receive buffer per child, and the checkpoints it keeps (each of parameters and
 * slots) plus the one being written. */
int64_t job_global_need_bytes(const job *j, int64_t children);

/* Bytes that travel when a server moves: parameters, and for the global server its slots. */
int64_t job_local_state_bytes(const job *j);
int64_t job_global_state_bytes(const job *j);

EDGEPS_API_END

#endif
