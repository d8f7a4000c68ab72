/* What the two ways of deciding share. Private to this room. */
#ifndef EDGEPS_COVER_COVER_INT_H
#define EDGEPS_COVER_COVER_INT_H

#include "cover/cover.h"

/* An undecided answer with zeroed arrays. */
edgeps_err cover_answer_make(const cover_instance *c, cover_answer *out);

#endif
