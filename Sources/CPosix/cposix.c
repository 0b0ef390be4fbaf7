#define _GNU_SOURCE
#include "cposix.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

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

int cposix_use_timestamps(int socket, int family, int departures) {
    int stamps = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE;
    int on = 1;
    if (departures) {
        stamps |= SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY;
    }
    if (setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps) != 0) {
        return -1;
    }
    return family == AF_INET6 ? setsockopt(socket, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on)
                              : setsockopt(socket, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
}

int cposix_stamp_arrivals(int socket) {
    int stamps = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE;
    return setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps);
}

/// The kernel stamps by CLOCK_REALTIME, which may step: both clocks are read at once to carry a fresh stamp over.
static int64_t monotonic_of_stamp(const struct timespec *stamp) {
    struct timespec real;
    int64_t before = cposix_monotonic_nanoseconds();
    clock_gettime(CLOCK_REALTIME, &real);
    int64_t after = cposix_monotonic_nanoseconds();
    int64_t age = ((int64_t)real.tv_sec - stamp->tv_sec) * 1000000000 + (real.tv_nsec - stamp->tv_nsec);
    return before + (after - before) / 2 - age;
}

static const struct timespec *software_stamp(struct cmsghdr *control) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_TIMESTAMPING) {
        return NULL;
    }
    const struct scm_timestamping *stamps = (const struct scm_timestamping *)CMSG_DATA(control);
    return stamps->ts[0].tv_sec || stamps->ts[0].tv_nsec ? &stamps->ts[0] : NULL;
}

ssize_t cposix_receive_stamped(int socket, void *buffer, size_t length, struct sockaddr_storage *source,
                               int64_t *arrival) {
    _Alignas(struct cmsghdr) char control[256];
    struct iovec vector = {.iov_base = buffer, .iov_len = length};
    struct msghdr message = {
        .msg_name = source,
        .msg_namelen = sizeof *source,
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_TRUNC);
    if (count < 0) {
        return -1;
    }
    int64_t now = cposix_monotonic_nanoseconds();
    *arrival = now;
    for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each)) {
        const struct timespec *stamp = software_stamp(each);
        if (stamp) {
            int64_t stamped = monotonic_of_stamp(stamp);
            if (stamped <= now && now - stamped < 1000000000) {
                *arrival = stamped;
            }
        }
    }
    return count;
}

int cposix_take_news(int socket, cposix_socket_news *news) {
    _Alignas(struct cmsghdr) char control[512];
    char payload[64];
    struct iovec vector = {.iov_base = payload, .iov_len = sizeof payload};
    struct msghdr message = {
        .msg_name = &news->destination,
        .msg_namelen = sizeof news->destination,
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    memset(news, 0, sizeof *news);
    if (recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
        return 0;
    }
    for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each)) {
        const struct timespec *stamp = software_stamp(each);
        if (stamp) {
            news->departure = monotonic_of_stamp(stamp);
        } else if ((each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_RECVERR) ||
                   (each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_RECVERR)) {
            const struct sock_extended_err *error = (const struct sock_extended_err *)CMSG_DATA(each);
            if (error->ee_origin == SO_EE_ORIGIN_ICMP || error->ee_origin == SO_EE_ORIGIN_ICMP6) {
                news->error = (int)error->ee_errno;
            }
        }
    }
    return 1;
}

void cposix_open_standard_descriptors(void) {
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) {
            continue;
        }
        // The lowest that is free, which is this one: those below it are open by now.
        int opened = open("/dev/null", O_RDWR);
        if (opened > STDERR_FILENO) {
            close(opened);
        }
    }
}

/// Before `main`: Swift's own start makes threads, and with them descriptors.
__attribute__((constructor)) static void open_standard_descriptors_at_start(void) {
    cposix_open_standard_descriptors();
}

void cposix_share_one_heap(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, 1 << 20);
}
