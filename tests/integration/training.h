/* `edgeps run` of a small job: a few nodes and a synthetic data set in a folder of their own, and
 * what its output must show. */
#ifndef EDGEPS_TESTS_TRAINING_H
#define EDGEPS_TESTS_TRAINING_H

#include "integration/command.h"

/* The folder, and in it the data, the run's folder and the network file. */
extern char run_dir[64], run_data[96], run_out[96], run_network[96];

/* cmocka's: makes folder and data; removes them. */
int run_set_up(void **state);
int run_tear_down(void **state);

/* A path in the folder. */
void run_path(char path[96], const char *name);

/* Writes the network file: nodes a, b, ... with these rates both ways, and a scenario's events. */
void run_write_nodes(const int *mbit_per_s, int count, const char *scenario);

/* Four nodes; b is the best connected one and so becomes the global and the only local server. */
void run_write_network(const char *scenario);

/* Starts the run with further options, NULL-ended. */
void run_start(command *c, const char *const *more);

void run_expect(const command *c, const char *words);
void run_expect_status(const command *c, int status);
void run_expect_epochs(const command *c, int epochs);
void run_expect_nobody_left(const command *c); /* of its processes */

/* As the summary tells it, a fraction. */
double run_accuracy(const command *c);

#endif
