#define _GNU_SOURCE
#include "cposix.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { BURST_LIMIT = 64 };

int cposix_send_datagrams(int socket, const cposix_datagram *datagrams, unsigned int count,
                          const struct sockaddr *address, socklen_t address_length) {
    struct mmsghdr messages[BURST_LIMIT];
    struct iovec vectors[BURST_LIMIT];
    if (count > BURST_LIMIT) {
        count = BURST_LIMIT;
    }
    memset(messages, 0, sizeof(struct mmsghdr) * count);
    for (unsigned int i = 0; i < count; i++) {
        vectors[i].iov_base = (void *)datagrams[i].bytes;
        vectors[i].iov_len = datagrams[i].length;
        messages[i].msg_hdr.msg_iov = &vectors[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_name = (void *)address;
        messages[i].msg_hdr.msg_namelen = address ? address_length : 0;
    }
    return sendmmsg(socket, messages, count, 0);
}

int cposix_sleep_until(int64_t monotonic_nanoseconds) {
    struct timespec deadline = {
        .tv_sec = monotonic_nanoseconds / 1000000000,
        .tv_nsec = monotonic_nanoseconds % 1000000000,
    };
    int result;
    do {
        result = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
    } while (result == EINTR);
    return result;
}

int cposix_poll_until(struct pollfd *descriptors, unsigned int count, int64_t monotonic_nanoseconds) {
    if (monotonic_nanoseconds < 0) {
        return ppoll(descriptors, count, NULL, NULL);
    }
    int64_t wait = monotonic_nanoseconds - cposix_monotonic_nanoseconds();
    if (wait < 0) {
        wait = 0;
    }
    struct timespec timeout = {
        .tv_sec = wait / 1000000000,
        .tv_nsec = wait % 1000000000,
    };
    return ppoll(descriptors, count, &timeout, NULL);
}

int64_t cposix_monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int cposix_use_realtime_priority(int priority) {
    struct sched_param parameters = {.sched_priority = priority};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
}

void cposix_use_fine_timers(void) {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void cposix_name_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
}
