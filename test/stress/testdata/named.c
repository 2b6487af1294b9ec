/*
 * A thread for each of the names on standard input, a line each in hexadecimal, that takes the name and sleeps until the
 * end. Prints the tid of each, and "ready". For each further line after an empty one every thread naps, which prints
 * "done".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 64

struct thread {
	char name[64];
	int tid;
	sem_t go;
};

static struct thread threads[MOST];
static sem_t ready;

static void *run(void *arg)
{
	struct thread *t = arg;

	t->tid = syscall(SYS_gettid);
	prctl(PR_SET_NAME, t->name);
	sem_post(&ready);
	for (;;) {
		sem_wait(&t->go);
		for (int i = 0; i < 5; i++)
			nanosleep(&(struct timespec){0, 1000000}, NULL);
		sem_post(&ready);
	}
	return NULL;
}

static void unhex(const char *hex, char *to, int most)
{
	unsigned byte;
	int n = 0;

	for (; n < most - 1 && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		to[n++] = byte;
	to[n] = 0;
}

int main(void)
{
	char line[256];
	int count = 0;

	sem_init(&ready, 0, 0);
	while (fgets(line, sizeof(line), stdin) && line[0] != '\n' && count < MOST) {
		struct thread *t = &threads[count++];
		pthread_t id;

		line[strcspn(line, "\n")] = 0;
		/* "-" stands for the empty name. */
		unhex(line[0] == '-' ? "" : line, t->name, sizeof(t->name));
		sem_init(&t->go, 0, 0);
		pthread_create(&id, NULL, run, t);
		sem_wait(&ready);
		printf("%d\n", t->tid);
	}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < count; i++)
			sem_post(&threads[i].go);
		for (int i = 0; i < count; i++)
			sem_wait(&ready);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
