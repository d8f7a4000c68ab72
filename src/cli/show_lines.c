#include "cli/show_int.h"

#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Names and texts come from files and from other machines; a terminal obeys what is in them: C0
 * controls, DEL, and C1 controls, which are C2 80 to C2 9F in UTF-8. */
static void disarm(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
        if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            c[0] = c[1] = '?';
    }
}

void show_line(FILE *out, const char *format, ...)
{
    va_list args, once_more;
    va_start(args, format);
    va_copy(once_more, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *line = length < 0 ? NULL : mem_alloc((size_t)length + 1, 1);
    if (line) {
        vsnprintf(line, (size_t)length + 1, format, once_more);
        disarm(line);
    }
    va_end(once_more);
    va_end(args);
    fprintf(out, "%s\n", line ? line : "(no memory for this line)");
    mem_free(line);
}

void show_seconds(double seconds, char *text, size_t size)
{
    if (!isfinite(seconds))
        snprintf(text, size, "?");
    else if (seconds > 0 && seconds < 0.001)
        snprintf(text, size, "%.2g ms", 1000 * seconds);
    else if (seconds < 100)
        snprintf(text, size, "%.3g s", seconds);
    else
        snprintf(text, size, "%.0f s", seconds);
}

void show_bytes(int64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double amount = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        snprintf(text, size, "%lld B", (long long)bytes);
        return;
    }
    while (amount >= 1023.95) { /* which would show as 1024.0 */
        amount /= 1024;
        unit++;
    }
    snprintf(text, size, "%.1f %s", amount, units[unit]);
}

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

static const char *or_empty(const char *text) { return text ? text : ""; }

static void start_line(FILE *out, const meter_event *e, bool again)
{
    const char *network = or_empty(e->network);
    show_line(out, "%s %s%s%s: %zu worker%s, %lld epoch%s of %lld round%s, %s, seed %llu",
              again ? "resuming" : "training", or_empty(e->model), *network ? " on " : "", network,
              e->workers, plural((int64_t)e->workers), (long long)e->epochs, plural(e->epochs),
              (long long)e->rounds, plural(e->rounds), or_empty(e->text),
              (unsigned long long)e->seed);
}

/* How far the plan can be from the best one, by the bound on every plan. */
static void proof(const meter_event *e, char *text, size_t size)
{
    double factor = e->predicted_round_s / e->bound_s;
    if (!(e->bound_s > 0) || !isfinite(factor))
        text[0] = '\0';
    else if (factor < 1.005)
        snprintf(text, size, " (proved to be the best)");
    else
        snprintf(text, size, " (proved within a factor %.2f of the best)", factor);
}

static void plan_lines(FILE *out, const meter_event *e)
{
    char predicted[32], proved[64];
    const char *locals = or_empty(e->locals);
    show_seconds(e->predicted_round_s, predicted, sizeof predicted);
    proof(e, proved, sizeof proved);
    show_line(out, "plan %llu: global server %s; local server%s %s; predicted %s a round%s",
              (unsigned long long)e->generation, or_empty(e->global),
              strchr(locals, ',') ? "s" : "", locals, predicted, proved);
    if (*or_empty(e->text))
        show_line(out, "  %s", e->text);
}

static void move_line(FILE *out, const meter_event *e)
{
    char bytes[32], seconds[32], frozen[32], still[48] = "";
    const char *from = or_empty(e->from), *why = or_empty(e->text);
    const char *role = or_empty(e->role), *to = or_empty(e->to);
    const char *open = *why ? " (" : "", *close = *why ? ")" : "";
    show_bytes(e->bytes, bytes, sizeof bytes);
    show_seconds(e->seconds, seconds, sizeof seconds);
    show_seconds(e->frozen_s, frozen, sizeof frozen);
    if (e->frozen_s > 0)
        snprintf(still, sizeof still, ", still for %s", frozen);
    if (*from && strcmp(from, to) == 0)
        show_line(out, "restored the %s server on %s from what it kept in reserve: %s in %s%s%s%s",
                  role, to, bytes, seconds, open, why, close);
    else if (*from)
        show_line(out, "moved the %s server %s -> %s: %s in %s%s%s%s%s", role, from, to, bytes,
                  seconds, still, open, why, close);
    else
        show_line(out, "restored the %s server on %s from the checkpoint: %s in %s%s%s%s", role, to,
                  bytes, seconds, open, why, close);
}

