#include "lab/docker_int.h"

#include "lab/group_int.h"
#include "lab/storage_int.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <inttypes.h>
#include <link.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOME "/run/dockerd" /* of the lab's own daemon, in the keeper's mount namespace */
#define IMAGE_FILE "/run/edgeps-lab.tar"
#define SERVE_MS 60000
#define AT_ONCE 4 /* containers */
#define WORDS 240
#define NAME_BYTES 64
#define MOST_IDLE 1000

extern char **environ;

/* A command line. */
typedef struct words {
    char *argv[WORDS + 1];
    size_t count;
    char text[32768];
    size_t used;
    bool full;
} words;

/* A program at work. */
typedef struct call {
    pid_t pid;
    FILE *out;  /* what it answers */
    FILE *said; /* what it complains of */
} call;

__attribute__((format(printf, 2, 3))) static void add(words *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(w->text + w->used, sizeof w->text - w->used, format, list);
    va_end(list);
    if (length < 0 || (size_t)length >= sizeof w->text - w->used || w->count == WORDS) {
        w->full = true;
        return;
    }
    w->argv[w->count++] = w->text + w->used;
    w->argv[w->count] = NULL;
    w->used += (size_t)length + 1;
}

static void begin_words(words *w, const docker *d)
{
    w->count = w->used = 0;
    w->full = false;
    add(w, "docker");
    if (*d->host) {
        add(w, "--host");
        add(w, "%s", d->host);
    }
}

static FILE *nameless(void)
{
    int fd = memfd_create("edgeps-docker", MFD_CLOEXEC);
    return fd < 0 ? NULL : fdopen(fd, "w+");
}

static int spawn(char *const *argv, int out, int said, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
    int failed = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static void close_call(call *c)
{
    if (c->out)
        fclose(c->out);
    if (c->said)
        fclose(c->said);
    *c = (call){.pid = 0};
}

static edgeps_err begin(const words *w, call *c, edgeps_diag *diag)
{
    *c = (call){.out = nameless(), .said = nameless()};
    int failed = w->full             ? E2BIG
                 : c->out && c->said ? spawn(w->argv, fileno(c->out), fileno(c->said), &c->pid)
                                     : errno;
    if (!failed)
        return EDGEPS_OK;
    close_call(c);
    if (failed == ENOENT)
        return diag_fail(diag, EDGEPS_UNSUPPORTED,
                         "%s is not installed; the package docker.io has it", w->argv[0]);
    return diag_fail(diag, EDGEPS_IO, "%s: cannot be started: %s", w->argv[0], strerror(failed));
}

/* The last line that is not blank. */
static void take_last(FILE *file, char *last, size_t size)
{
    char line[512];
    *last = '\0';
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            snprintf(last, size, "%s", line);
    }
}

/* Waits for it; its last line is the answer. */
static edgeps_err finish(call *c, edgeps_diag *diag, char answer[256])
{
    int status = 0;
    char why[256];
    edgeps_err err = EDGEPS_OK;
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    take_last(c->out, answer, 256);
    take_last(c->said, why, sizeof why);
    if (status && strstr(why, "Cannot connect to the Docker daemon"))
        err = diag_fail(diag, EDGEPS_UNSUPPORTED,
                        "%s; start it, or let the lab start its own: --own-dockerd", why);
    else if (status)
        err = diag_fail(diag, EDGEPS_IO, "docker: %s", *why ? why : "failed");
    close_call(c);
    return err;
}

static edgeps_err run(const words *w, edgeps_diag *diag, char answer[256])
{
    call c;
    edgeps_err err = begin(w, &c, diag);
    return err ? err : finish(&c, diag, answer);
}

static void name_container(const docker *d, size_t node, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "edgeps-lab-%d-n%zu", d->lab, node);
}

/* ---- the lab's own daemon */

static edgeps_err write_file(const char *path, const char *text, edgeps_diag *diag)
{
    FILE *file = fopen(path, "we");
    bool good = file && fputs(text, file) >= 0;
    good = file && fclose(file) == 0 && good;
    return good ? EDGEPS_OK : diag_fail(diag, EDGEPS_IO, "%s: %s", path, strerror(errno));
}

