/*
 * A thread on each of two CPUs at most calls getppid CALLS times, as fast as it can, or with PAUSE (us) after each thousand. Prints
 * "ready" when both wait for the line on standard input that lets them begin, then for each thread "TID CPU CALLS", then "done". Then it
 * waits for the end of standard input.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct caller {
	int cpu, tid;
	long calls;
	pthread_t id;
};

static long calls, pauseUs;
static pthread_barrier_t begin;

static void *call(void *p)
{
	struct timespec pause = {.tv_nsec = pauseUs * 1000};
	struct caller *c = p;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(c->cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one)) {
		perror("run on a CPU");
		exit(1);
	}
	c->tid = syscall(SYS_gettid);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&begin);
	while (c->calls < calls) {
		syscall(SYS_getppid);
		if (++c->calls % 1000 == 0 && pauseUs)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct caller callers[2] = {};
	int count = 0;
	cpu_set_t can;

	calls = atol(argv[1]);
	pauseUs = atol(argv[2]);
	if (sched_getaffinity(0, sizeof(can), &can))
		return 1;
	for (int cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
		if (CPU_ISSET(cpu, &can))
			callers[count++].cpu = cpu;
	pthread_barrier_init(&begin, NULL, count + 1);
	for (int i = 0; i < count; i++)
		pthread_create(&callers[i].id, NULL, call, &callers[i]);
	pthread_barrier_wait(&begin);
	puts("ready");
	fflush(stdout);
	getchar();
	pthread_barrier_wait(&begin);
	for (int i = 0; i < count; i++) {
		pthread_join(callers[i].id, NULL);
		printf("%d %d %ld\n", callers[i].tid, callers[i].cpu, callers[i].calls);
	}
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
