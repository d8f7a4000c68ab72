#include "adapt/reason_int.h"

#include <stdarg.h>
#include <stdio.h>

void line_add(line *l, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(l->text + l->length, l->size - l->length, format, arguments);
    va_end(arguments);
    if (wanted > 0)
        l->length += (size_t)wanted;
    if (l->length >= l->size)
        l->length = l->size - 1;
}

static const char *name(const transition *t, int32_t node) { return t->p->nodes[node].name; }

static void add_move(line *l, const transition *t, const adapt_move *m)
{
    bool moves_on = m->from != PLAN_NONE && moves_closes(t, (size_t)m->from);
    if (m->role == ADAPT_GLOBAL && m->from == PLAN_NONE)
        line_add(l, "global server to %s anew", name(t, m->to));
    else if (m->role == ADAPT_GLOBAL)
        line_add(l, "global server %s to %s", name(t, m->from), name(t, m->to));
    else if (moves_on)
        line_add(l, "local server %s to %s", name(t, m->from), name(t, m->to));
    else
        line_add(l, "opens local server %s", name(t, m->to));
}

static bool is_source(const adapt_move *moves, size_t count, size_t node)
{
    for (size_t k = 0; k < count; k++)
        if (moves[k].role == ADAPT_LOCAL && moves[k].from == (int32_t)node)
            return true;
    return false;
}

void reason_changes(line *l, const transition *t, const adapt_move *moves, size_t count)
{
    size_t attached = 0, left = 0;
    const char *separator = "";
    for (size_t k = 0; k < count; k++, separator = ", ") {
        line_add(l, "%s", separator);
        add_move(l, t, &moves[k]);
    }
    for (size_t v = 0; v < t->p->count; v++) {
        attached += t->next->parent[v] != PLAN_NONE && t->next->parent[v] != t->old->parent[v];
        left += t->next->parent[v] == PLAN_NONE && t->old->parent[v] != PLAN_NONE;
        if (moves_closes(t, v) && !is_source(moves, count, v)) {
            line_add(l, "%scloses local server %s", separator, name(t, (int32_t)v));
            separator = ", ";
        }
    }
    if (attached) {
        line_add(l, "%s%zu worker%s re-attached", separator, attached, attached == 1 ? "" : "s");
        separator = ", ";
    }
    if (left)
        line_add(l, "%s%zu worker%s gone", separator, left, left == 1 ? "" : "s");
}
