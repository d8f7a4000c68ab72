/* When chunks are where at the earliest, whatever shares the links: the arithmetic of all lower
 * bounds of a round. It rests on facts that hold for any sharing: a chunk is not earlier than a
 * lone chunk on its path, chunks of one gradient keep their order, a link carries all bytes that
 * must cross it, an adder adds one chunk at a time. docs/model.md, "Lower bound", has the formulas.
 */
#ifndef EDGEPS_COST_MOMENT_H
#define EDGEPS_COST_MOMENT_H

#include "problem/problem.h"

#include <math.h>

/* Inlined, which fmax and fmin are not; nothing here is no number. */
static inline double larger_of(double a, double b) { return a > b ? a : b; }
static inline double smaller_of(double a, double b) { return a < b ? a : b; }

/* Bytes of one gradient. The last chunk may be much smaller than the others; then the one before it
 * says more of what follows. */
typedef struct amounts {
    double first; /* chunk */
    double late;  /* chunk: the last but one; 0 where there is one chunk only, ... */
    double body;  /* all chunks but the last; ... and this, too */
    double last;  /* chunk */
    double all;
} amounts;

static inline amounts amounts_of(const job *j, int64_t (*chunk_bytes)(const job *, int64_t),
                                 int64_t all_bytes)
{
    int64_t last = job_chunk_count(j) - 1;
    amounts a = {.first = (double)chunk_bytes(j, 0),
                 .last = (double)chunk_bytes(j, last),
                 .all = (double)all_bytes};
    a.late = last > 0 ? (double)chunk_bytes(j, last - 1) : 0;
    a.body = a.all - a.last;
    return a;
}

/* On the wire, and as added by a server. */
static inline amounts amounts_sent(const job *j)
{
    return amounts_of(j, job_chunk_wire_bytes, job_wire_bytes(j));
}

static inline amounts amounts_added(const job *j)
{
    return amounts_of(j, job_chunk_payload_bytes, job_parameter_bytes(j));
}

/* The earliest times at which the first chunk, all but the last one, and all are somewhere; or how
 * long the round takes at least from each of these on. With one chunk the second is when it was
 * ready to leave. */
typedef struct moment {
    double first_s, body_s, all_s;
} moment;

static inline moment moment_at(double at_s) { return (moment){at_s, at_s, at_s}; }

static inline moment moment_plus(moment m, double s)
{
    return (moment){m.first_s + s, m.body_s + s, m.all_s + s};
}

static inline moment moment_later(moment a, moment b)
{
    return (moment){larger_of(a.first_s, b.first_s), larger_of(a.body_s, b.body_s),
                    larger_of(a.all_s, b.all_s)};
}

static inline moment moment_earlier(moment a, moment b)
{
    return (moment){smaller_of(a.first_s, b.first_s), smaller_of(a.body_s, b.body_s),
                    smaller_of(a.all_s, b.all_s)};
}

/* The end of a round that takes `rest` from each of the moments on. */
static inline double moment_end_s(moment m, moment rest)
{
    return larger_of(larger_of(m.first_s + rest.first_s, m.body_s + rest.body_s),
                     m.all_s + rest.all_s);
}

/* When `count` gradients, none of which is ready before `ready`, have passed what takes pace_s
 * seconds per byte: a connection, a link that they share, an adder. */
static inline moment moment_through(const amounts *a, moment ready, double count, double pace_s)
{
    double each_s = count * pace_s;
    if (each_s == INFINITY)
        return moment_at(INFINITY);
    double body_s = larger_of(ready.first_s + a->body * each_s, ready.body_s + a->late * each_s);
    return (moment){ready.first_s + a->first * each_s, body_s,
                    larger_of(body_s, ready.all_s) + a->last * each_s};
}

/* How long the last of `count` gradients takes from each moment on to pass the same. */
static inline moment moment_rest(const amounts *a, double count, double pace_s)
{
    double each_s = count * pace_s;
    if (each_s == INFINITY)
        return moment_at(INFINITY);
    return (moment){a->all * each_s, (a->late + a->last) * each_s, a->last * each_s};
}

/* How long it takes on a connection from when the first chunk, all but the last, and all have left
 * it until all have. */
static inline moment moment_left(const amounts *a, double pace_s)
{
    if (pace_s == INFINITY)
        return moment_at(INFINITY);
    return (moment){(a->all - a->first) * pace_s, a->last * pace_s, 0};
}

/* What several such stages in a row do to a moment: entry x_y_s leads from moment x to moment y. */
typedef struct moment_way {
    double first_first_s, first_body_s, first_all_s, body_body_s, body_all_s, all_all_s;
} moment_way;

static inline moment_way way_through(const amounts *a, double count, double pace_s,
                                     double latency_s)
{
    double each_s = count * pace_s;
    return (moment_way){a->first * each_s + latency_s,
                        a->body * each_s + latency_s,
                        a->all * each_s + latency_s,
                        a->late * each_s + latency_s,
                        (a->late + a->last) * each_s + latency_s,
                        a->last * each_s + latency_s};
}

static inline moment way_end(const moment_way *w, moment m)
{
    return (moment){m.first_s + w->first_first_s,
                    larger_of(m.first_s + w->first_body_s, m.body_s + w->body_body_s),
                    larger_of(larger_of(m.first_s + w->first_all_s, m.body_s + w->body_all_s),
                              m.all_s + w->all_all_s)};
}

/* How long the round takes from each moment at the start of the way, if it takes `rest` from its
 * end. */
static inline moment way_rest(const moment_way *w, moment rest)
{
    return (moment){
        larger_of(larger_of(w->first_first_s + rest.first_s, w->first_body_s + rest.body_s),
                  w->first_all_s + rest.all_s),
        larger_of(w->body_body_s + rest.body_s, w->body_all_s + rest.all_s),
        w->all_all_s + rest.all_s};
}

/* One way after the other. */
static inline moment_way way_then(const moment_way *a, const moment_way *b)
{
    moment from_first = way_end(b, (moment){a->first_first_s, a->first_body_s, a->first_all_s});
    moment from_body = way_end(b, (moment){-INFINITY, a->body_body_s, a->body_all_s});
    return (moment_way){from_first.first_s, from_first.body_s, from_first.all_s,
                        from_body.body_s,   from_body.all_s,   a->all_all_s + b->all_all_s};
}

#endif
