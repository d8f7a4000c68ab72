/* An accepted IDX file has exactly the items that it says, and none of them lies outside. */
#include "nn/dataset.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void check(const uint8_t *bytes, size_t size, int rank)
{
    edgeps_diag diag;
    size_t items, item = rank == 3 ? NN_IMAGE_VALUES : 1;
    const uint8_t *first;
    if (nn_idx_check(bytes, size, rank, &diag, &items, &first))
        return;
    if (first + items * item != bytes + size)
        abort();
    for (size_t k = 0; rank == 1 && k < items; k++)
        if (first[k] >= NN_CLASSES)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    check(bytes, count, 1);
    check(bytes, count, 3);
    return 0;
}