/* Where the daemon says that it serves, as sd_notify(3) has it. */
static int listen_for_word(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = HOME "/notify"};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Whether the word comes before the daemon's end. */
static bool serves(int word, pid_t daemon)
{
    struct pollfd either[] = {{.fd = word, .events = POLLIN},
                              {.fd = (int)syscall(SYS_pidfd_open, daemon, 0), .events = POLLIN}};
    char text[64] = "";
    bool ready = false;
    while (!ready && either[1].fd >= 0 && !either[1].revents) {
        int count = poll(either, 2, SERVE_MS);
        if (count == 0 || (count < 0 && errno != EINTR))
            break;
        ready = either[0].revents && recv(word, text, sizeof text - 1, 0) > 0 &&
                strstr(text, "READY=1");
    }
    if (either[1].fd >= 0)
        close(either[1].fd);
    return ready;
}

static void describe_daemon(const docker *d, words *w)
{
    w->count = w->used = 0;
    w->full = false;
    add(w, "dockerd");
    add(w, "--config-file=" HOME "/config.json");
    add(w, "--data-root=" HOME "/data");
    add(w, "--exec-root=" HOME "/exec");
    add(w, "--pidfile=" HOME "/pid");
    add(w, "--host=" DOCKER_OWN_HOST);
    add(w, "--iptables=false");
    add(w, "--bridge=none");
    add(w, "--exec-opt=native.cgroupdriver=cgroupfs");
    add(w, "--cgroup-parent=/edgeps-lab-%d", d->lab);
}

/* Its numbers of processes are those of the keeper's namespace, and so has to be its /proc. */
edgeps_err docker_serve(const docker *d, edgeps_diag *diag)
{
    words w;
    pid_t daemon = -1;
    char why[256];
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) || mkdir(HOME, 0700))
        return diag_fail(diag, EDGEPS_UNSUPPORTED, "no place for a Docker daemon: %s",
                         strerror(errno));
    edgeps_err err = write_file(HOME "/config.json", "{}\n", diag);
    if (err)
        return err;
    FILE *log = fopen(HOME "/log", "we+");
    int word = listen_for_word();
    describe_daemon(d, &w);
    setenv("NOTIFY_SOCKET", HOME "/notify", 1);
    int failed = !log || word < 0 ? errno : spawn(w.argv, fileno(log), fileno(log), &daemon);
    unsetenv("NOTIFY_SOCKET");
    if (failed) {
        err = diag_fail(diag, EDGEPS_UNSUPPORTED,
                        "dockerd: cannot be started: %s; the package docker.io has it",
                        strerror(failed));
    } else if (!serves(word, daemon)) {
        take_last(log, why, sizeof why);
        err = diag_fail(diag, EDGEPS_UNSUPPORTED, "dockerd cannot run here: %s", why);
    }
    if (word >= 0)
        close(word);
    if (log)
        fclose(log);
    return err;
}

/* ---- image and containers */

/* Of each library of this process; the names are relative to the root. */
static int add_library(struct dl_phdr_info *library, size_t size, void *context)
{
    (void)size;
    if (library->dlpi_name && library->dlpi_name[0] == '/')
        add(context, "%s", library->dlpi_name + 1);
    return 0;
}

