#include "cli/check_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Of fewer nodes none is the odd one out. */
#define LEAST_NODES 4
#define FAR 1000.0      /* times the median */
#define LOPSIDED 20.0   /* up over down, or down over up, beyond any access line's */
#define SAME (1 + 1e-6) /* equal but for how a file rounds */

static double up(const network_node *node)
{
    return check_takes_part(node) ? node->up_bytes_per_s : NAN;
}

static double down(const network_node *node)
{
    return check_takes_part(node) ? node->down_bytes_per_s : NAN;
}

static double compute(const network_node *node)
{
    return node->train ? node->compute_samples_per_s : NAN;
}

static double offer(const network_node *node)
{
    return node->serve ? (double)node->free_bytes : NAN;
}

typedef double value_of(const network_node *node);

/* Slips that change a value by a known factor. */
static const struct {
    double factor;
    const char *text;
} slips[] = {
    {8, "bits and bytes"},
    {1.024, "k and Ki"},
    {1.048576, "M and Mi"},
    {1.073741824, "G and Gi"},
};

/* Which slip makes `value` exactly `usual`; NULL: none does. */
static const char *slip(quantity_kind kind, double value, double usual)
{
    double times = value > usual ? value / usual : usual / value;
    if (kind == QUANTITY_SPEED)
        return NULL;
    for (size_t k = kind == QUANTITY_RATE ? 0 : 1; k < sizeof slips / sizeof *slips; k++)
        if (times < slips[k].factor * SAME && times > slips[k].factor / SAME)
            return slips[k].text;
    return NULL;
}

typedef struct field {
    const char *name;
    quantity_kind kind;
    value_of *of;
    check_range *range;
    bool uniform; /* half of the nodes have the median */
} field;

static edgeps_err judge_node(const network_node *node, const field *d, check_facts *f)
{
    double value = d->of(node), median = d->range->median;
    char text[QUANTITY_TEXT_BYTES], usual[QUANTITY_TEXT_BYTES];
    if (!(value > 0))
        return EDGEPS_OK;
    const char *cause = d->uniform ? slip(d->kind, value, median) : NULL;
    quantity_short(d->kind, value, text);
    quantity_short(d->kind, median, usual);
    if (cause)
        return check_add(f, CHECK_HINT, "unit", node->name,
                         "%s: %s is %s where most nodes have %s; were %s mixed up?", node->name,
                         d->name, text, usual, cause);
    if (value <= median * FAR && median <= value * FAR)
        return EDGEPS_OK;
    return check_add(f, CHECK_HINT, "unit", node->name,
                     "%s: %s is %s where the median is %s; is the unit right?", node->name, d->name,
                     text, usual);
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* `values` is scratch for the nodes. */
static edgeps_err judge_field(const network *net, field *d, double *values, check_facts *f)
{
    size_t count = 0, usual = 0;
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; i < net->count; i++) {
        double value = d->of(&net->nodes[i]);
        if (!isnan(value))
            values[count++] = value;
    }
    *d->range = (check_range){.least = INFINITY};
    if (!count)
        return EDGEPS_OK;
    qsort(values, count, sizeof *values, ascending);
    *d->range = (check_range){values[0], values[(count - 1) / 2], values[count - 1]};
    if (count < LEAST_NODES || d->range->median <= 0)
        return EDGEPS_OK;
    for (size_t k = 0; k < count; k++)
        usual += values[k] == d->range->median;
    d->uniform = usual >= count / 2;
    for (size_t i = 0; !err && i < net->count; i++)
        err = judge_node(&net->nodes[i], d, f);
    return err;
}

static edgeps_err judge_lopsided(const network *net, check_facts *f)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; !err && i < net->count; i++) {
        const network_node *node = &net->nodes[i];
        double a = up(node), b = down(node);
        char texts[2][QUANTITY_TEXT_BYTES];
        if (!(a > 0 && b > 0) || (a < b * LOPSIDED && b < a * LOPSIDED))
            continue;
        quantity_short(QUANTITY_RATE, a, texts[0]);
        quantity_short(QUANTITY_RATE, b, texts[1]);
        err = check_add(f, CHECK_HINT, "lopsided", node->name,
                        "%s: up is %s and down %s, %.0f times apart; are the units right?",
                        node->name, texts[0], texts[1], a > b ? a / b : b / a);
    }
    return err;
}

edgeps_err check_values(const network *net, check_facts *f)
{
    field fields[] = {
        {"up", QUANTITY_RATE, up, &f->up_bytes_per_s, false},
        {"down", QUANTITY_RATE, down, &f->down_bytes_per_s, false},
        {"compute", QUANTITY_SPEED, compute, &f->compute_samples_per_s, false},
        {"free", QUANTITY_SIZE, offer, &f->free_bytes, false},
    };
    double *values = mem_alloc(net->count, sizeof *values);
    edgeps_err err = values ? EDGEPS_OK : EDGEPS_NOMEM;
    for (size_t k = 0; !err && k < sizeof fields / sizeof *fields; k++)
        err = judge_field(net, &fields[k], values, f);
    mem_free(values);
    return err ? err : judge_lopsided(net, f);
}