/* "epoch 3: ", or nothing before the first. */
static void epoch_prefix(const meter_event *e, char *text, size_t size)
{
    text[0] = '\0';
    if (e->epoch > 0)
        snprintf(text, size, "epoch %lld: ", (long long)e->epoch);
}

void show_event_lines(FILE *out, const meter_event *event, bool again)
{
    char when[48], seconds[32];
    epoch_prefix(event, when, sizeof when);
    switch (event->kind) {
    case METER_START:
        start_line(out, event, again);
        break;
    case METER_PLAN:
        plan_lines(out, event);
        break;
    case METER_MOVE:
        move_line(out, event);
        break;
    case METER_LOST:
        show_line(out, "%slost %s: %s", when, or_empty(event->node), or_empty(event->text));
        break;
    case METER_BACK:
        show_line(out, "%s%s is back: %s", when, or_empty(event->node), or_empty(event->text));
        break;
    case METER_SUSPECT:
        show_seconds(event->seconds, seconds, sizeof seconds);
        show_line(out, "%s%s is suspected: not heard for %s", when, or_empty(event->node), seconds);
        break;
    case METER_CLEARED:
        show_line(out, "%s%s is heard again", when, or_empty(event->node));
        break;
    case METER_FAULT:
        show_line(out, "%s%s is %s: %s", when, or_empty(event->node), or_empty(event->fault),
                  or_empty(event->text));
        break;
    case METER_RECOVERED:
        show_seconds(event->seconds, seconds, sizeof seconds);
        show_line(out, "%srounds go on, %s after %s was last well", when, seconds,
                  or_empty(event->node));
        break;
    case METER_TAKEOVER:
        show_line(out, "%staken over: %s", when, or_empty(event->text));
        break;
    case METER_LATE:
        show_line(out, "%sround %lld goes on without %s: %s", when, (long long)event->round,
                  or_empty(event->node), or_empty(event->text));
        break;
    case METER_SCENARIO:
        show_line(out, "%s%s: %s", when, or_empty(event->node), or_empty(event->text));
        break;
    case METER_ADVICE:
        show_line(out, "%sadvice: %s", when, or_empty(event->text));
        break;
    case METER_WARNING:
        show_line(out, "warning: %s", or_empty(event->text));
        break;
    default:
        break;
    }
}

/* A value below 10 gets `digits` after the point, one fewer with each power of ten, so that the
 * columns keep their width and the table stays within 80 columns. */
static void cell(double value, int digits, char *text, size_t size)
{
    double limit = 10;
    while (digits > 0 && value >= limit - 0.5 * pow(10, -digits)) {
        digits--;
        limit *= 10;
    }
    if (isnan(value))
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%.*f", digits, value);
}

void show_epoch_header(FILE *out)
{
    show_line(out, "epochs (times in seconds)");
    show_line(out, "epoch plan  time predicted compute  push   sum  pull  wait  move   loss "
                   "accuracy");
}

void show_epoch_row(FILE *out, const meter_event *event)
{
    const meter_epoch *m = &event->measured;
    const double times_s[] = {m->measured_s, m->predicted_s, m->compute_s, m->push_s,
                              m->sum_s,      m->pull_s,      m->wait_s,    m->move_s};
    char cells[8][32], loss[32], accuracy[32] = "-";
    for (size_t i = 0; i < 8; i++)
        cell(times_s[i], 3, cells[i], sizeof cells[i]);
    cell(m->loss, 4, loss, sizeof loss);
    if (!isnan(m->accuracy))
        snprintf(accuracy, sizeof accuracy, "%.2f %%", 100 * m->accuracy);
    show_line(out, "%5lld %4llu %5s %9s %7s %5s %5s %5s %5s %5s %6s %8s", (long long)m->epoch,
              (unsigned long long)event->generation, cells[0], cells[1], cells[2], cells[3],
              cells[4], cells[5], cells[6], cells[7], loss, accuracy);
}

