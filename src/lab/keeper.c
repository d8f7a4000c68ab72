#include "lab/keeper_int.h"

#include "lab/container_int.h"
#include "lab/lab.h"
#include "lab/relay_int.h"
#include "lab/shape_int.h"
#include "lab/storage_int.h"
#include "lab/tool_int.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMESPACES "/run/netns"
#define OWN_NETWORK "/proc/thread-self/ns/net"

/* What the keeper tells when it has built, or could not. */
typedef struct word {
    edgeps_err err;
    char text[512];
} word;

static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return false;
    text[got] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t length = strlen(text);
    bool good = fd >= 0 && write(fd, text, length) == (ssize_t)length;
    if (fd >= 0)
        close(fd);
    return good;
}

static bool reads(const char *path, const char *expected)
{
    char text[64];
    return read_text(path, text, sizeof text) && strcmp(text, expected) == 0;
}

/* Why namespaces are refused, as far as the machine tells. */
static edgeps_err forbidden(int error, edgeps_diag *diag)
{
    static const struct {
        const char *path, *value, *remedy;
    } locks[] = {
        {"/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"},
        {"/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=10000"},
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
         "kernel.apparmor_restrict_unprivileged_userns=0"},
    };
    for (size_t k = 0; k < sizeof locks / sizeof *locks; k++)
        if (reads(locks[k].path, locks[k].value))
            return diag_fail(diag, EDGEPS_UNSUPPORTED,
                             "this machine forbids namespaces to users; run as root, or let root "
                             "enable them: sysctl -w %s",
                             locks[k].remedy);
    return diag_fail(diag, EDGEPS_UNSUPPORTED,
                     "cannot make namespaces: %s; run as root, in a container as a privileged one",
                     strerror(error));
}

static edgeps_err set_value(const char *path, const char *value, edgeps_diag *diag)
{
    if (!write_text(path, value))
        return diag_fail(diag, EDGEPS_IO, "%s cannot be set to %s: %s", path, value,
                         strerror(errno));
    return reads(path, value) ? EDGEPS_OK
                              : diag_fail(diag, EDGEPS_IO, "%s does not become %s", path, value);
}

/* Of a fresh network namespace; the files show that of who reads. What is learnt of one connection
 * is not kept for the next, whose rates may be others; what a connection has learnt, it keeps while
 * it waits for its next round. Over short ways Linux 5.18 and later hands
 * down the largest lumps at any rate, which a slow link would pass in jerks. IPv6 would only
 * chatter. */
edgeps_err keeper_tune(edgeps_diag *diag)
{
    static const char lumps[] = "/proc/sys/net/ipv4/tcp_tso_rtt_log";
    static const char filter[] = "/proc/sys/net/bridge/bridge-nf-call-iptables";
    static const char six[] = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
    edgeps_err err = set_value("/proc/sys/net/ipv4/tcp_congestion_control", LAB_CONGESTION, diag);
    if (!err)
        err = set_value("/proc/sys/net/ipv4/tcp_no_metrics_save", "1", diag);
    if (!err)
        err = set_value("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0", diag);
    if (!err && access(lumps, F_OK) == 0)
        err = set_value(lumps, "0", diag);
    if (!err && access(filter, F_OK) == 0)
        err = set_value(filter, "0", diag);
    if (!err && access(six, F_OK) == 0)
        err = set_value(six, "1", diag);
    return err;
}

static void name_namespace(size_t node, char path[32])
{
    if (node == LAB_HUB)
        snprintf(path, 32, NAMESPACES "/hub");
    else
        snprintf(path, 32, NAMESPACES "/n%zu", node);
}

