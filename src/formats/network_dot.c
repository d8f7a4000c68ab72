#include "formats/network_dot.h"

#include "base/mem.h"
#include "formats/json_int.h"
#include "formats/quantity.h"
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Colours of Okabe and Ito (Color Universal Design, 2008), which the colour-blind tell apart; shape
 * and width say the same once more. */
#define BLUE "#0072B2"
#define ORANGE "#E69F00"
#define INK "#222222"
#define GREY "#777777"
#define PALE "#EEEEEE"

/* Around the nodes of larger networks Graphviz takes long to lead edges: they go straight. */
#define MOST_ROUTED 100

typedef struct drawing {
    const network *net;
    const plan *pl;
    const struct job *job;
    FILE *file;
} drawing;

/* Into a label of Graphviz's kind of HTML. */
static void put_escaped(FILE *file, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        default:
            fputc(*text, file);
        }
}

static void put_amount(FILE *file, quantity_kind kind, double value)
{
    char text[QUANTITY_TEXT_BYTES];
    quantity_short(kind, value, text);
    fputs(text, file);
}

static bool is_global(const drawing *d, size_t i) { return d->pl && d->pl->global == (int32_t)i; }

static bool is_local(const drawing *d, size_t i) { return d->pl && plan_is_local(d->pl, i); }

static bool is_worker(const drawing *d, size_t i) { return d->pl && d->pl->parent[i] != PLAN_NONE; }

/* ---- nodes */

/* Sites stand between nodes only where the network has some, or all nodes have but one. */
static bool has_hubs(const network *net) { return net->site_names || net->site_count < net->count; }

static const char *look(const drawing *d, size_t i)
{
    const network_node *node = &d->net->nodes[i];
    if (is_global(d, i))
        return "shape=doubleoctagon fillcolor=\"" BLUE "\" fontcolor=white color=\"" BLUE
               "\" penwidth=2";
    if (is_local(d, i))
        return "shape=box fillcolor=\"" ORANGE "\" penwidth=2";
    if (is_worker(d, i))
        return "shape=ellipse fillcolor=white";
    if (d->pl)
        return "shape=ellipse fillcolor=white color=\"" GREY "\" fontcolor=\"" GREY
               "\" style=\"filled,dashed\"";
    return node->serve && node->train ? "shape=box style=\"filled,rounded\" fillcolor=white"
           : node->serve              ? "shape=box fillcolor=white"
                                      : "shape=ellipse fillcolor=white";
}

static void put_storage(const drawing *d, size_t i)
{
    int64_t need = d->job && d->pl ? plan_need_bytes(d->pl, d->job, i) : 0;
    if (!d->net->nodes[i].serve)
        return;
    fputs("<br/>", d->file);
    if (need) {
        put_amount(d->file, QUANTITY_SIZE, (double)need);
        fputs(" of ", d->file);
    }
    put_amount(d->file, QUANTITY_SIZE, (double)d->net->nodes[i].free_bytes);
    fputs(" free", d->file);
}

/* The node's own link, which edges of a plan tell for pairs. */
static void put_access(const drawing *d, const network_node *node)
{
    fputs("<br/>↑", d->file);
    put_amount(d->file, QUANTITY_RATE, node->up_bytes_per_s);
    fputs(" ↓", d->file);
    put_amount(d->file, QUANTITY_RATE, node->down_bytes_per_s);
    if (node->access_s > 0) {
        fputs("<br/>", d->file);
        put_amount(d->file, QUANTITY_TIME, node->access_s);
    }
}

