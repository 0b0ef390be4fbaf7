#ifndef CPOSIX_H
#define CPOSIX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/// One datagram of a burst.
typedef struct {
    const void *bytes;
    size_t length;
} cposix_datagram;

/// Sends up to `count` datagrams on a connected or unconnected UDP socket with one system call.
/// `address` may be NULL on a connected socket. Returns how many were taken, or -1 with errno set.
int cposix_send_datagrams(int socket, const cposix_datagram *datagrams, unsigned int count,
                          const struct sockaddr *address, socklen_t address_length);

/// Sleeps on CLOCK_MONOTONIC until the absolute instant. Returns 0, or the error number.
int cposix_sleep_until(int64_t monotonic_nanoseconds);

/// CLOCK_MONOTONIC in nanoseconds.
int64_t cposix_monotonic_nanoseconds(void);

/// Asks for SCHED_FIFO at `priority` for the calling thread. Returns 0, or the error number.
int cposix_use_realtime_priority(int priority);

#endif
