/* Reading and writing a NATS connection, through TLS where it was agreed on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nats_socket.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

void rr_nats_socket_wait(const rr_nats_socket *socket, bool also_write, int64_t wait_ms)
{
    struct pollfd one = {.fd = socket->fd, .events = POLLIN | (also_write ? POLLOUT : 0)};

    poll(&one, 1, (int)wait_ms);
}

static long tls_result(const rr_nats_socket *socket, int done)
{
    int why = done > 0 ? SSL_ERROR_NONE : SSL_get_error(socket->tls, done);

    return why == SSL_ERROR_NONE ? done : why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static long plain_result(ssize_t done, bool zero_ends)
{
    if (done < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    }
    return done == 0 && zero_ends ? -1 : done;
}

long rr_nats_socket_read(rr_nats_socket *socket, char *to, size_t room)
{
    ERR_clear_error();
    return socket->tls != NULL
               ? tls_result(socket, SSL_read(socket->tls, to, (int)(room < INT32_MAX ? room : INT32_MAX)))
               : plain_result(recv(socket->fd, to, room, 0), true);
}

long rr_nats_socket_write(rr_nats_socket *socket, const char *from, size_t len)
{
    ERR_clear_error();
    return socket->tls != NULL
               ? tls_result(socket, SSL_write(socket->tls, from, (int)(len < INT32_MAX ? len : INT32_MAX)))
               : plain_result(send(socket->fd, from, len, MSG_NOSIGNAL), false);
}

void rr_nats_socket_close(rr_nats_socket *socket)
{
    if (socket->is_open) {
        SSL_free(socket->tls); /* without a close_notify of TLS: the server sees the connection end */
        socket->tls = NULL;
        close(socket->fd);
    }
    socket->is_open = false;
}
