#include "loop/loop_int.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

int address_socket(const loop *l, int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        address_fit_window(l, fd);
    return fd;
}

/* A window that has been offered cannot shrink: what arrives beyond the buffer is dropped and sent
 * again after a time-out. So the buffer is set before the handshake, and an accepted socket
 * inherits it. */
void address_fit_window(const loop *l, int fd)
{
    int bytes = link_buffer_bytes(l->down.link.bytes_per_s);
    if (link_is_limited(&l->down.link))
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

const char *address_errno_text(int error) { return uv_strerror(uv_translate_sys_error(error)); }

static void set_port(address *a, int port)
{
    if (a->storage.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&a->storage)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)&a->storage)->sin_port = htons((uint16_t)port);
}

int address_port(const address *a)
{
    if (a->storage.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&a->storage)->sin6_port);
    return ntohs(((const struct sockaddr_in *)&a->storage)->sin_port);
}

void address_describe(address *a)
{
    char host[INET6_ADDRSTRLEN] = "?";
    bool six = a->storage.ss_family == AF_INET6;
    const void *from = six ? (const void *)&((struct sockaddr_in6 *)&a->storage)->sin6_addr
                           : (const void *)&((struct sockaddr_in *)&a->storage)->sin_addr;
    inet_ntop(a->storage.ss_family, from, host, sizeof host);
    snprintf(a->text, sizeof a->text, six ? "[%s]:%d" : "%s:%d", host, address_port(a));
}

edgeps_err address_parse(const char *host, int port, edgeps_diag *diag, address *out)
{
    address a = {.length = 0};
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (port < 0 || port > 65535)
        return diag_fail(diag, EDGEPS_USAGE, "%s: port %d, must be 0 to 65535", host, port);
    int status = getaddrinfo(host, NULL, &hints, &found);
    if (status != 0)
        return diag_fail(diag, EDGEPS_IO, "%s: %s; give an address of this network", host,
                         gai_strerror(status));
    memcpy(&a.storage, found->ai_addr, found->ai_addrlen);
    a.length = found->ai_addrlen;
    freeaddrinfo(found);
    set_port(&a, port);
    address_describe(&a);
    *out = a;
    return EDGEPS_OK;
}

bool loop_is_loopback(const char *host)
{
    address a;
    if (address_parse(host, 0, NULL, &a))
        return false;
    if (a.storage.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&a.storage)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)&a.storage)->sin_addr.s_addr) >> 24 == 127;
}

edgeps_err loop_set_source(loop *l, const char *host, edgeps_diag *diag)
{
    address a;
    edgeps_err err = address_parse(host, 0, diag, &a);
    if (err)
        return err;
    l->source = a.storage;
    l->source_length = a.length;
    return EDGEPS_OK;
}
