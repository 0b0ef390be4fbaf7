#ifndef CPOSIX_H
#define CPOSIX_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

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

/// Waits until a descriptor is ready or the absolute instant of CLOCK_MONOTONIC has come; below zero: without end.
/// Returns how many are ready, 0 at the instant, or -1 with errno set.
int cposix_poll_until(struct pollfd *descriptors, unsigned int count, int64_t monotonic_nanoseconds);

/// CLOCK_MONOTONIC in nanoseconds.
int64_t cposix_monotonic_nanoseconds(void);

/// Asks for SCHED_FIFO at `priority` for the calling thread. Returns 0, or the error number.
int cposix_use_realtime_priority(int priority);

/// Asks for the finest timers for the calling thread: what is left to do when real-time priority is refused.
void cposix_use_fine_timers(void);

/// Turns on the kernel's software stamps for what arrives at a UDP socket and, with `departures`, for what leaves it, and
/// news of what did not get through. Returns 0, or -1 with errno set.
int cposix_use_timestamps(int socket, int family, int departures);

/// Turns on the kernel's software stamps for what arrives at a UDP socket, and nothing else: an unconnected socket does not
/// hear what became of what it sent. Returns 0, or -1 with errno set.
int cposix_stamp_arrivals(int socket);

/// Takes one datagram without waiting. `arrival` is by CLOCK_MONOTONIC: the kernel's stamp, or now where there is none.
/// Returns its whole length, which may be more than the buffer's, or -1 with errno set.
ssize_t cposix_receive_stamped(int socket, void *buffer, size_t length, struct sockaddr_storage *source,
                               int64_t *arrival);

/// What a socket's error queue tells.
typedef struct {
    /// When a datagram left, by CLOCK_MONOTONIC; 0 where that is not the news.
    int64_t departure;
    /// The error that came back for an earlier datagram, and where that was sent; 0 where that is not the news.
    int error;
    struct sockaddr_storage destination;
} cposix_socket_news;

/// Takes the next news without waiting. Returns 1, or 0 where there is none.
int cposix_take_news(int socket, cposix_socket_news *news);

/// Names the calling thread, for tools that list threads. At most 15 characters.
void cposix_name_thread(const char *name);

/// Opens /dev/null as standard input, output and error where they are closed (`<&-`): what is opened next would take their
/// numbers, and be read and written as though it were they. Done by itself before `main`.
void cposix_open_standard_descriptors(void);

/// Has all threads allocate from one heap, which grows by a mebibyte. To be called before there is a second thread.
///
/// glibc gives each thread that allocates a heap of its own, which grows by a page and a system call at a time.
void cposix_share_one_heap(void);

#endif
