/* Bytes per second of frames through the event loop, plain and over TLS, beside plain blocking
 * sockets in the same run:
 * gradients of 16 MiB in chunks of 256 KiB over loopback, the sender in a process of its own. */
#include "base/clock.h"
#include "loop/loop.h"
#include "trust/cert.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEADER_BYTES 64
#define CHUNK_BYTES (256 << 10)
#define CHUNKS 64 /* of a gradient */
#define GRADIENTS 64
#define RUNS 11
#define TOTAL_BYTES ((double)GRADIENTS * CHUNKS * CHUNK_BYTES)

static uint8_t gradient[CHUNKS][CHUNK_BYTES];

typedef struct side {
    loop *l;
    conn *c;
    long frames;
    long gradients_left;
    int64_t first_ns, last_ns;
} side;

static edgeps_err payload_bytes(void *ctx, const uint8_t *header, uint64_t *bytes,
                                edgeps_diag *diag)
{
    (void)ctx;
    (void)header;
    (void)diag;
    *bytes = CHUNK_BYTES;
    return EDGEPS_OK;
}

static void *payload_buffer(void *ctx, conn *c, const uint8_t *header, uint64_t bytes)
{
    side *s = ctx;
    (void)c;
    (void)header;
    (void)bytes;
    return gradient[s->frames % CHUNKS];
}

static void frame(void *ctx, conn *c, const uint8_t *header, void *payload)
{
    side *s = ctx;
    (void)c;
    (void)header;
    (void)payload;
    s->last_ns = clock_now_ns();
    if (s->frames++ == 0)
        s->first_ns = s->last_ns;
}

static void closed(void *ctx, conn *c, edgeps_err err, const char *text)
{
    side *s = ctx;
    (void)c;
    (void)err;
    (void)text;
    loop_stop(s->l);
}

static const loop_handlers handlers = {
    .framing = {HEADER_BYTES, payload_bytes},
    .payload_buffer = payload_buffer,
    .frame = frame,
    .closed = closed,
};

static void accepted(void *ctx, conn *c) { conn_attach(c, &handlers, ctx); }

static void send_gradient(side *s);

static void last_chunk_sent(void *ctx, edgeps_err err)
{
    side *s = ctx;
    if (!err && --s->gradients_left > 0)
        send_gradient(s);
    else
        conn_close(s->c);
}

static void send_gradient(side *s)
{
    static const uint8_t header[HEADER_BYTES];
    for (int i = 0; i < CHUNKS; i++) {
        const conn_frame f = {.header = header,
                              .payload = gradient[i],
                              .bytes = CHUNK_BYTES,
                              .sent = i == CHUNKS - 1 ? last_chunk_sent : NULL,
                              .ctx = s};
        if (conn_send(s->c, &f))
            conn_close(s->c);
    }
}

static void send_frames(int port, const trust *keys)
{
    side s = {.gradients_left = GRADIENTS};
    if (loop_make(NULL, &s.l))
        _exit(1);
    loop_secure(s.l, keys);
    if (loop_connect(s.l, "127.0.0.1", port, &handlers, &s, &s.c) != EDGEPS_OK)
        _exit(1);
    send_gradient(&s);
    loop_run(s.l);
    loop_free(s.l);
    _exit(0);
}

/* Bytes per second through two loops, 0 on a failure. */
static double measure_loop(const trust *keys)
{
    side s = {.frames = 0};
    loop_listener *listener = NULL;
    const loop_acceptor acceptor = {accepted, &s};
    if (loop_make(NULL, &s.l))
        return 0;
    loop_secure(s.l, keys);
    if (loop_listen(s.l, "127.0.0.1", 0, &acceptor, NULL, &listener)) {
        loop_free(s.l);
        return 0;
    }
    if (fork() == 0)
        send_frames(loop_listener_port(listener), keys);
    loop_run(s.l);
    loop_free(s.l);
    wait(NULL);
    return TOTAL_BYTES * CLOCK_NS_PER_S / (double)(s.last_ns - s.first_ns);
}

static void write_plain(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        _exit(1);
    for (long i = 0; i < (long)GRADIENTS * CHUNKS; i++)
        for (ssize_t done = 0, n = 1; n > 0 && done < CHUNK_BYTES; done += n)
            n = write(fd, gradient[i % CHUNKS] + done, (size_t)(CHUNK_BYTES - done));
    _exit(0);
}

/* Bytes per second through plain sockets. */
static double measure_plain(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&at, length) != 0 || listen(listening, 1) != 0 ||
        getsockname(listening, (struct sockaddr *)&at, &length) != 0)
        return 0;
    if (fork() == 0)
        write_plain(ntohs(at.sin_port));
    int fd = accept(listening, NULL, NULL);
    int64_t start_ns = 0;
    for (long i = 0; recv(fd, gradient[i % CHUNKS], CHUNK_BYTES, MSG_WAITALL) == CHUNK_BYTES; i++)
        if (i == 0)
            start_ns = clock_now_ns();
    double took_ns = (double)(clock_now_ns() - start_ns);
    close(fd);
    close(listening);
    wait(NULL);
    return TOTAL_BYTES * CLOCK_NS_PER_S / took_ns;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* One member plays both sides. */
static trust *make_keys(void)
{
    char folder[] = "/tmp/edgeps-bench-XXXXXX", path[64];
    static const char *const files[] = {"authority.pem", "authority.key", "node-a.pem"};
    trust *keys = NULL;
    if (!mkdtemp(folder) || cert_make_authority(folder, "bench", 1, false, NULL) ||
        cert_make_member(folder, "node/a", 1, false, NULL) ||
        trust_load(folder, "node/a", NULL, &keys))
        return NULL;
    for (size_t k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[k]);
        unlink(path);
    }
    rmdir(folder);
    return keys;
}

int main(void)
{
    double plain[RUNS], framed[RUNS], ratio[RUNS], secured[RUNS], loss[RUNS];
    trust *keys = make_keys();
    if (!keys)
        return 1;
    memset(gradient, 1, sizeof gradient);
    /* In turns, so that other load of the machine meets both. */
    for (int i = 0; i < RUNS; i++) {
        plain[i] = measure_plain();
        framed[i] = measure_loop(NULL);
        secured[i] = measure_loop(keys);
        ratio[i] = framed[i] / plain[i];
        loss[i] = secured[i] / framed[i];
    }
    qsort(plain, RUNS, sizeof *plain, ascending);
    qsort(framed, RUNS, sizeof *framed, ascending);
    qsort(secured, RUNS, sizeof *secured, ascending);
    qsort(loss, RUNS, sizeof *loss, ascending);
    qsort(ratio, RUNS, sizeof *ratio, ascending);
    printf(
        "medians of %d runs: plain sockets %.2f GB/s, loop %.2f GB/s, ratio %.2f (%.2f to %.2f)\n",
        RUNS, plain[RUNS / 2] * 1e-9, framed[RUNS / 2] * 1e-9, ratio[RUNS / 2], ratio[0],
        ratio[RUNS - 1]);
    printf("TLS %.2f GB/s, of the loop without it %.2f (%.2f to %.2f)\n", secured[RUNS / 2] * 1e-9,
           loss[RUNS / 2], loss[0], loss[RUNS - 1]);
    trust_free(keys);
    return 0;
}