static void put_node(const drawing *d, size_t i)
{
    const network_node *node = &d->net->nodes[i];
    fprintf(d->file, " n%zu [%s label=<<b>", i, look(d, i));
    put_escaped(d->file, node->name);
    fputs("</b><font point-size=\"8\">", d->file);
    if (d->pl && d->net->site_names && d->net->site_names[node->site]) {
        fputs("<br/>at ", d->file);
        put_escaped(d->file, d->net->site_names[node->site]);
    }
    if (is_global(d, i))
        fprintf(d->file, "<br/>global%s", is_local(d, i) ? " and local server" : " server");
    else if (is_local(d, i))
        fputs("<br/>local server", d->file);
    if (node->train && (!d->pl || is_worker(d, i))) {
        fputs("<br/>", d->file);
        put_amount(d->file, QUANTITY_SPEED, node->compute_samples_per_s);
    }
    put_storage(d, i);
    if (!d->pl)
        put_access(d, node);
    fputs("</font>>]\n", d->file);
    if (!d->pl && has_hubs(d->net))
        fprintf(d->file, " s%u -> n%zu [dir=none color=\"" GREY "\"]\n", node->site, i);
}

/* ---- edges */

/* An edge of the plan: up to the server, down from it. */
static void put_flow(const drawing *d, size_t parent, size_t child, const char *style)
{
    const network *net = d->net;
    const double up = network_rate_bytes_per_s(net, child, parent);
    const double down = network_rate_bytes_per_s(net, parent, child);
    const double up_s = network_latency_s(net, child, parent);
    const double down_s = network_latency_s(net, parent, child);
    fprintf(d->file, " n%zu -> n%zu [%s label=\"↑", parent, child, style);
    put_amount(d->file, QUANTITY_RATE, up);
    fputs("\\n↓", d->file);
    put_amount(d->file, QUANTITY_RATE, down);
    fputs("\\n", d->file);
    put_amount(d->file, QUANTITY_TIME, up_s);
    if (down_s != up_s) {
        fputs(" / ", d->file);
        put_amount(d->file, QUANTITY_TIME, down_s);
    }
    fputs("\"]\n", d->file);
}

static void put_tree(const drawing *d)
{
    for (size_t i = 0; i < d->net->count; i++) {
        size_t local = is_worker(d, i) ? (size_t)d->pl->parent[i] : i;
        if (is_local(d, i) && !is_global(d, i))
            put_flow(d, (size_t)d->pl->global, i,
                     "color=\"" BLUE "\" penwidth=3 arrowsize=0.6 dir=both weight=9");
        if (local != i)
            put_flow(d, local, i, "color=\"" ORANGE "\" penwidth=1.4 arrowsize=0.5 dir=both");
    }
}

static double cap(const network *net, size_t a, size_t b)
{
    return net->cap_bytes_per_s[a * net->site_count + b];
}

static double latency_s(const network *net, size_t a, size_t b)
{
    return net->latency_s[a * net->site_count + b];
}

/* Is there a third place from where the way from a to b is no longer and no narrower? */
static bool composed(const network *net, size_t a, size_t b)
{
    double limit_s = latency_s(net, a, b) * (1 + 1e-9);
    for (size_t c = 0; c < net->site_count; c++) {
        double first_s = latency_s(net, a, c), second_s = latency_s(net, c, b);
        if (c != a && c != b && first_s > 0 && second_s > 0 && first_s + second_s <= limit_s &&
            fmin(cap(net, a, c), cap(net, c, b)) >= cap(net, a, b))
            return true;
    }
    return false;
}

static const char *place_name(const network *net, size_t s)
{
    if (net->site_names)
        return net->site_names[s];
    return has_hubs(net) ? "network" : net->nodes[s].name;
}

/* What the way from a to b offers; what has no limit and what takes no time is not said. */
static void put_offer(const drawing *d, size_t a, size_t b)
{
    double rate = cap(d->net, a, b), time_s = latency_s(d->net, a, b);
    if (rate <= 0)
        fputs("no path", d->file);
    else if (isfinite(rate))
        put_amount(d->file, QUANTITY_RATE, rate);
    if (rate > 0 && isfinite(rate) && time_s > 0)
        fputs(", ", d->file);
    if (rate > 0 && time_s > 0)
        put_amount(d->file, QUANTITY_TIME, time_s);
}