static bool name_program(char path[4096])
{
    ssize_t length = readlink("/proc/self/exe", path, 4095);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

edgeps_err docker_pack(const char *archive, edgeps_diag *diag)
{
    words w = {.count = 0};
    char answer[256], program[4096];
    if (!name_program(program))
        return diag_fail(diag, EDGEPS_IO, "/proc/self/exe: cannot find this program");
    add(&w, "tar");
    add(&w, "--create");
    add(&w, "--dereference");
    add(&w, "--file=%s", archive);
    add(&w, "--directory=/");
    add(&w, "--");
    add(&w, "%s", program + 1);
    dl_iterate_phdr(add_library, &w);
    edgeps_err err = run(&w, diag, answer);
    return err ? diag_wrap(diag, err, "the image") : EDGEPS_OK;
}

static edgeps_err make_image(const docker *d, edgeps_diag *diag)
{
    words w;
    char answer[256];
    edgeps_err err = docker_pack(IMAGE_FILE, diag);
    if (err)
        return err;
    begin_words(&w, d);
    add(&w, "import");
    add(&w, IMAGE_FILE);
    add(&w, "edgeps-lab:%d", d->lab);
    err = run(&w, diag, answer);
    unlink(IMAGE_FILE);
    return err;
}

static void add_share(words *w, double share)
{
    group_quota q = group_quota_of(share);
    add(w, "--cpu-period=%ld", q.period_us);
    add(w, "--cpu-quota=%ld", q.quota_us);
}

/* What is in the storage counts as memory of the container, too. */
static void describe_container(const docker *d, const network_node *node, size_t index,
                               const char *program, words *w)
{
    char name[NAME_BYTES];
    int64_t storage = storage_whole_bytes(node->free_bytes > 0 ? node->free_bytes : 1);
    name_container(d, index, name);
    begin_words(w, d);
    add(w, "run");
    add(w, "--detach");
    add(w, "--name=%s", name);
    add(w, "--label=edgeps.lab=%d", d->lab);
    add(w, "--label=edgeps.node=%s", node->name);
    add(w, "--network=none");
    add(w, "--tmpfs=" DOCKER_STORAGE ":size=%" PRId64 ",mode=755", storage);
    if (storage < INT64_MAX - d->memory_bytes)
        add(w, "--memory=%" PRId64 "b", d->memory_bytes + storage);
    if (d->core_samples_per_s > 0)
        add_share(w, group_share(node, d->core_samples_per_s));
    for (size_t k = 0; d->folders && d->folders[k]; k++)
        add(w, "--volume=%s:%s:ro", d->folders[k], d->folders[k]);
    add(w, "edgeps-lab:%d", d->lab);
    add(w, "%s", program);
    add(w, "lab");
    add(w, "wait");
}

static edgeps_err make_containers(const docker *d, const network *net, const char *program,
                                  edgeps_diag *diag)
{
    words w;
    call calls[AT_ONCE];
    char answer[256];
    edgeps_err err = EDGEPS_OK, one;
    for (size_t i = 0, under_way; !err && i < net->count; i += AT_ONCE) {
        for (under_way = 0; !err && under_way < AT_ONCE && i + under_way < net->count;) {
            describe_container(d, &net->nodes[i + under_way], i + under_way, program, &w);
            err = begin(&w, &calls[under_way], diag);
            under_way += !err;
        }
        for (size_t k = 0; k < under_way; k++) {
            one = finish(&calls[k], err ? NULL : diag, answer);
            if (!err && one)
                err = diag_wrap(diag, one, "node '%s'", net->nodes[i + k].name);
        }
    }
    return err;
}

edgeps_err docker_make(const docker *d, const network *net, edgeps_diag *diag)
{
    char program[4096];
    if (!name_program(program))
        return diag_fail(diag, EDGEPS_IO, "/proc/self/exe: cannot find this program");
    edgeps_err err = make_image(d, diag);
    return err ? err : make_containers(d, net, program, diag);
}

/* Whether the kernel here knows that process as one of the container. */
static bool is_here(pid_t pid, const char *id)
{
    char path[64], line[512];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, id) != NULL;
    if (file)
        fclose(file);
    return found;
}