edgeps_err keeper_hold(size_t node, const char *path, edgeps_diag *diag)
{
    char name[32];
    name_namespace(node, name);
    int fd = open(name, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    else if (errno != EEXIST || umount2(name, MNT_DETACH))
        return diag_fail(diag, EDGEPS_IO, "%s: %s", name, strerror(errno));
    if (mount(path, name, NULL, MS_BIND, NULL))
        return diag_fail(diag, EDGEPS_IO, "%s: cannot keep a network namespace: %s", name,
                         strerror(errno));
    return EDGEPS_OK;
}

edgeps_err keeper_enter(size_t node, edgeps_diag *diag)
{
    char path[32];
    name_namespace(node, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
    if (fd >= 0)
        close(fd);
    return good ? EDGEPS_OK : diag_fail(diag, EDGEPS_IO, "%s: %s", path, strerror(errno));
}

/* A /run of its own, so that the host's is not written to. */
static edgeps_err make_room(edgeps_diag *diag)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("edgeps-lab", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"))
        return forbidden(errno, diag);
    if (mkdir(NAMESPACES, 0755))
        return diag_fail(diag, EDGEPS_IO, NAMESPACES ": %s", strerror(errno));
    edgeps_err err = keeper_tune(diag);
    return err ? err : keeper_hold(LAB_HUB, OWN_NETWORK, diag);
}

static edgeps_err make_namespaces(const network *net, edgeps_diag *diag)
{
    edgeps_err err = EDGEPS_OK;
    for (size_t i = 0; !err && i < net->count; i++) {
        if (unshare(CLONE_NEWNET))
            err = diag_fail(diag, EDGEPS_IO, "no network namespace for node '%s': %s",
                            net->nodes[i].name, strerror(errno));
        if (!err)
            err = keeper_tune(diag);
        if (!err)
            err = keeper_hold(i, OWN_NETWORK, diag);
    }
    return err ? err : keeper_enter(LAB_HUB, diag);
}

/* Runs the tool over the batch, closes it. */
static edgeps_err finish(const char *tool, FILE *batch, edgeps_diag *diag)
{
    edgeps_err err = tool_run(tool, batch, diag);
    fclose(batch);
    return err;
}

static edgeps_err no_batch(edgeps_diag *diag)
{
    return diag_fail(diag, EDGEPS_IO, "no file for commands: %s", strerror(errno));
}

/* What flows fill before they notice that a link is full: a class' share and what is on its way
 * there and back. */
static long long queue_frames(const network *net, size_t node, double bytes_per_s)
{
    double longest_s = 0;
    for (size_t i = 0; i < net->count; i++) {
        longest_s = fmax(longest_s, network_latency_s(net, i, node));
        longest_s = fmax(longest_s, network_latency_s(net, node, i));
    }
    double frames = SHAPE_QUEUE_FRAMES + bytes_per_s * 2 * longest_s / SHAPE_FRAME_BYTES;
    return (long long)fmin(frames, SHAPE_QUEUE_MOST_FRAMES);
}

/* What joins the nodes in the hub: the bridge of control, and for the shaped links a bridge, or a
 * cable of the hub's own where a relay carries frames between cables. */
static void lay_trunk(bool relayed, FILE *batch)
{
    char shaped[LAB_ADDRESS_BYTES], control[LAB_ADDRESS_BYTES];
    lab_address(LAB_HUB, shaped);
    lab_control_address(LAB_HUB, control);
    fprintf(batch, "link set dev lo up\nlink add name control type bridge\n");
    if (relayed)
        fprintf(batch, "link add name data type veth peer name dh\nlink set dev dh up\n");
    else
        fprintf(batch, "link add name data type bridge\n");
    fprintf(batch,
            "addr add %s/16 dev data\naddr add %s/16 dev control\nlink set dev data up\n"
            "link set dev control up\n",
            shaped, control);
}

/* The trunk, and per node the two cables' ends on this side. */
static edgeps_err lay_cables(const network *net, bool relayed, edgeps_diag *diag)
{
    FILE *batch = tool_batch();
    if (!batch)
        return no_batch(diag);
    lay_trunk(relayed, batch);
    for (size_t i = 0; i < net->count; i++) {
        const network_node *node = &net->nodes[i];
        fprintf(batch,
                "link add name d%zu txqueuelen %lld type veth peer name data txqueuelen %lld netns "
                "n%zu\n",
                i, queue_frames(net, i, node->down_bytes_per_s),
                queue_frames(net, i, node->up_bytes_per_s), i);
        fprintf(batch, "link add name c%zu type veth peer name control netns n%zu\n", i, i);
        fprintf(batch, "link set dev d%zu gso_max_size %lld %s up\n", i,
                (long long)shape_lump_bytes(node->down_bytes_per_s), relayed ? "" : "master data");
        fprintf(batch, "link set dev c%zu master control up\n", i);
    }
    return finish("ip", batch, diag);
}

edgeps_err keeper_plug_in(const network *net, size_t node, edgeps_diag *diag)
{
    char shaped[LAB_ADDRESS_BYTES], control[LAB_ADDRESS_BYTES];
    FILE *batch = tool_batch();
    if (!batch)
        return no_batch(diag);
    lab_address(node, shaped);
    lab_control_address(node, control);
    fprintf(batch,
            "link set dev lo up\nlink set dev data gso_max_size %lld\naddr add %s/16 dev data\n"
            "addr add %s/16 dev control\nlink set dev data up\nlink set dev control up\n",
            (long long)shape_lump_bytes(net->nodes[node].up_bytes_per_s), shaped, control);
    edgeps_err err = finish("ip", batch, diag);
    if (err)
        return err;
    batch = tool_batch();
    if (!batch)
        return no_batch(diag);
    shape_set(batch, net, &(shape_end){"data", node, true});
    return finish("tc", batch, diag);
}

static edgeps_err shape_hub(const network *net, edgeps_diag *diag)
{
    FILE *batch = tool_batch();
    if (!batch)
        return no_batch(diag);
    for (size_t i = 0; i < net->count; i++) {
        char device[24];
        snprintf(device, sizeof device, "d%zu", i);
        shape_set(batch, net, &(shape_end){device, i, false});
    }
    return finish("tc", batch, diag);
}

static edgeps_err make_nodes(const keeper_task *task, const docker *containers, edgeps_diag *diag)
{
    if (task->options->backend == LAB_DOCKER)
        return container_make(containers, task->net, diag);
    edgeps_err err = storage_make(task->net, diag);
    return err ? err : make_namespaces(task->net, diag);
}

/* *carrier carries frames where nodes are apart; otherwise there is none. */
static edgeps_err build(const keeper_task *task, const docker *containers, edgeps_diag *diag,
                        relay **carrier)
{
    const network *net = task->net;
    bool relayed = relay_is_needed(net);
    edgeps_err err = make_room(diag);
    if (!err)
        err = make_nodes(task, containers, diag);
    if (!err)
        err = lay_cables(net, relayed, diag);
    for (size_t i = 0; !err && i < net->count; i++) {
        err = keeper_enter(i, diag);
        if (!err)
            err = keeper_plug_in(net, i, diag);
        if (err)
            diag_wrap(diag, err, "node '%s'", net->nodes[i].name);
    }
    if (!err)
        err = keeper_enter(LAB_HUB, diag);
    if (!err)
        err = shape_hub(net, diag);
    return err || !relayed ? err : relay_make(net, diag, carrier);
}

/* Maps the one user to root of the fresh user namespace. */
static edgeps_err become_root(uid_t user, gid_t group, edgeps_diag *diag)
{
    char users[32], groups[32];
    snprintf(users, sizeof users, "0 %u 1", user);
    snprintf(groups, sizeof groups, "0 %u 1", group);
    if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", users) ||
        !write_text("/proc/self/gid_map", groups))
        return forbidden(errno, diag);
    return EDGEPS_OK;
}

/* The containers, seen from the keeper, whose number outside is in the /proc that it was born with.
 */
static docker own_docker(const lab_options *o)
{
    const char *host = getenv("DOCKER_HOST");
    char number[16] = "";
    docker d = {.own = o->own_dockerd,
                .core_samples_per_s = o->core_samples_per_s,
                .memory_bytes = o->memory_bytes > 0 ? o->memory_bytes : LAB_MEMORY_BYTES,
                .folders = o->folders};
    if (readlink("/proc/self", number, sizeof number - 1) > 0)
        d.lab = (pid_t)strtol(number, NULL, 10);
    snprintf(d.host, sizeof d.host, "%s", o->own_dockerd ? DOCKER_OWN_HOST : host ? host : "");
    return d;
}

docker keeper_docker(const keeper *k)
{
    docker d = {.own = k->own_dockerd, .lab = k->pid, .core_samples_per_s = k->core_samples_per_s};
    if (k->own_dockerd)
        snprintf(d.host, sizeof d.host, "unix:///proc/%d/root%s", k->pid, DOCKER_OWN_SOCKET);
    else
        snprintf(d.host, sizeof d.host, "%s", k->docker_host);
    return d;
}

edgeps_err keeper_container_path(const keeper *k, size_t node, edgeps_diag *diag, char path[64])
{
    char link[64], target[32] = "";
    snprintf(link, sizeof link, "/proc/%d/root" CONTAINER_FOLDER "/n%zu", k->pid, node);
    if (readlink(link, target, sizeof target - 1) <= 0)
        return diag_fail(diag, EDGEPS_IO, "%s: no container: %s", link, strerror(errno));
    snprintf(path, 64, "/proc/%d/root%s", k->pid, target);
    return EDGEPS_OK;
}

/* As the first process of its PID namespace it lives until it is killed, and ends of others'
 * children are its to collect. The terminal's signals are not for it. */
static _Noreturn void keep(const keeper_task *task, int ready)
{
    docker containers = own_docker(task->options);
    word w = {.err = EDGEPS_OK};
    edgeps_diag diag = {.text = ""};
    relay *carrier = NULL;
    bool built = false;
    char go;
    if (recv(ready, &go, 1, 0) == 1) {
        w.err = build(task, &containers, &diag, &carrier);
        built = !w.err;
        snprintf(w.text, sizeof w.text, "%s", diag.text);
        if (built && !task->options->tied)
            prctl(PR_SET_PDEATHSIG, 0);
        built = send(ready, &w, sizeof w, MSG_NOSIGNAL) == (ssize_t)sizeof w && built;
    }
    if (!built)
        _exit(1);
    close(ready);
    if (task->options->backend == LAB_DOCKER)
        container_watch(&containers, task->net, task->dir);
    signal(SIGCHLD, SIG_IGN);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ; /* who ended before */
    if (carrier)
        relay_run(carrier);
    for (;;)
        pause();
}

static void detach(int ready)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    dup2(ready, 3);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    syscall(SYS_close_range, 4, ~0U, 0);
    setsid();
    if (chdir("/"))
        _exit(1);
}

