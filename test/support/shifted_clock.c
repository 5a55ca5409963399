/* Wall clock of whoever preloads this: the machine's, shifted by the seconds that the file WALL_CLOCK_SHIFT holds as a double.
 * Waits until a moment of the wall clock end when the shifted one is there, as they would if the machine's clock were set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#define SECOND 1000000000LL
#define SLICE (SECOND / 100)
#define SINCE_1970 (1000000000LL * SECOND) /* later than any time of the steady clock */

static volatile double *shift;
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_mutex_timedlock)(pthread_mutex_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("WALL_CLOCK_SHIFT");
    const int file = path == NULL ? -1 : open(path, O_RDONLY);
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(double), PROT_READ, MAP_SHARED, file, 0);
    shift = page == MAP_FAILED ? NULL : page;
}

static long long count(const struct timespec *t) { return t->tv_sec * SECOND + t->tv_nsec; }

static struct timespec spec(long long ns) { return (struct timespec){ns / SECOND, ns % SECOND}; }

static long long real_now(void) {
    struct timespec now;
    if (real_clock_gettime == NULL) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    real_clock_gettime(CLOCK_REALTIME, &now);
    return count(&now);
}

static long long shifted(void) { return shift == NULL ? 0 : (long long)(*shift * 1e9); }

int clock_gettime(clockid_t id, struct timespec *now) {
    if (real_clock_gettime == NULL) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    const int failed = real_clock_gettime(id, now);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) *now = spec(count(now) + shifted());
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    const long long ns = real_now() + shifted();
    (void)zone;
    now->tv_sec = ns / SECOND;
    now->tv_usec = ns % SECOND / 1000;
    return 0;
}

time_t time(time_t *out) {
    const time_t now = (real_now() + shifted()) / SECOND;
    if (out != NULL) *out = now;
    return now;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    if (real_cond_timedwait == NULL) real_cond_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (real_cond_timedwait == NULL) real_cond_timedwait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    if (count(until) < SINCE_1970) return real_cond_timedwait(condition, mutex, until);
    for (;;) {
        const long long now = real_now(), left = count(until) - shifted() - now;
        const struct timespec next = spec(now + (left < SLICE ? (left < 0 ? 0 : left) : SLICE));
        const int ended = real_cond_timedwait(condition, mutex, &next);
        if (ended != ETIMEDOUT || count(until) <= real_now() + shifted()) return ended;
    }
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    if (real_mutex_timedlock == NULL) real_mutex_timedlock = dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
    const struct timespec then = spec(count(until) - shifted());
    return real_mutex_timedlock(mutex, &then);
}