/* Both directions as one edge, each in a line of the label where they differ. */
static void put_way(const drawing *d, size_t a, size_t b)
{
    const network *net = d->net;
    const char *kind = has_hubs(net) ? "s" : "n";
    bool same = cap(net, a, b) == cap(net, b, a) && latency_s(net, a, b) == latency_s(net, b, a);
    fprintf(d->file, " %s%zu -> %s%zu [len=3 penwidth=1.6 color=\"" INK "\" dir=%s label=<", kind,
            a, kind, b,
            cap(net, a, b) <= 0   ? "back"
            : cap(net, b, a) <= 0 ? "forward"
                                  : "none");
    if (!same) {
        put_escaped(d->file, place_name(net, a));
        fputs(" → ", d->file);
    }
    put_offer(d, a, b);
    if (!same) {
        fputs("<br/>", d->file);
        put_escaped(d->file, place_name(net, b));
        fputs(" → ", d->file);
        put_offer(d, b, a);
    }
    fputs(">]\n", d->file);
}

static void put_ways(const drawing *d)
{
    const network *net = d->net;
    for (size_t a = 0; a < net->site_count; a++)
        for (size_t b = a + 1; b < net->site_count; b++)
            if ((cap(net, a, b) > 0 || cap(net, b, a) > 0) &&
                !(composed(net, a, b) && composed(net, b, a)))
                put_way(d, a, b);
}

static void put_hubs(const drawing *d)
{
    for (size_t s = 0; has_hubs(d->net) && s < d->net->site_count; s++) {
        fprintf(d->file, " s%zu [shape=circle fillcolor=\"" PALE "\" label=<<b>", s);
        put_escaped(d->file, place_name(d->net, s));
        fputs("</b>>]\n", d->file);
    }
}

/* ---- the whole */

static void put_head(const drawing *d)
{
    const char *name = d->net->name ? d->net->name : "network";
    fputs("digraph ", d->file);
    json_put_quoted(d->file, name);
    const char *layout = "layout=neato overlap=prism sep=\"+8\" splines=true";
    if (d->pl)
        layout = "layout=dot rankdir=LR ranksep=1.3 nodesep=0.2";
    else if (d->net->count > MOST_ROUTED)
        layout = "layout=neato overlap=prism sep=\"+8\" splines=line";
    fprintf(d->file, " {\n graph [%s fontname=\"Helvetica\" fontsize=12 labelloc=t label=<<b>",
            layout);
    put_escaped(d->file, name);
    if (d->pl)
        fprintf(d->file,
                "</b><br/><font point-size=\"9\">double octagon: global server; box: local server; "
                "ellipse: worker<br/>%s</font>>]\n",
                "on edges: rates to the server (↑) and back (↓), latency one way (to / from, where "
                "they differ)");
    else
        fprintf(d->file,
                "</b><br/><font point-size=\"9\">box: may serve; round: trains<br/>%s</font>>]\n",
                "in boxes: up (↑) and down (↓) rate and latency of the own link<br/>on edges: rate "
                "and latency between places");
    fputs(" node [style=filled fontname=\"Helvetica\" fontsize=11 color=\"" INK
          "\" margin=\"0.08,0.04\"]\n edge [fontname=\"Helvetica\" fontsize=8 fontcolor=\"" INK
          "\"]\n",
          d->file);
}

static void put_all(const drawing *d)
{
    put_head(d);
    if (!d->pl)
        put_hubs(d);
    for (size_t i = 0; i < d->net->count; i++)
        put_node(d, i);
    if (d->pl)
        put_tree(d);
    if (!d->pl)
        put_ways(d);
    fputs("}\n", d->file);
}

edgeps_err network_dot_text(const network *net, const struct plan *pl, const struct job *j,
                            char **text)
{
    char *made = NULL, *copy = NULL;
    size_t length;
    const drawing d = {net, pl, j, open_memstream(&made, &length)};
    if (!d.file)
        return EDGEPS_NOMEM;
    put_all(&d);
    bool whole = !ferror(d.file);
    if (!fclose(d.file) && whole)
        copy = mem_copy_text(made);
    free(made); /* the C library's, not mem's */
    if (!copy)
        return EDGEPS_NOMEM;
    *text = copy;
    return EDGEPS_OK;
}
