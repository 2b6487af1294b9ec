// SPDX-License-Identifier: Apache-2.0
// Joins a cgroup, by its cgroup.procs, and then keeps as many CPUs busy as it may use, for a time in ms: a thread each.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long until;

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *spin(void *cpu)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET((long)cpu, &only);
	sched_setaffinity(0, sizeof(only), &only);
	while (now_ns() < until)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	int procs = argc == 3 ? open(argv[1], O_WRONLY) : -1, threads = 0;
	pthread_t thread[CPU_SETSIZE];
	cpu_set_t all;

	if (procs < 0 || write(procs, "0", 1) != 1) {
		perror("join the cgroup");
		return 1;
	}
	until = now_ns() + atoll(argv[2]) * 1000000;
	sched_getaffinity(0, sizeof(all), &all);
	for (long cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !pthread_create(&thread[threads], NULL, spin, (void *)cpu))
			threads++;
	while (threads)
		pthread_join(thread[--threads], NULL);
	return 0;
}
