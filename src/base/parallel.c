#include "base/parallel.h"

#include <pthread.h>
#include <unistd.h>

typedef struct crew {
    pthread_mutex_t lock;
    size_t next; /* item */
    size_t count;
    size_t failed; /* item; count: none */
    edgeps_err err;
    parallel_work *work;
    void *context;
    const parallel_watch *watch;
    bool stopped;
} crew;

typedef struct member {
    crew *crew;
    size_t thread;
    pthread_t id;
} member;

size_t parallel_threads(size_t items)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = processors > 1 ? (size_t)processors : 1;
    if (threads > PARALLEL_MOST)
        threads = PARALLEL_MOST;
    return threads < items ? threads : items > 0 ? items : 1;
}

/* On the caller's thread. */
static void ask_watch(crew *c)
{
    if (!c->watch || !c->watch->go_on || c->count == 0)
        return;
    pthread_mutex_lock(&c->lock);
    double done = (double)c->next / (double)c->count;
    pthread_mutex_unlock(&c->lock);
    bool go_on = c->watch->go_on(c->watch->context, done);
    pthread_mutex_lock(&c->lock);
    c->stopped |= !go_on;
    pthread_mutex_unlock(&c->lock);
}

/* The number of the next item; count when there is nothing left to do. */
static size_t take_item(crew *c)
{
    pthread_mutex_lock(&c->lock);
    bool over = c->stopped || c->failed < c->count || c->next == c->count;
    size_t item = over ? c->count : c->next++;
    pthread_mutex_unlock(&c->lock);
    return item;
}

/* Items are begun in order, so the first that fails has begun before any other failure is known. */
static void note_failure(crew *c, size_t item, edgeps_err err)
{
    pthread_mutex_lock(&c->lock);
    if (item < c->failed) {
        c->failed = item;
        c->err = err;
    }
    pthread_mutex_unlock(&c->lock);
}

static void *do_items(void *argument)
{
    member *m = argument;
    crew *c = m->crew;
    for (size_t item = take_item(c); item < c->count; item = take_item(c)) {
        edgeps_err err = c->work(c->context, m->thread, item);
        if (err)
            note_failure(c, item, err);
        if (m->thread == 0)
            ask_watch(c);
    }
    return NULL;
}

edgeps_err parallel_run(size_t threads, size_t count, parallel_work *work, void *context,
                        const parallel_watch *watch)
{
    crew c = {.lock = PTHREAD_MUTEX_INITIALIZER,
              .count = count,
              .failed = count,
              .work = work,
              .context = context,
              .watch = watch};
    member members[PARALLEL_MOST];
    size_t started = 1;
    if (threads > PARALLEL_MOST)
        threads = PARALLEL_MOST;
    members[0] = (member){.crew = &c};
    ask_watch(&c); /* the other threads may be done before this one begins */
    for (; started < threads && started < count; started++) {
        members[started] = (member){.crew = &c, .thread = started};
        if (pthread_create(&members[started].id, NULL, do_items, &members[started]))
            break;
    }
    do_items(&members[0]);
    for (size_t t = 1; t < started; t++)
        pthread_join(members[t].id, NULL);
    pthread_mutex_destroy(&c.lock);
    return c.err;
}
