#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static edgeps_err read_options(options_table table, int argc, char **argv, const char **values,
                               edgeps_diag *diag)
{
    assert(table.count < OPTIONS_MOST);
    struct option known[OPTIONS_MOST + 1] = {{0}};
    int found, help = '?', out = 0;
    for (size_t k = 0; k < table.count; k++) {
        const options_row *row = &table.rows[k];
        known[k] = (struct option){.name = row->name,
                                   .has_arg = row->argument ? required_argument : no_argument,
                                   .val = (int)k + 256};
        if (strcmp(row->name, "help") == 0)
            help = known[k].val;
        if (strcmp(row->name, "out") == 0)
            out = known[k].val;
    }
    opterr = 0;
    optind = 1;
    while ((found = getopt_long(argc, argv, out ? ":ho:" : ":h", known, NULL)) != -1) {
        const char *given = argv[optind - 1];
        if (found == ':')
            return diag_fail(diag, EDGEPS_USAGE, "%s: needs a value; see --help", given);
        if (found == 'h')
            found = help;
        if (found == 'o')
            found = out;
        if (found < 256)
            return diag_fail(diag, EDGEPS_USAGE, "%s: no such option; see --help", given);
        values[found - 256] = optarg ? optarg : "";
    }
    return EDGEPS_OK;
}

/* What getopt_long left behind, which has put it at the end. */
static edgeps_err take_operands(int argc, char **argv, int most, const char **operands,
                                edgeps_diag *diag)
{
    if (argc - optind > most)
        return diag_fail(diag, EDGEPS_USAGE, "'%s': one argument too many; see --help",
                         argv[optind + most]);
    for (int k = 0; k < most; k++)
        operands[k] = optind + k < argc ? argv[optind + k] : NULL;
    return EDGEPS_OK;
}

edgeps_err options_read(options_table table, int argc, char **argv, const char **values,
                        const char **operand, edgeps_diag *diag)
{
    edgeps_err err = read_options(table, argc, argv, values, diag);
    return err ? err : take_operands(argc, argv, 1, operand, diag);
}

edgeps_err options_read_two(options_table table, int argc, char **argv, const char **values,
                            const char *operands[2], edgeps_diag *diag)
{
    edgeps_err err = read_options(table, argc, argv, values, diag);
    return err ? err : take_operands(argc, argv, 2, operands, diag);
}

void options_fill(options_table table, const char **values)
{
    for (size_t k = 0; k < table.count; k++)
        if (!values[k])
            values[k] = table.rows[k].fallback;
}

void options_help(const char *usage, const char *purpose, options_table table)
{
    printf("usage: edgeps %s\n%s\n\n", usage, purpose);
    for (size_t k = 0; k < table.count; k++) {
        const options_row *row = &table.rows[k];
        char head[64];
        snprintf(head, sizeof head, "--%s %s", row->name, row->argument ? row->argument : "");
        printf("  %-22s %s", head, row->text);
        if (row->fallback)
            printf(" (default %s)", row->fallback);
        putchar('\n');
    }
}

edgeps_err options_cut(const char *name, const char *text, edgeps_diag *diag, options_words *out)
{
    char *rest = NULL;
    if (strlen(text) >= sizeof out->text)
        return diag_fail(diag, EDGEPS_USAGE, "--%s: is too long", name);
    snprintf(out->text, sizeof out->text, "%s", text);
    out->count = 0;
    for (char *word = strtok_r(out->text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (out->count == OPTIONS_MOST_WORDS)
            return diag_fail(diag, EDGEPS_USAGE, "--%s: at most %d", name, OPTIONS_MOST_WORDS);
        out->word[out->count++] = word;
    }
    if (out->count == 0)
        return diag_fail(diag, EDGEPS_USAGE, "--%s: is empty; see --help", name);
    return EDGEPS_OK;
}

edgeps_err options_whole(const char *name, const char *text, int64_t least, int64_t most,
                         edgeps_diag *diag, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end)
        return diag_fail(diag, EDGEPS_USAGE, "--%s: '%s' is not a whole number", name, text);
    if (errno || value < least || value > most)
        return diag_fail(diag, EDGEPS_USAGE, "--%s: %s is not within %" PRId64 " and %" PRId64,
                         name, text, least, most);
    *out = value;
    return EDGEPS_OK;
}

edgeps_err options_real(const char *name, const char *text, double least, double most,
                        edgeps_diag *diag, double *out)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end)
        return diag_fail(diag, EDGEPS_USAGE, "--%s: '%s' is not a number", name, text);
    if (!(value >= least && value <= most))
        return diag_fail(diag, EDGEPS_USAGE, "--%s: %s is not within %g and %g", name, text, least,
                         most);
    *out = value;
    return EDGEPS_OK;
}

edgeps_err options_choice(const char *name, const char *text, const char *const *choices,
                          edgeps_diag *diag, int *out)
{
    char all[256] = "";
    size_t used = 0;
    for (int k = 0; choices[k]; k++) {
        if (strcmp(choices[k], text) == 0) {
            *out = k;
            return EDGEPS_OK;
        }
        int more = snprintf(all + used, sizeof all - used, "%s%s", k ? ", " : "", choices[k]);
        used += (size_t)more < sizeof all - used ? (size_t)more : 0;
    }
    return diag_fail(diag, EDGEPS_USAGE, "--%s: '%s' is none of: %s", name, text, all);
}

void options_default_data(char *path, size_t size)
{
    const char *own = getenv("EDGEPS_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (own && own[0])
        snprintf(path, size, "%s/mnist", own);
    else if (xdg && xdg[0])
        snprintf(path, size, "%s/edgeps/mnist", xdg);
    else
        snprintf(path, size, "%s/.cache/edgeps/mnist", home ? home : ".");
}
