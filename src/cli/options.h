/* Long options of a subcommand, kept as texts, and their reading into values. Every refusal is one
 * line that names the option. */
#ifndef EDGEPS_CLI_OPTIONS_H
#define EDGEPS_CLI_OPTIONS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_MOST 64

typedef struct options_row {
    const char *name;
    const char *argument; /* its name in the help; NULL: a switch, whose value is then "" */
    const char *fallback; /* NULL: none */
    const char *text;
    bool kept; /* written to the run folder, for --resume */
} options_row;

typedef struct options_table {
    const options_row *rows;
    size_t count; /* below OPTIONS_MOST */
} options_table;

/* Reads the command line after the subcommand's name (argv[0]): values[k] is the text of rows[k],
 * NULL where it was not given. At most one argument that is no option goes to `operand`, or two
 * to `operands`; NULL where there are fewer. Texts lend from argv. EDGEPS_USAGE otherwise. */
edgeps_err options_read(options_table table, int argc, char **argv, const char **values,
                        const char **operand, edgeps_diag *diag);

edgeps_err options_read_two(options_table table, int argc, char **argv, const char **values,
                            const char *operands[2], edgeps_diag *diag);

/* Gives the options that were not given their fallbacks, where they have some. */
void options_fill(options_table table, const char **values);

/* Prints "usage: edgeps <usage>", what it does, and a line per option. */
void options_help(const char *usage, const char *purpose, options_table table);

#define OPTIONS_MOST_WORDS 32

/* The parts of a value that are separated by commas. */
typedef struct options_words {
    char text[8192]; /* holds them */
    const char *word[OPTIONS_MOST_WORDS];
    size_t count;
} options_words;

/* At least one; EDGEPS_USAGE for none, too many or too long ones. */
edgeps_err options_cut(const char *name, const char *text, edgeps_diag *diag, options_words *out);

edgeps_err options_whole(const char *name, const char *text, int64_t least, int64_t most,
                         edgeps_diag *diag, int64_t *out);
edgeps_err options_real(const char *name, const char *text, double least, double most,
                        edgeps_diag *diag, double *out);

/* The index of `text` in the NULL-ended list. */
edgeps_err options_choice(const char *name, const char *text, const char *const *choices,
                          edgeps_diag *diag, int *out);

/* The folder that ./dev setup fetches MNIST into: EDGEPS_CACHE, else XDG_CACHE_HOME/edgeps, else
 * ~/.cache/edgeps, and in it mnist. */
void options_default_data(char *path, size_t size);

#endif
