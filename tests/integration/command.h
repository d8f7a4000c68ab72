/* Runs the program as a user does: a command line in, what it prints and how it ends out. */
#ifndef EDGEPS_TESTS_COMMAND_H
#define EDGEPS_TESTS_COMMAND_H

#include <stddef.h>
#include <sys/types.h>

typedef struct command {
    pid_t pid;
    int out;          /* its standard output and error, read end */
    char text[65536]; /* what it has printed so far, cut at the end */
    size_t length;
    int status; /* exit status; 128 + signal when it was killed */
} command;

/* Starts `edgeps` with these arguments (NULL-ended) in a process group of its own. */
void command_start(command *c, const char *const *arguments);

/* Reads its output until `words` occur in it (1), or it ends or a minute passes without them (0).
 */
int command_await(command *c, const char *words);

/* Waits for its end and takes the rest of its output. */
void command_finish(command *c);

/* All of the above at once. */
void command_run(command *c, const char *const *arguments);

/* What it printed is one line with these words in it, and this is how it ended; the test fails
 * otherwise. */
void command_expect_line(const command *c, int status, const char *words);

/* Runs it with these arguments and expects such a line. */
void command_refuses(const char *const *arguments, int status, const char *words);

/* A fresh folder under /tmp; removed with all it holds. */
void folder_make(char path[64]);
void folder_remove(const char *path);

#endif
