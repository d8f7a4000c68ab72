/* What the tests of the machines share: steps whose effects are at hand, and looks into them. */
#ifndef EDGEPS_PROTO_FIXTURE_H
#define EDGEPS_PROTO_FIXTURE_H

#include "proto/proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static inline size_t count_effects(const proto_effects *effects, proto_effect_kind kind)
{
    size_t count = 0;
    for (size_t k = 0; k < effects->count; k++)
        count += effects->items[k].kind == kind;
    return count;
}

/* The n-th effect (from 0) of a kind; fails the test when there is none. */
static inline const proto_effect *nth_effect(const proto_effects *effects, proto_effect_kind kind,
                                             size_t n)
{
    for (size_t k = 0; k < effects->count; k++)
        if (effects->items[k].kind == kind && n-- == 0)
            return &effects->items[k];
    fail_msg("no effect of kind %d", (int)kind);
    return NULL;
}

#endif
