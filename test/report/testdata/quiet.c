// SPDX-License-Identifier: Apache-2.0
// Threads without trouble: what they wait for is work.
#include "truth.h"
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_jobs = PTHREAD_COND_INITIALIZER;
static int jobs;

static void *does_jobs(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&guard);
		while (!jobs) {
			begin_wait("condition", FOR_WORK);
			pthread_cond_wait(&has_jobs, &guard);
			end_wait();
		}
		jobs--;
		pthread_mutex_unlock(&guard);
		spin_ns(1000000);
	}
	return unused;
}

// Waits for the next of equal periods.
static void wait_period(int timer)
{
	uint64_t n;

	begin_wait("timer", FOR_WORK);
	TRY(read(timer, &n, sizeof(n)));
	end_wait();
}

static int make_timer(long ns)
{
	struct itimerspec every = {{0, ns}, {0, ns}};
	int timer = TRY(timerfd_create(CLOCK_MONOTONIC, 0));

	TRY(timerfd_settime(timer, 0, &every, NULL));
	return timer;
}

static void *submits(void *unused)
{
	int timer = make_timer(10000000);

	for (;;) {
		wait_period(timer);
		pthread_mutex_lock(&guard);
		jobs += 2;
		pthread_mutex_unlock(&guard);
		pthread_cond_signal(&has_jobs);
		pthread_cond_signal(&has_jobs);
	}
	return unused;
}

// Four workers that get two jobs of 1 ms every 10 ms: 20% of a CPU.
void healthy_pool(void)
{
	for (int i = 0; i < 4; i++)
		start("worker", does_jobs, NULL);
	start("submitter", submits, NULL);
}

static int period;

static void work_a_little(void)
{
	wait_period(period);
	spin_ns(1000000);
}

// Works for 1 ms every 10 ms.
void healthy_periodic(void)
{
	period = make_timer(10000000);
	repeat(work_a_little);
}

static sem_t semaphore;

static void *waits_for_semaphore(void *unused)
{
	for (;;) {
		begin_wait("condition", FOR_WORK);
		sem_wait(&semaphore);
		end_wait();
	}
	return unused;
}

static void *waits_for_event(void *unused)
{
	int ep = TRY(epoll_create1(0)), event = TRY(eventfd(0, 0));
	struct epoll_event e = {.events = EPOLLIN};

	TRY(epoll_ctl(ep, EPOLL_CTL_ADD, event, &e));
	for (;;) {
		begin_wait("poll", FOR_WORK);
		epoll_wait(ep, &e, 1, -1);
		end_wait();
	}
	return unused;
}

// Threads of pools that never get work, each kind of pool with two.
void idle_pool(void)
{
	for (int i = 0; i < 2; i++) {
		start("by-condition", does_jobs, NULL);
		start("by-semaphore", waits_for_semaphore, NULL);
		start("by-epoll", waits_for_event, NULL);
	}
}

static void *sleeps_long(void *unused)
{
	for (;;) {
		begin_wait("timer", FOR_WORK);
		sleep_ns(3600000000000LL);
		end_wait();
	}
	return unused;
}

static void *sleeps_often(void *unused)
{
	for (;;) {
		begin_wait("timer", FOR_WORK);
		sleep_ns(50000000);
		end_wait();
	}
	return unused;
}

static void *polls_time(void *unused)
{
	for (;;) {
		begin_wait("timer", FOR_WORK);
		poll(NULL, 0, 30);
		end_wait();
	}
	return unused;
}

static void *reads_timer(void *unused)
{
	int timer = make_timer(40000000);

	for (;;)
		wait_period(timer);
	return unused;
}

// Threads that wait for a time: once for long, and again and again.
void idle_timers(void)
{
	start("sleeps-long", sleeps_long, NULL);
	start("sleeps-often", sleeps_often, NULL);
	start("polls-time", polls_time, NULL);
	start("reads-timer", reads_timer, NULL);
}
