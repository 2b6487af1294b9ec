/*
 * Does half of its work in bursts of 1 ms and half in bursts of 20 ms, in a function each, with a nap after every burst. Given
 * "threads", every burst is in a thread of its own. Prints for both functions the CPU time that the kernel counted in them, ns.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static volatile unsigned long sink;
static long long spent[2];

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Macros, so that each function is on the stack by itself. The clock is read seldom: a read is a system call. */
#define WORK(ns)                                              \
	do {                                                  \
		long long from = cpu_ns();                    \
		while (cpu_ns() - from < (ns))                \
			for (int i = 0; i < 20000; i++)       \
				sink += i;                    \
	} while (0)

__attribute__((noinline)) static void in_short_bursts(void) { WORK(1000000); }
__attribute__((noinline)) static void in_long_bursts(void) { WORK(20000000); }

static void *burst(void *is_long)
{
	long long from = cpu_ns();

	if (is_long)
		in_long_bursts();
	else
		in_short_bursts();
	spent[is_long != NULL] += cpu_ns() - from;
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec nap = { .tv_nsec = 200000 };
	int threads = argc > 1 && !strcmp(argv[1], "threads");

	for (int i = 0; i < 100 * 21; i++) {
		void *is_long = i % 21 == 20 ? &nap : NULL;
		pthread_t thread;

		if (threads && !pthread_create(&thread, NULL, burst, is_long))
			pthread_join(thread, NULL);
		else
			burst(is_long);
		nanosleep(&nap, NULL);
	}
	printf("%lld %lld\n", spent[0], spent[1]);
	return 0;
}
