#include "cli/show.h"

#include "base/mem.h"
#include "cli/show_int.h"

#include <string.h>
#include <sys/ioctl.h>

#define REDRAW_S 0.1
#define FALLBACK_COLUMNS 80
#define LEAST_BAR 8
#define MOST_BAR 40

struct show {
    FILE *out;
    bool terminal;
    bool drawn;  /* a progress line stands on the screen */
    bool begun;  /* a start was seen */
    bool headed; /* the table has its header */
    bool incomplete;
    int64_t epochs;
    int64_t epoch;      /* that the progress line follows */
    int64_t from_round; /* where its clock started */
    double from_s;
    double drawn_s;
    meter_history history;
};

show *show_make(FILE *out, bool terminal)
{
    show *s = mem_alloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->out = out;
    s->terminal = terminal;
    return s;
}

void show_free(show *s)
{
    if (!s)
        return;
    meter_history_free(&s->history);
    mem_free(s);
}

static int columns_of(FILE *out)
{
    struct winsize size;
    int fd = fileno(out);
    bool known = fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : FALLBACK_COLUMNS;
}

static void erase(show *s)
{
    if (s->drawn)
        fputs("\r\033[K", s->out);
    s->drawn = false;
}

static void put_bar(FILE *out, int room, int64_t done, int64_t all)
{
    int width = room - 3 < MOST_BAR ? room - 3 : MOST_BAR; /* brackets and a space */
    if (width < LEAST_BAR)
        return;
    double share = all > 0 ? (double)done / (double)all : 0;
    int full = (int)((share < 1 ? share : 1) * width);
    fprintf(out, "[%.*s%.*s] ", full, "########################################", width - full,
            "........................................");
}

/* One column stays free: a full line makes some terminals scroll. All of it is ASCII, so bytes are
 * columns and it may be cut anywhere. */
static void draw(show *s, const meter_event *event)
{
    char head[64], tail[96] = "", pace[32];
    snprintf(head, sizeof head, "epoch %lld of %lld ", (long long)event->epoch,
             (long long)s->epochs);
    size_t used = (size_t)snprintf(tail, sizeof tail, "round %lld of %lld", (long long)event->round,
                                   (long long)event->rounds);
    if (event->round > s->from_round) {
        show_seconds((event->time_s - s->from_s) / (double)(event->round - s->from_round), pace,
                     sizeof pace);
        snprintf(tail + used, sizeof tail - used, ", %s a round", pace);
    }
    int room = columns_of(s->out) - 1 - (int)strlen(head) - (int)strlen(tail);
    fputc('\r', s->out);
    if (room < 0) {
        fprintf(s->out, "%.*s", columns_of(s->out) - 1, head);
    } else {
        fputs(head, s->out);
        put_bar(s->out, room, event->round, event->rounds);
        fputs(tail, s->out);
    }
    fputs("\033[K", s->out);
    s->drawn = true;
    s->drawn_s = event->time_s;
}

static void follow_round(show *s, const meter_event *event)
{
    bool first = event->epoch != s->epoch || event->round < s->from_round;
    if (first) {
        s->epoch = event->epoch;
        s->from_round = event->round;
        s->from_s = event->time_s;
    }
    bool due = first || !s->drawn || event->round == event->rounds ||
               event->time_s - s->drawn_s >= REDRAW_S;
    if (s->terminal && due)
        draw(s, event);
}

static void print(show *s, const meter_event *event)
{
    switch (event->kind) {
    case METER_EPOCH:
        if (!s->headed)
            show_epoch_header(s->out);
        s->headed = true;
        show_epoch_row(s->out, event);
        break;
    case METER_END:
        show_summary(s);
        break;
    case METER_START:
        show_event_lines(s->out, event, s->begun);
        s->epochs = event->epochs;
        s->begun = true;
        break;
    default:
        show_event_lines(s->out, event, s->begun);
    }
}

void show_event(void *context, const meter_event *event)
{
    show *s = context;
    if (event->kind == METER_ROUND) {
        follow_round(s, event);
    } else {
        erase(s);
        if (meter_history_add(&s->history, event))
            s->incomplete = true;
        print(s, event);
    }
    fflush(s->out);
}

void show_summary(show *s)
{
    erase(s);
    if (s->incomplete)
        show_line(s->out, "warning: the summary is incomplete: memory was short");
    show_summary_lines(s->out, &s->history);
    fflush(s->out);
}
