/*
 * together ROUNDS: processes of two threads that exit at the same time, each on a CPU of its own. Prints how many there
 * were.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int ready;

static void leave(int cpu, int delay)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < 2)
		;
	for (volatile int i = 0; i < delay; i++)
		;
	syscall(SYS_exit, 0);
}

static void *second(void *delay)
{
	leave(1, *(int *)delay);
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = atoi(argv[1]);

	for (int i = 0; i < rounds; i++) {
		int delay = i % 200;

		if (!fork()) {
			pthread_t t;

			pthread_create(&t, NULL, second, &delay);
			leave(0, 100);
		}
		wait(NULL);
	}
	printf("%d\n", rounds);
	return 0;
}
