// SPDX-License-Identifier: Apache-2.0
// How a thread measures a wait for a lock: the time around the call, without that in which it waits for a CPU.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct watch {
	int schedstat;
	long long from, delay;
	long long total, longest, waits;
};

static inline long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// The time for which the thread has been runnable but not running: the second number of /proc/PID/task/TID/schedstat.
static inline long long delay_ns(struct watch *w)
{
	char text[128];
	ssize_t n = pread(w->schedstat, text, sizeof(text) - 1, 0);
	unsigned long long ran, delayed;

	if (n <= 0)
		abort();
	text[n] = 0;
	if (sscanf(text, "%llu %llu", &ran, &delayed) != 2)
		abort();
	return delayed;
}

static inline void watch_open(struct watch *w)
{
	w->schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	if (w->schedstat < 0)
		abort();
}

// Reads both clocks without having lost the CPU in between.
static inline void both(struct watch *w, long long *now, long long *delay)
{
	do {
		*delay = delay_ns(w);
		*now = now_ns();
	} while (delay_ns(w) != *delay);
}

static inline void watch_begin(struct watch *w) { both(w, &w->from, &w->delay); }

// Calls of less than 50 us did not wait.
static inline void watch_end(struct watch *w)
{
	long long now, delay, ns;

	both(w, &now, &delay);
	ns = now - w->from - (delay - w->delay);
	if (ns < 50000)
		return;
	w->waits++;
	w->total += ns;
	if (ns > w->longest)
		w->longest = ns;
}

static inline void hold(void)
{
	struct timespec t = { 0, 5000000 };

	nanosleep(&t, NULL);
}

static inline void watch_print(const struct watch *w, const char *object)
{
	printf("lock %s waits %lld total %lld longest %lld\n", object, w->waits, w->total, w->longest);
	fflush(stdout);
}
