#include "bench/output.h"

#include "base/filter.h"
#include "base/mem.h"

#include <string.h>

#define MOST_FIGURE_BYTES ((size_t)64 << 20)
#define DRAW "command -v gnuplot >/dev/null || exit 127; exec gnuplot"
#define NO_COMMAND 127

static FILE *open_in(const char *folder, const char *name, const char *ending)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    return fopen(path, "we");
}

static bool close_good(FILE *file)
{
    bool good = !ferror(file);
    return fclose(file) == 0 && good;
}

static bool write_text(const char *folder, const char *name, const char *ending, const char *text,
                       size_t length)
{
    FILE *file = open_in(folder, name, ending);
    if (!file)
        return false;
    bool good = fwrite(text, 1, length, file) == length;
    return close_good(file) && good;
}

bool output_sheet(const char *folder, const char *name, const sheet *s)
{
    FILE *csv = open_in(folder, name, ".csv"), *markdown = open_in(folder, name, ".md");
    if (csv)
        sheet_csv(s, csv);
    if (markdown)
        sheet_markdown(s, markdown);
    bool good = csv && close_good(csv);
    return markdown && close_good(markdown) && good;
}

bool output_figure(const char *folder, const char *name, const char *program)
{
    filter_output drawn;
    edgeps_diag diag = {.text = ""};
    if (!write_text(folder, name, ".gp", program, strlen(program)))
        return false;
    if (filter_run(DRAW, program, &(filter_limits){.most_bytes = MOST_FIGURE_BYTES}, &diag,
                   &drawn)) {
        fprintf(stderr, "edgeps bench: %s.svg is not drawn: %s\n", name, diag.text);
        return true;
    }
    bool good = true;
    if (drawn.exit_status)
        fprintf(stderr, "edgeps bench: %s.svg is not drawn: %s\n", name,
                drawn.exit_status == NO_COMMAND ? "gnuplot is not installed" : "gnuplot failed");
    else
        good = write_text(folder, name, ".svg", drawn.text, drawn.length);
    mem_free(drawn.text);
    return good;
}
