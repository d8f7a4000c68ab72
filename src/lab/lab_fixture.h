/* What the tests of the lab share: small networks, and what a machine looks like from outside. */
#ifndef EDGEPS_LAB_FIXTURE_H
#define EDGEPS_LAB_FIXTURE_H

#include "lab/lab.h"

#define MBIT 125000.0 /* bytes per second */

/* A network of nodes "a", "b", ... "z", "a1", ... that all have this rate both ways. */
network *fixture_network(size_t count, double bytes_per_s);

/* A folder under /tmp that is not there yet. */
void fixture_folder(char dir[64]);

/* Makes the lab and takes hold of it. It ends with the test program at the latest, so a failed test
 * leaves none running. Where the machine forbids labs the test is skipped, with the reason. */
void fixture_up(const network *net, char dir[64], lab **out);

/* Likewise, with control groups: what a core of this machine computes, 0: none. */
void fixture_up_with(const network *net, double core_samples_per_s, char dir[64], lab **out);

/* Likewise, of any kind. */
void fixture_up_as(const network *net, const lab_options *options, char dir[64], lab **out);

/* The interfaces, mounts and control groups of the machine, as one text; the caller frees it. The
 * groups of labs are left out, as others may come and go. */
char *fixture_machine(void);

/* They are now as they were, at fixture_machine, which is freed. */
void fixture_expect_machine(char *before);

/* How many processes are in the network namespace with this number. */
size_t fixture_processes_in(ino_t network_namespace);

#endif
