/* A flood of malformed connections against every port of a job that trains over TLS. Epochs are
 * flooded and left alone in turns; all of them must come to their end. The argument is the number
 * of connections; how long an epoch takes with and without them is printed. */
#include "integration/command.h"

#include "base/rng.h"
#include "nn/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { EPOCHS = 11, MOST_PORTS = 16, HELD = 64 };

static long connections = 400;

typedef struct flood {
    int ports[MOST_PORTS];
    size_t count;
    int held[HELD]; /* connections that stay open a while */
    size_t next;
    long struck;
    atomic_long due; /* of the present epoch */
    atomic_bool over;
    rng random;
} flood;

/* The port that the socket with this inode listens at, or 0: of a line of /proc/net/tcp the second
 * field is the address, the fourth the state (0A: listens), the tenth the inode. */
static int listens_at(unsigned long inode)
{
    char line[512], *rest, *fields[10];
    int port = 0;
    FILE *file = fopen("/proc/net/tcp", "re");
    while (file && !port && fgets(line, sizeof line, file)) {
        size_t count = 0;
        for (char *f = strtok_r(line, " ", &rest); f && count < 10; f = strtok_r(NULL, " ", &rest))
            fields[count++] = f;
        const char *colon = count == 10 ? strchr(fields[1], ':') : NULL;
        if (colon && strcmp(fields[3], "0A") == 0 && strtoul(fields[9], NULL, 10) == inode)
            port = (int)strtol(colon + 1, NULL, 16);
    }
    if (file)
        fclose(file);
    return port;
}

static void take_ports_of(flood *f, const char *pid)
{
    char path[300], target[64];
    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && (e = readdir(folder)) != NULL && f->count < MOST_PORTS;) {
        snprintf(path, sizeof path, "/proc/%.20s/fd/%.20s", pid, e->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length <= 8 || strncmp(target, "socket:[", 8) != 0)
            continue;
        target[length] = '\0';
        int port = listens_at(strtoul(target + 8, NULL, 10));
        if (port)
            f->ports[f->count++] = port;
    }
    if (folder)
        closedir(folder);
}

/* Every port that a process of the run listens at. */
static void take_ports(flood *f, pid_t group)
{
    DIR *folder = opendir("/proc");
    assert_non_null(folder);
    f->count = 0;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && getpgid(pid) == group)
            take_ports_of(f, e->d_name);
    }
    closedir(folder);
}

/* One connection: silence, noise, a greeting that breaks off, a plain frame, or another protocol.
 */
static void strike(flood *f)
{
    static const char *const words[] = {"", "", "\x16\x03\x01\x0f\x00\x01\x00\x0e\xfc\x03\x03",
                                        "EDGP\x01\x00\x20\x00", "GET / HTTP/1.1\r\n\r\n"};
    static const size_t lengths[] = {0, 0, 11, 8, 18};
    uint8_t bytes[256];
    size_t kind = rng_below(&f->random, 5);
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_port = htons((uint16_t)f->ports[rng_below(&f->random, f->count)]);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (uint8_t)rng_next(&f->random);
    memcpy(bytes, words[kind], lengths[kind]);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    /* Who has gone between is no fault. */
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 && kind > 0)
        (void)!send(fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (f->held[f->next] > 0)
        close(f->held[f->next]);
    f->held[f->next] = fd;
    f->next = (f->next + 1) % HELD;
}

static void write_network(const char *path)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("{\"edgeps\": \"network/1\", \"name\": \"four\", \"nodes\": [\n", file);
    for (int i = 0; i < 4; i++)
        fprintf(file,
                "%s{\"name\": \"%c\", \"up\": \"100 Mbit/s\", \"down\": \"100 Mbit/s\","
                " \"compute\": \"4000 samples/s\", \"free\": \"16 MiB\"}",
                i ? ",\n" : "", 'a' + i);
    fputs("]}\n", file);
    assert_int_equal(fclose(file), 0);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Seconds of each epoch out of the events; -1 where there is none. */