static void end_line(FILE *out, const meter_event *end)
{
    if (!end)
        show_line(out, "no end: the run is still going on, or was cut off");
    else if (end->status)
        show_line(out, "ended with exit status %d: %s", end->status, or_empty(end->text));
    else
        show_line(out, "ended: %s", or_empty(end->text));
}

/* The lost nodes' names, a line each, under one label. */
static void lost_lines(FILE *out, const meter_history *history)
{
    size_t at = 0;
    const char *label = "lost";
    for (const meter_event *e; (e = meter_history_next(history, METER_LOST, &at)); label = "")
        show_line(out, "  %-11s %s (%s)", label, or_empty(e->node), or_empty(e->text));
}

/* Whether the event's node stands in no earlier event of its kind. */
static bool is_first(const meter_history *history, const meter_event *event)
{
    size_t at = 0;
    const meter_event *e = meter_history_next(history, event->kind, &at);
    while (e != event && strcmp(or_empty(e->node), or_empty(event->node)) != 0)
        e = meter_history_next(history, event->kind, &at);
    return e == event;
}

/* How often each node was late, a line each, under one label. */
static void late_lines(FILE *out, const meter_history *history)
{
    size_t at = 0;
    const char *label = "late";
    for (const meter_event *e; (e = meter_history_next(history, METER_LATE, &at));) {
        size_t count = 0, other = 0;
        if (!is_first(history, e))
            continue;
        for (const meter_event *o; (o = meter_history_next(history, METER_LATE, &other));)
            count += strcmp(or_empty(o->node), or_empty(e->node)) == 0;
        show_line(out, "  %-11s %s (in %zu round%s)", label, or_empty(e->node), count,
                  count == 1 ? "" : "s");
        label = "";
    }
}

/* How many faults of each kind there were, and how long rounds stood still. */
static void fault_lines(FILE *out, const meter_summary *s)
{
    const char *label = "faults";
    for (size_t k = 0; k < METER_FAULTS; k++) {
        const meter_fault_summary *f = &s->faults[k];
        char median[32], most[32];
        show_seconds(f->median_s, median, sizeof median);
        show_seconds(f->most_s, most, sizeof most);
        if (f->recovered)
            show_line(out, "  %-11s %s %zu; the next round after %s (median), at most %s", label,
                      meter_faults[k], f->count, median, most);
        else if (f->count)
            show_line(out, "  %-11s %s %zu", label, meter_faults[k], f->count);
        label = f->count ? "" : label;
    }
}

void show_summary_lines(FILE *out, const meter_history *history)
{
    meter_summary s = meter_summarize(history);
    char seconds[32], bytes[32];
    end_line(out, s.end);
    show_seconds(s.seconds, seconds, sizeof seconds);
    if (s.start)
        show_line(out, "  %-11s %lld of %lld in %s", "epochs", (long long)s.last_epoch,
                  (long long)s.start->epochs, seconds);
    if (!isnan(s.accuracy))
        show_line(out, "  %-11s %.2f %%", "accuracy", 100 * s.accuracy);
    if (!isnan(s.prediction_error))
        show_line(out, "  %-11s off by %.1f %% in the mean", "prediction",
                  100 * s.prediction_error);
    show_bytes(s.moved_bytes, bytes, sizeof bytes);
    show_seconds(s.moved_s, seconds, sizeof seconds);
    if (s.moves)
        show_line(out, "  %-11s %zu, %s in %s", "moves", s.moves, bytes, seconds);
    else
        show_line(out, "  %-11s none", "moves");
    lost_lines(out, history);
    late_lines(out, history);
    fault_lines(out, &s);
    if (s.checkpoint)
        show_line(out, "  %-11s %s", "checkpoint", or_empty(s.checkpoint->text));
}
