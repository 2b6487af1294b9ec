// Threads that each stay in one place, on the CPU or off it, and measure for how long.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { NAPS = 40, SPIN_MS = 600, HOLDS = 5 };

static volatile unsigned long sink;
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start;

static long long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void say(const char *room, long long count, long long in_room, long long since)
{
	long long cpu = now(CLOCK_THREAD_CPUTIME_ID);
	printf("%s %d %lld %lld %lld %lld\n", room, gettid(), count, in_room, cpu, now(CLOCK_MONOTONIC) - since);
}

__attribute__((noinline)) void spin_room(void)
{
	for (int i = 0; i < 100000; i++)
		sink += i; // hot line
}

__attribute__((noinline)) void nap_room(void)
{
	struct timespec ms20 = {0, 20000000};
	nanosleep(&ms20, NULL);
	sink++; // so that it is not left by a jump
}

__attribute__((noinline)) void lock_room(void)
{
	pthread_mutex_lock(&door);
	sink++;
}

static void *spinner(void *none)
{
	long long begin = now(CLOCK_MONOTONIC), since, in = 0, count = 0;
	pthread_setname_np(pthread_self(), "spinner");
	while (now(CLOCK_THREAD_CPUTIME_ID) < SPIN_MS * 1000000LL) {
		since = now(CLOCK_MONOTONIC);
		spin_room();
		in += now(CLOCK_MONOTONIC) - since;
		count++;
	}
	say("spin", count, in, begin);
	return none;
}

static void *napper(void *none)
{
	long long begin = now(CLOCK_MONOTONIC), since, in = 0;
	pthread_setname_np(pthread_self(), "napper");
	for (int i = 0; i < NAPS; i++) {
		since = now(CLOCK_MONOTONIC);
		nap_room();
		in += now(CLOCK_MONOTONIC) - since;
	}
	say("nap", NAPS, in, begin);
	return none;
}

static void *holder(void *none)
{
	pthread_setname_np(pthread_self(), "holder");
	for (int i = 0; i < HOLDS; i++) {
		pthread_mutex_lock(&door);
		pthread_barrier_wait(&start);
		usleep(100000);
		pthread_mutex_unlock(&door);
		pthread_barrier_wait(&start);
	}
	return none;
}

static void *locker(void *none)
{
	long long begin = now(CLOCK_MONOTONIC), since, in = 0;
	pthread_setname_np(pthread_self(), "locker");
	for (int i = 0; i < HOLDS; i++) {
		pthread_barrier_wait(&start);
		since = now(CLOCK_MONOTONIC);
		lock_room();
		in += now(CLOCK_MONOTONIC) - since;
		pthread_mutex_unlock(&door);
		pthread_barrier_wait(&start);
	}
	say("lock", HOLDS, in, begin);
	return none;
}

int main(void)
{
	void *(*rooms[])(void *) = {spinner, napper, holder, locker};
	pthread_t threads[4];

	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, rooms[i], NULL))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