/* clone(2) with nothing but flags is fork(2) into fresh namespaces. */
static pid_t fork_into(int namespaces)
{
    return (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, 0, 0, 0, 0);
}

/* When a process began, in the kernel's count; 0 of one that has ended. */
static uint64_t birth(pid_t pid)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!read_text(path, text, sizeof text))
        return 0;
    char *at = strrchr(text, ')'); /* after the name: fields 3 and on, blanks before each */
    if (!at || strncmp(at, ") Z", 3) == 0)
        return 0;
    for (int field = 3; at && field <= 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

edgeps_err keeper_start(const keeper_task *task, edgeps_diag *diag, keeper *out, int *ready)
{
    const int namespaces = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID;
    int ends[2];
    uid_t user = geteuid();
    gid_t group = getegid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return diag_fail(diag, EDGEPS_IO, "no socket to the lab's keeper: %s", strerror(errno));
    bool root = true;
    pid_t pid = fork_into(namespaces);
    if (pid < 0 && errno == EPERM) {
        root = false;
        pid = fork_into(namespaces | CLONE_NEWUSER);
    }
    if (pid == 0) {
        detach(ends[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        edgeps_diag why = {.text = ""};
        word w = {.err = root ? EDGEPS_OK : become_root(user, group, &why)};
        snprintf(w.text, sizeof w.text, "%s", why.text);
        if (send(3, &w, sizeof w, MSG_NOSIGNAL) != (ssize_t)sizeof w || w.err)
            _exit(1);
        keep(task, 3);
    }
    int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return forbidden(error, diag);
    }
    const lab_options *o = task->options;
    const char *host = getenv("DOCKER_HOST");
    *out = (keeper){.pid = pid,
                    .begun = birth(pid),
                    .root = root,
                    .core_samples_per_s = o->core_samples_per_s,
                    .backend = o->backend,
                    .own_dockerd = o->own_dockerd};
    snprintf(out->docker_host, sizeof out->docker_host, "%s", host ? host : "");
    *ready = ends[0];
    return EDGEPS_OK;
}

static edgeps_err hear(int ready, edgeps_diag *diag)
{
    word w;
    if (recv(ready, &w, sizeof w, 0) != (ssize_t)sizeof w)
        return diag_fail(diag, EDGEPS_IO, "the lab's keeper ended before it was ready");
    return w.err ? diag_fail(diag, w.err, "%s", w.text) : EDGEPS_OK;
}

edgeps_err keeper_build(int ready, edgeps_diag *diag)
{
    edgeps_err err = hear(ready, diag);
    if (!err && send(ready, "", 1, MSG_NOSIGNAL) != 1)
        err = diag_fail(diag, EDGEPS_IO, "the lab's keeper has ended: %s", strerror(errno));
    if (!err)
        err = hear(ready, diag);
    close(ready);
    return err;
}

bool keeper_lives(const keeper *k) { return k->begun != 0 && birth(k->pid) == k->begun; }

void keeper_kill(const keeper *k)
{
    int fd = (int)syscall(SYS_pidfd_open, k->pid, 0);
    if (fd < 0)
        return;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    if (keeper_lives(k) && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0)
        while (poll(&end, 1, -1) < 0 && errno == EINTR)
            ;
    close(fd);
    waitpid(k->pid, NULL, WNOHANG); /* if it is a child */
}

void keeper_namespace_path(const keeper *k, size_t node, char path[64])
{
    char name[32];
    name_namespace(node, name);
    snprintf(path, 64, "/proc/%d/root%s", k->pid, name);
}
