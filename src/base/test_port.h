/* A port for what has to know it before somebody listens there. */
#ifndef EDGEPS_BASE_TEST_PORT_H
#define EDGEPS_BASE_TEST_PORT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/* One of loopback that was free a moment ago; -1 where none is. */
static inline int test_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && !bind(fd, (struct sockaddr *)&at, size) &&
                 !getsockname(fd, (struct sockaddr *)&at, &size);
    if (fd >= 0)
        close(fd);
    return bound ? ntohs(at.sin_port) : -1;
}

#endif
