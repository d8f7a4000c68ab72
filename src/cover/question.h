/* The covering LP of cover.h for many servers, asked lazily: all workers are of size 1, but a
 * server may have one whom it serves aside from its capacity, and who serves whom is asked as it is
 * needed. A no is proved by prices, one per worker: whatever the servers of the budget cover is
 * worth less than all workers are. Prices that refute one question are worth trying on similar
 * ones.
 */
#ifndef EDGEPS_COVER_QUESTION_H
#define EDGEPS_COVER_QUESTION_H

#include "cover/cover.h"

#define COVER_NOBODY UINT32_MAX

typedef struct cover_offer {
    uint32_t capacity; /* workers */
    uint32_t aside;    /* a worker served besides, or COVER_NOBODY */
} cover_offer;

typedef struct cover_list {
    const uint32_t *workers;
    size_t count;
} cover_list;

/* Answers must not change while the question is asked. */
typedef struct cover_question {
    size_t worker_count;
    size_t server_count;
    size_t budget; /* servers */
    double purse;  /* what they may cost together; INFINITY: anything */
    const void *context;
    /* Cheap: the server covers no more workers than this, the one aside included. */
    uint32_t (*most)(const void *context, size_t server);
    cover_offer (*offer)(const void *context, size_t server);
    /* Writes whom of the listed workers the server serves, in their order, and ends when there are
     * `most`; returns how many. */
    size_t (*serves)(const void *context, size_t server, const cover_list *of, size_t most,
                     uint32_t *served);
    double (*cost)(const void *context, size_t server); /* >= 0; not asked without a purse */
} cover_question;

/* Prices of workers, ordered once for many questions. */
typedef struct cover_prices {
    double toll;     /* what a server is to be worth for each unit of its cost, >= 0 */
    double *price;   /* per worker, >= 0 */
    uint32_t *order; /* the workers with a price, dearest first */
    double *worth;   /* worth[m]: of the m dearest */
    size_t count;    /* workers with a price */
} cover_prices;

/* Copies `price` (worker_count). cover_prices_free releases them. */
edgeps_err cover_prices_make(const double *price, size_t worker_count, double toll,
                             cover_prices *out);
void cover_prices_free(cover_prices *p);

/* What a server is worth at most. */
typedef struct cover_promise {
    double worth, cost;
    uint32_t server;
} cover_promise;

/* Scratch for questions of up to so many workers and servers. */
typedef struct cover_top {
    size_t count;
    double *value;          /* a heap of the values of the best servers so far, the least first */
    uint32_t *server;       /* ... and who they are */
    cover_promise *promise; /* a heap of those not looked at, the best first */
    uint32_t *served;       /* by one of them */
} cover_top;

edgeps_err cover_top_make(size_t worker_count, size_t server_count, cover_top *out);
void cover_top_free(cover_top *t);

/* Do these prices prove that the question has no solution? Asks only servers that can be among the
 * best of the budget, which are in `top` afterwards, and stops as soon as the answer is known.
 * O(servers + servers asked x workers with a price). */
bool cover_prices_refute(const cover_question *q, const cover_prices *p, cover_top *top);

typedef struct cover_reply {
    cover_verdict verdict; /* UNSURE: the LP's tolerance hides the answer, or too many rounds */
    double *price;         /* NO: per worker, the proof ... */
    double toll;           /* ... with this toll */
    double *open;          /* YES: per server, y */
    size_t rounds;         /* LPs solved */
} cover_reply;

/* Decides by rows and columns that are generated: CLP finds the shares of the servers so far that
 * cover the sets of workers so far best; a flow names a set that they do not cover (Hall's theorem
 * for shares), the prices name servers that would cover more. `hints` are sets to start with:
 * workers with a price there. EDGEPS_NOMEM, or EDGEPS_INTERNAL when CLP breaks down. */
edgeps_err cover_decide_question(const cover_question *q, const cover_prices *hints,
                                 size_t hint_count, cover_reply *out);
void cover_reply_free(cover_reply *r);

#endif
