/* A library to be preloaded into the processes of a job: each tells a driver of every frame it has
 * begun to send or has received whole, and of every signal it is about to send, and stands still
 * until the driver answers. So the driver sees one ordered trace of the whole job, and a fault
 * strikes exactly where it shall, without a hook in the program.
 *
 * Report and answer travel over the SEQPACKET socket that EDGEPS_PROBE names. Frames are known by
 * the header of docs/protocol.md. A send ends behind the next header, so that a sender stands in
 * the middle of its frame; what is read is only watched. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST_FDS 1024
#define HEADER_BYTES 64
#define LENGTH_AT 40
#define MOST_PIECES 64
#define EXPORT __attribute__((visibility("default")))

/* Reports: H hello, S sends, R has received, K is about to kill. */
typedef struct report {
    char kind;
    int32_t number; /* H: own process, S and R: the descriptor, K: the process */
    uint8_t header[HEADER_BYTES];
} report;

/* Answers; any other, and none, means: go on. */
enum { CUT = 'c', FULL = 'f', ROOM = 'e', SPARE = 's' };

/* Where in the sequence of frames one direction of a connection is. */
typedef struct track {
    uint8_t header[HEADER_BYTES];
    size_t header_done;
    uint64_t payload_left;
} track;

static track tracks[2][MOST_FDS]; /* sent, received; used by the loop's thread only */
static atomic_bool full;
static int driver = -1;

/* The function behind ours. */
#define BEHIND(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* Tells the driver and waits for its word. */
static char tell(char kind, int32_t number, const void *header, size_t bytes)
{
    report r = {.kind = kind, .number = number};
    char answer = 0;
    ssize_t got;
    int before = errno;
    memcpy(r.header, header, bytes < sizeof r.header ? bytes : sizeof r.header);
    if (driver < 0 || send(driver, &r, sizeof r, MSG_NOSIGNAL) < 0)
        return 0;
    while ((got = recv(driver, &answer, 1, 0)) < 0 && errno == EINTR)
        ;
    errno = before;
    if (answer == FULL || answer == ROOM)
        full = answer == FULL;
    return got == 1 ? answer : 0;
}

/* The driver knows a process by the end of its command line. */
static __attribute__((constructor)) void begin(void)
{
    const char *path = getenv("EDGEPS_PROBE");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || strlen(path) >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, strlen(path));
    driver = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(driver, (const struct sockaddr *)&address, sizeof address)) {
        close(driver);
        driver = -1;
    }
    tell('H', getpid(), "", 0);
}

static void point(int fd, char kind, const track *t)
{
    if (tell(kind, fd, t->header, HEADER_BYTES) == CUT)
        shutdown(fd, SHUT_RDWR);
}

/* Books bytes of one direction, and tells of what they begin or complete. */
static void follow(int fd, track *t, char kind, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        size_t part = HEADER_BYTES - t->header_done;
        if (part == 0) {
            part = count < t->payload_left ? count : (size_t)t->payload_left;
            t->payload_left -= part;
        } else {
            part = count < part ? count : part;
            memcpy(t->header + t->header_done, bytes, part);
            t->header_done += part;
            if (t->header_done == HEADER_BYTES) {
                memcpy(&t->payload_left, t->header + LENGTH_AT, sizeof t->payload_left);
                if (kind == 'S')
                    point(fd, kind, t);
            }
        }
        bytes += part;
        count -= part;
        if (t->header_done == HEADER_BYTES && t->payload_left == 0) {
            t->header_done = 0;
            if (kind == 'R')
                point(fd, kind, t);
        }
    }
}

static void follow_pieces(int fd, char kind, const struct iovec *pieces, size_t count, ssize_t done)
{
    size_t left = done > 0 ? (size_t)done : 0;
    for (size_t k = 0; k < count && left > 0; k++) {
        size_t part = pieces[k].iov_len < left ? pieces[k].iov_len : left;
        follow(fd, &tracks[kind == 'R'][fd], kind, pieces[k].iov_base, part);
        left -= part;
    }
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    static __typeof__(&sendmsg) behind;
    struct iovec pieces[MOST_PIECES];
    struct msghdr shorter = *message;
    if (!behind)
        behind = BEHIND(sendmsg);
    if (fd < 0 || fd >= MOST_FDS || message->msg_iovlen > MOST_PIECES)
        return behind(fd, message, flags);
    const track *t = &tracks[0][fd];
    uint64_t limit = t->header_done < HEADER_BYTES ? HEADER_BYTES - t->header_done
                                                   : t->payload_left + HEADER_BYTES;
    shorter.msg_iov = pieces;
    shorter.msg_iovlen = 0;
    for (size_t k = 0; k < message->msg_iovlen && limit > 0; k++) {
        struct iovec *piece = &pieces[shorter.msg_iovlen++];
        *piece = message->msg_iov[k];
        if (piece->iov_len > limit)
            piece->iov_len = limit;
        limit -= piece->iov_len;
    }
    ssize_t done = behind(fd, &shorter, flags);
    follow_pieces(fd, 'S', pieces, shorter.msg_iovlen, done);
    return done;
}

EXPORT ssize_t readv(int fd, const struct iovec *pieces, int count)
{
    static __typeof__(&readv) behind;
    if (!behind)
        behind = BEHIND(readv);
    ssize_t done = behind(fd, pieces, count);
    if (fd >= 0 && fd < MOST_FDS && count > 0)
        follow_pieces(fd, 'R', pieces, (size_t)count, done);
    return done;
}

EXPORT int close(int fd)
{
    static __typeof__(&close) behind;
    if (!behind)
        behind = BEHIND(close);
    for (int k = 0; k < 2 && fd >= 0 && fd < MOST_FDS; k++)
        tracks[k][fd] = (track){.header_done = 0};
    return behind(fd);
}

EXPORT int kill(pid_t process, int signo)
{
    static __typeof__(&kill) behind;
    if (!behind)
        behind = BEHIND(kill);
    if (signo == SIGKILL && tell('K', process, "", 0) == SPARE)
        return 0;
    return behind(process, signo);
}

/* Whether the disk under this descriptor is full. */
static bool is_full(int fd)
{
    struct stat about;
    return full && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t count)
{
    static __typeof__(&write) behind;
    if (!behind)
        behind = BEHIND(write);
    if (!is_full(fd))
        return behind(fd, bytes, count);
    errno = ENOSPC;
    return -1;
}

EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
    static __typeof__(&pwrite64) behind;
    if (!behind)
        behind = BEHIND(pwrite64);
    if (!is_full(fd))
        return behind(fd, bytes, count, at);
    errno = ENOSPC;
    return -1;
}

EXPORT int fstatvfs(int fd, struct statvfs *about)
{
    static __typeof__(&fstatvfs) behind;
    if (!behind)
        behind = BEHIND(fstatvfs);
    int failed = behind(fd, about);
    if (!failed && full)
        about->f_bavail = about->f_bfree = 0;
    return failed;
}

EXPORT int posix_fallocate(int fd, off_t from, off_t count)
{
    static __typeof__(&posix_fallocate) behind;
    if (!behind)
        behind = BEHIND(posix_fallocate);
    return is_full(fd) ? ENOSPC : behind(fd, from, count);
}
