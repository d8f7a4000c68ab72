/* Writes the small synthetic data set that the runs with faults train on. */
#include "nn/synthetic.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    edgeps_diag diag = {.text = ""};
    if (argc == 2 && nn_synthetic_write(argv[1], 2000, 2000, 7, &diag) == EDGEPS_OK)
        return 0;
    fprintf(stderr, "usage: %s FOLDER\n%s\n", argv[0], diag.text);
    return 2;
}
