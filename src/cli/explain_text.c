#include "cli/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

static int widest(const explain_facts *f)
{
    size_t width = strlen("server");
    for (size_t k = 0; k < f->role_count; k++)
        if (strlen(f->roles[k].node) > width)
            width = strlen(f->roles[k].node);
    return (int)width;
}

/* "0.0911 s (+17.4 %)" */
static void round_text(const explain_facts *f, double round_s, char *text, size_t size)
{
    if (isfinite(round_s))
        snprintf(text, size, "%.4g s (%+.1f %%)", round_s, percent(round_s / f->round_s - 1, 1));
    else
        snprintf(text, size, "no room");
}

static void print_roles(const explain_facts *f)
{
    int width = widest(f);
    printf("%-*s  %-6s  %-22s  best other node\n", width, "server", "role", "round without it");
    for (size_t k = 0; k < f->role_count; k++) {
        const explain_role *r = &f->roles[k];
        char without[48] = "-", other[48];
        if (strcmp(r->role, "local") == 0)
            round_text(f, r->without_s, without, sizeof without);
        printf("%-*s  %-6s  %-22s  ", width, r->node, r->role, without);
        if (!r->substitute) {
            printf("none can take the role\n");
            continue;
        }
        round_text(f, r->substitute_s, other, sizeof other);
        printf("%s of %zu: %s", r->substitute, r->candidates, other);
        if (r->left > 0)
            printf("; %zu not played", r->left);
        putchar('\n');
    }
}

/* "up link of south", "free storage of birch" */
static void resource_text(const explain_gain *g, char *text, size_t size)
{
    static const char *const names[][2] = {
        {"up", "up link"},           {"down", "down link"},       {"compute", "gradient work"},
        {"sum", "adding gradients"}, {"storage", "free storage"},
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(g->resource, names[k][0]) == 0)
            snprintf(text, size, "%s of %s", names[k][1], g->node);
}

static void print_steps(const explain_facts *f)
{
    printf(
        "\none change at a time: a link %.4g MB/s more, work %.4g times as fast, storage %.4g MiB "
        "more\n",
        f->rate_bytes_per_s / 1e6, f->speed_factor, f->storage_bytes / (1 << 20));
}

static void print_gain(const explain_facts *f, const explain_gain *g, int width)
{
    char what[128];
    resource_text(g, what, sizeof what);
    printf("  %-*s  saves %.3g s (%.2f %%) a round, %.3g s an epoch", width, what, g->gain_s,
           percent(g->gain_s, f->round_s), g->gain_s * (double)f->rounds);
    if (g->change)
        printf(": %s", g->change);
    if (isfinite(g->replanned_s))
        printf("; re-planned %.4g s a round", g->replanned_s);
    putchar('\n');
}

static void print_gains(const explain_facts *f)
{
    int width = 0;
    for (size_t k = 0; k < f->gains_listed; k++) {
        char what[128];
        resource_text(&f->gains[k], what, sizeof what);
        if ((int)strlen(what) > width)
            width = (int)strlen(what);
    }
    print_steps(f);
    for (size_t k = 0; k < f->gains_listed; k++)
        print_gain(f, &f->gains[k], width);
    if (f->gains_listed == 0)
        printf("  nothing gains\n");
    printf(
        "  %zu changes tried, %zu of them make the round longer; %zu more gain nothing: proved\n",
        f->gain_count, f->longer, f->idle);
    if (f->left > 0)
        printf("  %zu more not tried for lack of time\n", f->left);
    if (isfinite(f->replanned_s))
        printf("  the plan improved as things are: %.4g s a round\n", f->replanned_s);
}

static void print_without(const explain_facts *f)
{
    const explain_without *w = f->without;
    char text[48];
    if (w->reason) {
        printf("\nwithout %s: no plan: %s\n", w->node, w->reason);
        return;
    }
    round_text(f, w->round_s, text, sizeof text);
    printf("\nwithout %s: %s a round, %.4g s an epoch; global server %s\n", w->node, text,
           w->epoch_s, w->global);
}

void explain_print(const explain_facts *f)
{
    printf("round: %.6f s; epoch of %lld rounds: %.3f s (%s)\n", f->round_s, (long long)f->rounds,
           f->epoch_s, f->transfer);
    printf("bottleneck: %s\n\n", f->bottleneck);
    print_roles(f);
    print_gains(f);
    if (f->without)
        print_without(f);
}
