/*
 * Two processes that wake each other through pipes, ROUNDS times a millisecond, until they are killed; four events of the scheduler each time.
 *
 *   paced CPU ROUNDS
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MILLISECOND = 1000000, SECOND = 1000000000 };

static void pass(int from, int to)
{
	char c;

	if (read(from, &c, 1) != 1 || write(to, &c, 1) != 1)
		exit(1);
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 1, there[2], back[2];
	struct timespec next;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back)) {
		perror("paced");
		return 1;
	}
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pass(there[0], back[1]);
	}
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		for (int i = 0; i < rounds; i++) {
			if (write(there[1], "x", 1) != 1 || read(back[0], &(char){0}, 1) != 1)
				return 1;
		}
		next.tv_nsec += MILLISECOND;
		if (next.tv_nsec >= SECOND) {
			next.tv_nsec -= SECOND;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
