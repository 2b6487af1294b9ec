// SPDX-License-Identifier: Apache-2.0
// Threads whose trouble is with each other.
#include "truth.h"
#include <sys/eventfd.h>

static pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void lock(pthread_mutex_t *m)
{
	if (!pthread_mutex_trylock(m))
		return;
	begin_wait("lock", HAS_WORK);
	pthread_mutex_lock(m);
	end_wait();
}

static void *shares_lock(void *unused)
{
	for (;;) {
		lock(&locks[0]);
		spin_ns(2000000);
		pthread_mutex_unlock(&locks[0]);
		spin_ns(100000);
	}
	return unused;
}

// Four threads that do nearly all of their work under one lock.
void one_lock(void)
{
	for (int i = 0; i < 4; i++)
		start("contender", shares_lock, NULL);
}

static void *sleeps_with_lock(void *unused)
{
	for (;;) {
		lock(&locks[0]);
		begin_wait("timer", HAS_WORK);
		sleep_ns(20000000);
		end_wait();
		pthread_mutex_unlock(&locks[0]);
		spin_ns(1000000);
	}
	return unused;
}

static void *needs_lock(void *unused)
{
	for (;;) {
		lock(&locks[0]);
		pthread_mutex_unlock(&locks[0]);
		spin_ns(1000000);
	}
	return unused;
}

// A thread that does nothing but sleep, with a lock for which others wait: for longer, together, than it sleeps.
void sleeping_owner(void)
{
	start("owner", sleeps_with_lock, NULL);
	for (int i = 0; i < 3; i++)
		start("waiter", needs_lock, NULL);
}

static int ring;
static pthread_barrier_t all_have_one;

static void *takes_two(void *number)
{
	long i = (long)number;

	lock(&locks[i]);
	pthread_barrier_wait(&all_have_one);
	lock(&locks[(i + 1) % ring]);
	return NULL;
}

static void deadlock(int threads)
{
	ring = threads;
	pthread_barrier_init(&all_have_one, NULL, threads);
	for (long i = 0; i < threads; i++)
		start("deadlocked", takes_two, (void *)i);
}

void deadlock_two(void)
{
	deadlock(2);
}

void deadlock_three(void)
{
	deadlock(3);
}

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_room = PTHREAD_COND_INITIALIZER, has_items = PTHREAD_COND_INITIALIZER;
static int queued;

enum { QUEUE = 4 };

static __attribute__((noinline)) void queue_push(void)
{
	pthread_mutex_lock(&guard);
	while (queued == QUEUE) {
		begin_wait("condition", HAS_WORK);
		pthread_cond_wait(&has_room, &guard);
		end_wait();
	}
	queued++;
	pthread_cond_signal(&has_items);
	pthread_mutex_unlock(&guard);
}

static __attribute__((noinline)) void queue_pop(void)
{
	pthread_mutex_lock(&guard);
	while (!queued) {
		begin_wait("condition", FOR_WORK);
		pthread_cond_wait(&has_items, &guard);
		end_wait();
	}
	queued--;
	pthread_cond_signal(&has_room);
	pthread_mutex_unlock(&guard);
}

static void *produces(void *unused)
{
	for (;;) {
		spin_ns(50000);
		queue_push();
	}
	return unused;
}

static void *consumes(void *unused)
{
	for (;;) {
		queue_pop();
		spin_ns(4000000);
	}
	return unused;
}

// Three threads that put items into a queue faster than the one that takes them out.
void full_queue(void)
{
	for (int i = 0; i < 3; i++)
		start("producer", produces, NULL);
	start("consumer", consumes, NULL);
}

static void *holds_lock(void *unused)
{
	for (;;) {
		lock(&locks[0]);
		for (int i = 0; i < 70; i++) { // 700 ms
			spin_ns(500000);
			sleep_ns(9500000);
		}
		pthread_mutex_unlock(&locks[0]);
		sleep_ns(1000000);
	}
	return unused;
}

static void *starves(void *unused)
{
	for (;;) {
		lock(&locks[0]);
		pthread_mutex_unlock(&locks[0]);
	}
	return unused;
}

static void *sleeps(void *ms)
{
	for (;;) {
		begin_wait("timer", FOR_WORK);
		sleep_ns((long)ms * 1000000);
		end_wait();
	}
	return NULL;
}

// 300 threads: one waits for a lock nearly all of the time, one has the lock, and the others sleep.
void victim(void)
{
	start("holder", holds_lock, NULL);
	sleep_ns(5000000);
	start("victim", starves, NULL);
	for (long i = 0; i < 298; i++)
		start("sleeper", sleeps, (void *)(200 + i)); // so that they do not wake all at once
}

static int ping, pong;

static void *answers(void *unused)
{
	uint64_t n;

	for (;;) {
		TRY(read(ping, &n, sizeof(n)));
		n = 1;
		TRY(write(pong, &n, sizeof(n)));
	}
	return unused;
}

static void *calls(void *unused)
{
	uint64_t n;

	for (;;) {
		n = 1;
		TRY(write(ping, &n, sizeof(n)));
		TRY(read(pong, &n, sizeof(n)));
	}
	return unused;
}

// Two threads that wake each other for every few microseconds of work.
void too_many_wakeups(void)
{
	ping = TRY(eventfd(0, 0));
	pong = TRY(eventfd(0, 0));
	start("pinging", calls, NULL);
	start("ponging", answers, NULL);
}
