/*
 * One thread renames itself COUNT times, n000000 to n(COUNT-1), of which every fourth name is given to it by another thread
 * through /proc. Under each hundredth name it computes for a millisecond and sleeps for one. Prints the tid.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int count, tid, file;
static char next[16];
static sem_t ask, done, ready;

static void *other(void *arg)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	file = open(path, O_WRONLY);
	sem_post(&ready);
	for (;;) {
		sem_wait(&ask);
		if (write(file, next, strlen(next)) < 0)
			perror(path);
		sem_post(&done);
	}
	return arg;
}

static void compute(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 1000000);
	nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void *renamed(void *arg)
{
	pthread_t writer;

	tid = syscall(SYS_gettid);
	pthread_create(&writer, NULL, other, NULL);
	sem_wait(&ready);
	for (int i = 0; i < count; i++) {
		snprintf(next, sizeof(next), "n%06d", i);
		if (i % 4 == 3) {
			sem_post(&ask);
			sem_wait(&done);
		} else {
			prctl(PR_SET_NAME, next);
		}
		if (i % 100 == 0)
			compute();
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	count = atoi(argv[1]);
	sem_init(&ask, 0, 0);
	sem_init(&done, 0, 0);
	sem_init(&ready, 0, 0);
	pthread_create(&thread, NULL, renamed, NULL);
	pthread_join(thread, NULL);
	printf("%d\n", tid);
	return 0;
}