static void read_epochs(const command *c, double seconds[EPOCHS + 1])
{
    char words[64];
    for (int k = 1; k <= EPOCHS; k++) {
        snprintf(words, sizeof words, "\"epoch\":%d,", k);
        seconds[k] = -1;
        for (const char *at = c->text; (at = strstr(at, "\"event\":\"epoch\"")) != NULL; at++) {
            const char *end = strchr(at, '\n'), *own = strstr(at, words);
            const char *value = strstr(at, "\"measured_s\":");
            if (own && end && own < end && value && value < end)
                seconds[k] = strtod(value + 13, NULL);
        }
    }
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

/* The first epoch warms up; then they take turns. */
static void report(const flood *f, const double seconds[EPOCHS + 1])
{
    double quiet[EPOCHS], flooded[EPOCHS];
    size_t quiets = 0, floods = 0;
    for (int k = 2; k <= EPOCHS; k++) {
        assert_true(seconds[k] > 0);
        if (k % 2)
            quiet[quiets++] = seconds[k];
        else
            flooded[floods++] = seconds[k];
    }
    double calm = median(quiet, quiets), busy = median(flooded, floods);
    printf("%ld connections: medians of an epoch %.3f s flooded, %.3f s quiet, ratio %.3f\n",
           f->struck, busy, calm, busy / calm);
}

/* Strikes at a steady pace while an epoch is to be flooded. */
static void *keep_striking(void *of)
{
    flood *f = of;
    const struct timespec pace = {.tv_nsec = 400000};
    while (!atomic_load(&f->over)) {
        nanosleep(&pace, NULL);
        if (atomic_load(&f->due) <= 0)
            continue;
        strike(f);
        atomic_fetch_sub(&f->due, 1);
        f->struck++;
    }
    return NULL;
}

static void start(command *c, const char *dir)
{
    static char data[96], out[96], network[96], certs[96];
    snprintf(data, sizeof data, "%s/data", dir);
    snprintf(out, sizeof out, "%s/run", dir);
    snprintf(network, sizeof network, "%s/network.json", dir);
    snprintf(certs, sizeof certs, "%s/certs", dir);
    assert_int_equal(mkdir(data, 0700), 0);
    assert_int_equal(nn_synthetic_write(data, connections > 1000 ? 3000 : 300, 200, 7, NULL),
                     EDGEPS_OK);
    write_network(network);
    command_run(c, (const char *const[]){"cert", "init", "--out", certs, "--nodes", network, NULL});
    assert_int_equal(c->status, 0);
    command_start(c, (const char *const[]){"run", network, "--model", "mlp", "--data", data,
                                           "--out", out, "--batch", "25", "--epochs", "11",
                                           "--certs", certs, "--adjust", "off", "--json", NULL});
}

static void every_epoch_ends_in_a_flood(void **state)
{
    (void)state;
    static command c;
    static flood f;
    char dir[64], words[64];
    double seconds[EPOCHS + 1];
    pthread_t striker;
    f.random = rng_make(17, 1);
    folder_make(dir);
    start(&c, dir);
    for (int k = 1; k <= EPOCHS; k++) {
        snprintf(words, sizeof words, "\"epoch\":%d,\"generation\":1,\"rounds\"", k);
        if (!command_await(&c, words))
            fail_msg("epoch %d did not end: %s", k, c.text);
        if (k == 1) {
            take_ports(&f, c.pid);
            assert_int_equal(f.count, 5);
            assert_int_equal(pthread_create(&striker, NULL, keep_striking, &f), 0);
        }
        atomic_store(&f.due, k % 2 && k < EPOCHS ? connections / (EPOCHS / 2) : 0);
    }
    atomic_store(&f.over, true);
    pthread_join(striker, NULL);
    command_finish(&c);
    assert_int_equal(c.status, 0);
    if (!strstr(c.text, "refused 127.0.0.1"))
        fail_msg("no refusal was logged: %s", c.text);
    read_epochs(&c, seconds);
    report(&f, seconds);
    for (size_t k = 0; k < HELD; k++)
        if (f.held[k] > 0)
            close(f.held[k]);
    folder_remove(dir);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_epoch_ends_in_a_flood)};
    if (argc > 1)
        connections = strtol(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
