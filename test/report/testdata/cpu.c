// SPDX-License-Identifier: Apache-2.0
// Threads whose trouble is on the CPU.
#include "truth.h"
#include <sched.h>
#include <sys/mman.h>

static int first, second; // CPUs that this process may use

static void find_cpus(void)
{
	cpu_set_t all;

	TRY(sched_getaffinity(0, sizeof(all), &all));
	first = second = -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		if (first < 0)
			first = cpu;
		else if (second < 0)
			second = cpu;
	}
}

static void pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	TRY(sched_setaffinity(0, sizeof(one), &one));
}

static void *computes(void *unused)
{
	pin(first);
	for (;;)
		spin_ns(1000000);
	return unused;
}

// Four threads that always want to run, on one CPU.
void cpu_starved(void)
{
	find_cpus();
	for (int i = 0; i < 4; i++)
		start("starved", computes, NULL);
}

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;

static void *waits_for_work(void *unused)
{
	pthread_mutex_lock(&guard);
	for (;;) {
		begin_wait("condition", FOR_WORK);
		pthread_cond_wait(&work, &guard);
		end_wait();
	}
	return unused;
}

static void *does_everything(void *unused)
{
	for (;;)
		spin_ns(1000000);
	return unused;
}

// A pool of four workers without work, because the thread that could give them some does it itself.
void single_threaded(void)
{
	for (int i = 0; i < 4; i++)
		start("worker", waits_for_work, NULL);
	start("serial", does_everything, NULL);
}

enum { MAPPED = 32 << 20, PAGE = 4096 };

static void *maps(void *unused)
{
	for (;;) {
		char *m = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (m == MAP_FAILED)
			TRY(-1);
		madvise(m, MAPPED, MADV_NOHUGEPAGE);
		for (long at = 0; at < MAPPED; at += PAGE)
			m[at] = 1;
		munmap(m, MAPPED);
	}
	return unused;
}

// A thread that gets fresh memory again and again and touches each page once.
void page_faults(void)
{
	start("faulting", maps, NULL);
}

static void *moves(void *unused)
{
	for (;;) {
		pin(first);
		spin_ns(100000);
		pin(second < 0 ? first : second);
		spin_ns(100000);
	}
	return unused;
}

// A thread that changes its CPU every 100 us.
void migrations(void)
{
	find_cpus();
	start("moving", moves, NULL);
}
