/* Writes the small synthetic data set that the runs with faults train on. */
#include "nn/synthetic.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    edgeps_diag diag = {.text = ""};
    size_t test_images = argc == 3 ? strtoul(argv[2], NULL, 10) : 2000;
    if (argc > 1 && nn_synthetic_write(argv[1], 2000, test_images, 7, &diag) == EDGEPS_OK)
        return 0;
    fprintf(stderr, "usage: %s FOLDER [TEST_IMAGES]\n%s\n", argv[0], diag.text);
    return 2;
}