edgeps_err docker_find(const docker *d, size_t node, edgeps_diag *diag, pid_t *pid)
{
    words w;
    char name[NAME_BYTES], answer[256], *rest;
    name_container(d, node, name);
    begin_words(&w, d);
    add(&w, "inspect");
    add(&w, "--format={{.State.Pid}} {{.Id}}");
    add(&w, "%s", name);
    edgeps_err err = run(&w, diag, answer);
    if (err)
        return err;
    long number = strtol(answer, &rest, 10);
    if (number <= 0)
        return diag_fail(diag, EDGEPS_IO, "container %s does not run; see: docker logs %s", name,
                         name);
    if (*rest != ' ' || !is_here((pid_t)number, rest + 1))
        return diag_fail(diag, EDGEPS_UNSUPPORTED,
                         "the Docker daemon's containers are not on this machine; --own-dockerd "
                         "starts one that is");
    *pid = (pid_t)number;
    return EDGEPS_OK;
}

void docker_watch(const docker *d, size_t count, void (*started)(void *context, size_t node),
                  void *context)
{
    words w;
    pid_t pid;
    char line[NAME_BYTES];
    int ends[2], null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    begin_words(&w, d);
    add(&w, "events");
    add(&w, "--since=%lld.%09ld", (long long)now.tv_sec, now.tv_nsec);
    add(&w, "--filter=label=edgeps.lab=%d", d->lab);
    add(&w, "--filter=event=start");
    add(&w, "--format={{.Actor.Attributes.name}}");
    if (null < 0 || pipe2(ends, O_CLOEXEC) || spawn(w.argv, ends[1], null, &pid))
        return;
    close(ends[1]);
    FILE *events = fdopen(ends[0], "r");
    while (events && fgets(line, sizeof line, events)) {
        const char *number = strstr(line, "-n");
        size_t node = number ? strtoul(number + 2, NULL, 10) : count;
        if (node < count)
            started(context, node);
    }
}

edgeps_err docker_set_share(const docker *d, size_t node, double share, edgeps_diag *diag)
{
    words w;
    char name[NAME_BYTES], answer[256];
    name_container(d, node, name);
    begin_words(&w, d);
    add(&w, "update");
    add_share(&w, share);
    add(&w, "%s", name);
    return run(&w, diag, answer);
}

/* ---- the end */

/* Groups of a daemon that has ended; a group is busy until its last process is collected. */
static void remove_groups(const char *path)
{
    char *roots[] = {(char *)path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOSTAT, NULL);
    for (FTSENT *at; tree && (at = fts_read(tree)) != NULL;)
        for (int k = 0; at->fts_info == FTS_DP && k < MOST_IDLE; k++)
            if (rmdir(at->fts_accpath) == 0 || errno != EBUSY)
                break;
    if (tree)
        fts_close(tree);
}

static void remove_all_groups(const docker *d)
{
    char pattern[96];
    glob_t found = {.gl_pathc = 0};
    snprintf(pattern, sizeof pattern, "/sys/fs/cgroup/{.,*}/edgeps-lab-%d", d->lab);
    if (glob(pattern, GLOB_BRACE, NULL, &found) == 0)
        for (size_t k = 0; k < found.gl_pathc; k++)
            remove_groups(found.gl_pathv[k]);
    globfree(&found);
}

/* As many as a command line holds; whether there were any. */
static bool remove_some(const docker *d)
{
    words w, list;
    call c;
    char line[128], answer[256];
    begin_words(&list, d);
    add(&list, "ps");
    add(&list, "--all");
    add(&list, "--quiet");
    add(&list, "--filter=label=edgeps.lab=%d", d->lab);
    if (begin(&list, &c, NULL))
        return false;
    while (waitpid(c.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    begin_words(&w, d);
    add(&w, "rm");
    add(&w, "--force");
    size_t before = w.count;
    rewind(c.out);
    while (w.count < WORDS && fgets(line, sizeof line, c.out))
        add(&w, "%.*s", (int)strcspn(line, "\n"), line);
    close_call(&c);
    return w.count > before && run(&w, NULL, answer) == EDGEPS_OK;
}

void docker_remove(const docker *d)
{
    words w;
    char answer[256];
    if (d->own) {
        remove_all_groups(d);
        return;
    }
    while (remove_some(d))
        ;
    begin_words(&w, d);
    add(&w, "rmi");
    add(&w, "--force");
    add(&w, "edgeps-lab:%d", d->lab);
    run(&w, NULL, answer);
}
