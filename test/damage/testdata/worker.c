#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void compute(int ms)
{
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		for (int i = 0; i < 10000; i++)
			sink += i * i;
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

__attribute__((noinline)) static void nap(int ms) { usleep(ms * 1000); }

static int ends[2];

static void *reader(void *arg)
{
	char c;
	(void)arg;
	prctl(PR_SET_NAME, "reader");
	while (read(ends[0], &c, 1) == 1)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, pause = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t t;
	if (argc > 1 && !strcmp(argv[1], "child")) {
		nap(12);
		compute(15);
		return 3;
	}
	if (pipe(ends))
		return 1;
	pthread_create(&t, NULL, reader, NULL);
	for (int i = 0; i < rounds; i++) {
		for (int j = 0; j < 12; j++)
			if (write(ends[1], "x", 1) != 1)
				return 1;
			else
				usleep(300);
		compute(25);
		nap(15);
		if (i % 2 == 0 && fork() == 0) {
			prctl(PR_SET_NAME, "renamed");
			compute(5);
			execl(argv[0], argv[0], "child", (char *)NULL);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (pause)
			sleep(pause);
	}
	close(ends[1]);
	pthread_join(t, NULL);
	while (wait(NULL) > 0)
		;
	return 0;
}
