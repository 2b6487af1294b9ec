/*
 * Threads that sleep 1 to 5 ms again and again beside two that wake each other through pipes, for some seconds. Prints
 * how many sleeps and turns there were.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS 2000

static struct count {
	unsigned long n;
	char pad[56]; /* of its own cache line */
} sleeps[THREADS], turns;
static int there[2], back[2];

static void *sleeper(void *arg)
{
	struct count *own = arg;
	unsigned int seed = own - sleeps;

	for (;; own->n++) {
		seed = seed * 1103515245 + 12345;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 + (seed >> 8) % 4000000 }, NULL);
	}
	return NULL;
}

static void *pass_on(void *arg)
{
	char c;

	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	return arg;
}

static void *ping(void *arg)
{
	char c = 0;

	while (write(there[1], &c, 1) == 1 && read(back[0], &c, 1) == 1)
		turns.n++;
	return arg;
}

static int start(pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	pthread_t id;

	return pthread_create(&id, attr, run, arg);
}

static unsigned long sum(void)
{
	unsigned long n = __atomic_load_n(&turns.n, __ATOMIC_RELAXED);

	for (int i = 0; i < THREADS; i++)
		n += __atomic_load_n(&sleeps[i].n, __ATOMIC_RELAXED);
	return n;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 3, failed = 0;
	pthread_attr_t attr;

	/* Both CPUs will be busy: else this thread would have its turn seconds late. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 10 });
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setstacksize(&attr, 64 << 10);
	if (pipe(there) || pipe(back))
		return 1;
	for (int i = 0; i < THREADS; i++)
		failed |= start(&attr, sleeper, &sleeps[i]);
	failed |= start(&attr, pass_on, NULL);
	failed |= start(&attr, ping, NULL);
	if (failed) {
		fputs("sleepers: threads cannot be made\n", stderr);
		return 1;
	}
	usleep(300000);
	unsigned long before = sum();
	sleep(seconds);
	printf("%lu\n", (sum() - before) / seconds);
	return 0;
}
